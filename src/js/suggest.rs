//! Suggests the option that a misspelt name probably means.

use napi_derive::napi;

/// Returns the `known` name that is nearest to `unknown`, the first of several. It begins with `unknown`, or
/// differs by at most a third of its letters; case is ignored. `None` if no name is that near.
#[napi(catch_unwind)]
pub fn suggest(unknown: String, known: Vec<String>) -> Option<String> {
    let unknown = unknown.to_lowercase();
    let length = unknown.chars().count();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let (letters, limit) = (name.chars().count(), (name.chars().count() / 3).max(1));
        // Comparing a very long name would take long.
        if letters.abs_diff(length) <= limit {
            let distance = strsim::osa_distance(&unknown, &name);
            (distance <= limit && distance < length).then_some(distance)
        } else {
            (length >= 3 && name.starts_with(&unknown)).then(|| letters - length)
        }
    };
    let near = known.into_iter().filter_map(|name| Some((distance(&name)?, name)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(unknown: &str, known: &[&str]) -> Option<String> {
        suggest(unknown.into(), known.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn suggest_finds_near_names_only() {
        let known =
            ["maxElements", "dimensions", "ttlMs", "embedder", "modelPath", "threads", "id"];
        for (unknown, expected) in [
            ("maxElement", Some("maxElements")),
            ("max_elements", Some("maxElements")),
            ("MAXELEMENTS", Some("maxElements")),
            ("maxElemnets", Some("maxElements")),
            ("dimension", Some("dimensions")),
            ("dimentions", Some("dimensions")),
            ("ttlms", Some("ttlMs")),
            ("ttl", Some("ttlMs")),
            ("ttlSm", Some("ttlMs")),
            ("tt", None),
            ("model", Some("modelPath")),
            ("modell", None),
            ("embeder", Some("embedder")),
            ("embed", Some("embedder")),
            ("thread", Some("threads")),
            ("ids", Some("id")),
            ("x", None),
            ("", None),
            ("path", None),
            ("capacity", None),
            ("constructor", None),
            ("__proto__", None),
            ("ﾀﾃ👩‍🔬", None),
        ] {
            assert_eq!(suggested(unknown, &known).as_deref(), expected, "{unknown:?}");
        }
        assert_eq!(suggested("ttl", &[]), None);
    }

    #[test]
    fn suggest_prefers_the_nearest_then_the_first() {
        for (known, expected) in [
            (["precisions", "precision"], "precision"),
            (["precisian", "precisien"], "precisian"),
            (["precisien", "precisian"], "precisien"),
        ] {
            assert_eq!(suggested("precisiom", &known).as_deref(), Some(expected), "{known:?}");
        }
    }

    #[test]
    fn suggest_skips_very_long_names() {
        assert_eq!(suggested(&"ttlMs".repeat(1 << 20), &["ttlMs"; 1000]), None);
    }
}

//! What a misspelled name was to be.

/// The one of the `known` names that `unknown` most likely stands for, in any case of letters: one that
/// begins with it, or that a third of its letters make out of it, at most; of several, the first of
/// the nearest. `None` when nothing is that near.
pub fn suggest<'a>(unknown: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let unknown = unknown.to_lowercase();
    let length = unknown.chars().count();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let (letters, limit) = (name.chars().count(), (name.chars().count() / 3).max(1));
        // A long name from outside must not be walked through for every letter of ours.
        if letters.abs_diff(length) <= limit {
            let distance = strsim::osa_distance(&unknown, &name);
            (distance <= limit && distance < length).then_some(distance)
        } else {
            (length >= 3 && name.starts_with(&unknown)).then(|| letters - length)
        }
    };
    let near = known.iter().filter_map(|name| Some((distance(name.as_ref())?, name.as_ref())));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_far_away() {
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
            assert_eq!(suggest(unknown, &known), expected, "{unknown:?}");
        }
        assert_eq!(suggest("ttl", &[""; 0]), None);
    }

    #[test]
    fn the_nearest_is_preferred_then_the_first() {
        for (known, expected) in [
            (["precisions", "precision"], "precision"),
            (["precisian", "precisien"], "precisian"),
            (["precisien", "precisian"], "precisien"),
        ] {
            assert_eq!(suggest("precisiom", &known), Some(expected), "{known:?}");
        }
    }

    #[test]
    fn a_name_as_long_as_a_book_is_no_work() {
        assert_eq!(suggest(&"ttlMs".repeat(1 << 20), &["ttlMs"; 1000]), None);
    }
}

//! JSON into values, with the place and what was expected where it does not fit.

use serde::de::DeserializeOwned;

/// JSON that does not fit.
pub(crate) struct Unfit {
    /// The field; empty for the whole.
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, Unfit> {
    let mut source = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        // `.` is the whole, `?` a place where nothing has begun.
        let path = error.path().to_string();
        Unfit::new(path.trim_end_matches(['.', '?']), error.inner())
    })?;
    source.end().map_err(|error| Unfit::new("", &error))?;
    Ok(value)
}

impl Unfit {
    /// Takes an error apart whose message reads `invalid type: FOUND, expected EXPECTED`.
    fn new(path: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        // What is read is one value, of which a line and a column say little.
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        let missing = message.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`'));
        if let Some(field) = missing {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{field}");
            return Self { path, expected: "a value".to_owned(), found: "nothing".to_owned() };
        }
        let path = path.to_owned();
        let Some((found, expected)) = message.split_once(", expected ") else {
            return Self { path, expected: "JSON".to_owned(), found: message.to_owned() };
        };
        let found = ["invalid type: ", "invalid value: ", "invalid length "]
            .iter()
            .find_map(|kind| found.strip_prefix(kind))
            .unwrap_or(found)
            .to_owned();
        let expected = match expected {
            "f64" => "a number",
            "u64" | "usize" => "a whole number, 0 or more",
            _ if expected.starts_with("struct ") => "an object",
            other => other,
        }
        .to_owned();
        Self { path, expected, found }
    }
}

//! Reads JSON, and says which field does not fit.

use knowledgepulse_scoring::{Error, Invalid, Result};
use serde::de::DeserializeOwned;

/// Reads a value from JSON, such as [`Options`](crate::Options) or a [`Calibration`](crate::Calibration). Rows have
/// [`Row::from_json`](crate::Row::from_json), which checks them.
///
/// # Errors
///
/// `input`, with the path of the field that does not fit, below `place`.
pub fn read_json<T: DeserializeOwned>(json: &str, input: Invalid, place: &str) -> Result<T> {
    let mut source = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        // `.` stands for the whole value, `?` for an unknown place.
        let path = error.path().to_string();
        json_error(input, place, path.trim_end_matches(['.', '?']), error.inner())
    })?;
    source.end().map_err(|error| json_error(input, place, "", &error))?;
    Ok(value)
}

/// Parses a message such as `invalid type: FOUND, expected EXPECTED`.
fn json_error(input: Invalid, place: &str, path: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    // Line and column are useless, because each value is read separately.
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let missing = message.strip_prefix("missing field `").map(|field| field.trim_end_matches('`'));
    let (expected, found) = match message.split_once(", expected ") {
        _ if missing.is_some() => ("a value", "nothing"),
        None => ("JSON", message),
        Some((found, expected)) => {
            let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
            let found = kinds.iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found);
            let expected = match expected {
                "f64" => "a number",
                "u64" | "usize" => "a whole number, 0 or more",
                _ if expected.starts_with("struct ") => "an object",
                other => other,
            };
            (expected, found)
        }
    };
    let mut path = vec![place, path, missing.unwrap_or_default()];
    path.retain(|part| !part.is_empty());
    let path = if path.is_empty() { "options".to_owned() } else { path.join(".") };
    Error::invalid(input, path, expected, found)
}

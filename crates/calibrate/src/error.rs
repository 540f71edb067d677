//! The errors of calibration, each with a stable code, the place, and what was expected and found.

use serde::de::DeserializeOwned;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Input that cannot be calibrated. [`Error::code`] is the stable contract.
///
/// ```
/// use knowledgepulse_calibrate::Row;
///
/// let error = Row::from_json(r#"{ "id": 7 }"#, 3).unwrap_err();
/// assert_eq!((error.code(), error.row(), error.path()), ("INVALID_ROW", Some(3), Some("id")));
/// assert_eq!(error.to_string(), "row 3: id: expected a string, got integer `7`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}expected {expected}, got {found}", place(*.row, .path))]
pub struct Error {
    code: &'static str,
    row: Option<usize>,
    /// Empty for the whole.
    path: String,
    expected: String,
    found: String,
}

fn place(row: Option<usize>, path: &str) -> String {
    let row = row.map_or_else(String::new, |row| format!("row {row}: "));
    if path.is_empty() { row } else { format!("{row}{path}: ") }
}

impl Error {
    fn new(
        code: &'static str,
        path: impl Into<String>,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        let (path, expected, found) = (path.into(), expected.into(), found.to_string());
        Self { code, row: None, path, expected, found }
    }

    /// A field or an option that is out of its range.
    pub(crate) fn option(
        path: impl Into<String>,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        Self::new("INVALID_OPTION", path, expected, found)
    }

    /// No row can be used.
    pub(crate) fn no_rows(expected: impl Into<String>, found: impl ToString) -> Self {
        Self::new("NO_ROWS", "", expected, found)
    }

    /// An option needs labels, and there are none.
    pub(crate) fn no_labels(path: &str) -> Self {
        Self::new("NO_LABELS", path, "rows with labels", "none")
    }

    /// Sets the number of the row, from 1.
    pub(crate) fn in_row(self, row: usize) -> Self {
        Self { code: "INVALID_ROW", row: Some(row), ..self }
    }

    /// Puts `parent` before the path.
    pub(crate) fn below(self, parent: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{parent}{dot}{}", self.path), ..self }
    }

    /// Returns `INVALID_ROW`, `INVALID_OPTION`, `NO_ROWS` or `NO_LABELS`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the number of the invalid row, from 1: its place among the rows, or its line where it
    /// was read from lines.
    pub fn row(&self) -> Option<usize> {
        self.row
    }

    /// Returns the invalid field or option, `dimensions.novelty` for instance.
    pub fn path(&self) -> Option<&str> {
        Some(&*self.path).filter(|path| !path.is_empty())
    }

    /// Returns what was expected.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// Returns what was found instead.
    pub fn found(&self) -> &str {
        &self.found
    }
}

/// Reads a value from JSON; an error is `INVALID_OPTION` with the field that does not fit.
pub(crate) fn read_json<T: DeserializeOwned>(json: &str) -> Result<T> {
    let mut source = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut source).map_err(|error| {
        // `.` stands for the whole value, `?` for an unknown place.
        let path = error.path().to_string();
        json_error(path.trim_end_matches(['.', '?']), error.inner())
    })?;
    source.end().map_err(|error| json_error("", &error))?;
    Ok(value)
}

/// Parses a message such as `invalid type: FOUND, expected EXPECTED`.
fn json_error(path: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    // Line and column are useless, because each value is read separately.
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    if let Some(field) = message.strip_prefix("missing field `") {
        let error = Error::option(field.trim_end_matches('`'), "a value", "nothing");
        return if path.is_empty() { error } else { error.below(path) };
    }
    let Some((found, expected)) = message.split_once(", expected ") else {
        return Error::option(path, "JSON", message);
    };
    let kinds = ["invalid type: ", "invalid value: ", "invalid length "];
    let found = kinds.iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found);
    let expected = match expected {
        "f64" => "a number",
        "u64" | "usize" => "a whole number, 0 or more",
        _ if expected.starts_with("struct ") => "an object",
        other => other,
    };
    Error::option(path, expected, found)
}

//! The errors of calibration, each with a stable code, the place, and what was expected and found.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Input that cannot be calibrated. The kind is private; [`Error::code`] is the stable contract.
///
/// ```
/// use knowledgepulse_calibrate::Row;
///
/// let error = Row::from_json(r#"{ "id": 7 }"#, 3).unwrap_err();
/// assert_eq!((error.code(), error.row(), error.path()), ("INVALID_ROW", Some(3), Some("id")));
/// assert_eq!(error.to_string(), "row 3: id: expected a string, got integer `7`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(#[from] Kind);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Kind {
    #[error("row {row}: {}expected {expected}, got {found}", place(path))]
    Row { row: usize, path: String, expected: String, found: String },
    #[error("{}expected {expected}, got {found}", place(path))]
    Option { path: String, expected: String, found: String },
    #[error("expected {expected}, got {found}")]
    Rows { expected: String, found: String },
    #[error("{path}: expected {expected}, got {found}")]
    Labels { path: &'static str, expected: String, found: String },
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl Error {
    /// A row that does not fit. Rows count from 1.
    pub(crate) fn row_field(
        row: usize,
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        let [path, expected, found] = [path.to_string(), expected.to_string(), found.to_string()];
        Self(Kind::Row { row, path, expected, found })
    }

    /// An option out of its range.
    pub(crate) fn option(
        path: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        let [path, expected, found] = [path.to_string(), expected.to_string(), found.to_string()];
        Self(Kind::Option { path, expected, found })
    }

    /// Too few rows.
    pub(crate) fn rows(expected: impl ToString, found: impl ToString) -> Self {
        Self(Kind::Rows { expected: expected.to_string(), found: found.to_string() })
    }

    /// An option that needs labels which are not there.
    pub(crate) fn labels(
        path: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self(Kind::Labels { path, expected: expected.to_string(), found: found.to_string() })
    }

    /// Returns `INVALID_ROW`, `INVALID_OPTION`, `NO_ROWS` or `NO_LABELS`.
    pub fn code(&self) -> &'static str {
        match &self.0 {
            Kind::Row { .. } => "INVALID_ROW",
            Kind::Option { .. } => "INVALID_OPTION",
            Kind::Rows { .. } => "NO_ROWS",
            Kind::Labels { .. } => "NO_LABELS",
        }
    }

    /// Returns the number of the row that does not fit, from 1: its place among the rows, or its
    /// line where it was read from lines.
    pub fn row(&self) -> Option<usize> {
        match &self.0 {
            Kind::Row { row, .. } => Some(*row),
            Kind::Option { .. } | Kind::Rows { .. } | Kind::Labels { .. } => None,
        }
    }

    /// Returns the field or the option that does not fit, `dimensions.novelty` for instance.
    pub fn path(&self) -> Option<&str> {
        match &self.0 {
            Kind::Row { path, .. } | Kind::Option { path, .. } => {
                Some(path).filter(|path| !path.is_empty()).map(|path| &**path)
            }
            Kind::Labels { path, .. } => Some(path),
            Kind::Rows { .. } => None,
        }
    }

    /// Returns what would fit.
    pub fn expected(&self) -> &str {
        match &self.0 {
            Kind::Row { expected, .. }
            | Kind::Option { expected, .. }
            | Kind::Rows { expected, .. }
            | Kind::Labels { expected, .. } => expected,
        }
    }

    /// Returns what was found in its place.
    pub fn found(&self) -> &str {
        match &self.0 {
            Kind::Row { found, .. }
            | Kind::Option { found, .. }
            | Kind::Rows { found, .. }
            | Kind::Labels { found, .. } => found,
        }
    }
}

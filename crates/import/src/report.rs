//! The report of one input.

use std::sync::Arc;

use serde::Serialize;

use crate::{error::Error, skipped::Skipped};

/// The report of one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputReport {
    /// The caller's name of the input.
    pub name: Arc<str>,
    /// The names of the formats found, in the order of their first records.
    pub formats: Vec<&'static str>,
    /// The number of bytes read, decompressed.
    pub bytes: u64,
    /// The number of traces.
    pub traces: u64,
    /// What belongs to no trace, by reason.
    pub skipped: Skipped,
    /// The first 1,000 errors, in order.
    pub errors: Vec<Error>,
    /// The number of errors.
    pub error_count: u64,
}

//! A trace of the protocol, and the origin of its values.

use std::sync::Arc;

use serde::Serialize;

use crate::events::{Origin, Skipped};

/// The version of the rules, increased when the output for any log changes.
pub const IMPORTER: u32 = 1;

/// A trace of the KnowledgePulse protocol, and the origin of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The trace, as JSON of the protocol.
    pub trace: Box<str>,
    /// The origin of its values.
    pub provenance: Provenance,
}

impl Imported {
    /// Returns the trace and its provenance as JSON.
    pub fn to_json(&self) -> String {
        let provenance = serde_json::to_string(&self.provenance).unwrap_or_default();
        format!(r#"{{"trace":{},"provenance":{provenance}}}"#, self.trace)
    }
}

/// The origin of the values of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`objective_from` is the origin of the objective, and so on")]
pub struct Provenance {
    /// The version of the rules: [`IMPORTER`].
    pub importer: u32,
    /// The name of the format.
    pub format: &'static str,
    /// The place in the input.
    pub source: Source,
    /// The format's id of the run; `None` where the id of the trace is a hash of its content.
    pub key: Option<String>,
    pub objective_from: Origin,
    pub success_from: Origin,
    pub confidence_from: Origin,
    pub created_at_from: Origin,
    pub domain_from: Origin,
    /// The parts of the run that are not imported.
    pub skipped: Skipped,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The caller's name of the input.
    pub name: Arc<str>,
    /// The line, from 1, at which the first record of the run begins.
    pub line: u64,
}

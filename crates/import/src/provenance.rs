//! The origin of the values of a trace.

use std::sync::Arc;

use serde::Serialize;

use crate::{facts::RunFacts, skipped::Skipped};

/// The version of the rules, increased when the output for any log changes.
pub const IMPORTER: u32 = 1;

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
    /// What the log says beside the trace; `None` of a trace of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<RunFacts>,
}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The caller's name of the input.
    pub name: Arc<str>,
    /// The line, from 1, at which the first record of the run begins.
    pub line: u64,
}

/// The origin of a value in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// An option of the importer.
    Option,
    /// The log, which is a trace already.
    Own,
    /// The objective: the first text of a person.
    Human,
    /// The objective: a field of the format.
    Field,
    /// The objective: the name of the agent or of the run.
    Name,
    /// The objective: a typed command.
    Command,
    /// The objective: a message copied from an earlier run.
    Copied,
    /// The success: a judgement in the log.
    Label,
    /// The success: how the run ended.
    Status,
    /// The success: the option `assumeSuccess`.
    Assumed,
    /// The confidence: the log.
    Explicit,
    /// The confidence: the probabilities of the answers' tokens.
    Logprobs,
    /// The time: the log.
    Source,
    /// The time: unknown, so it is 1970-01-01T00:00:00.000Z.
    None,
    /// The domain: that of agents with this format.
    Format,
    /// The domain `general`, or the confidence 0.8 after success and 0.2 after failure.
    Default,
}

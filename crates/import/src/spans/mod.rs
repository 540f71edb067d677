//! Reads the spans of OpenTelemetry, Langfuse and LangSmith into the events of a run.
//!
//! Model calls repeat the conversation so far, spans of tools repeat parts of model calls, and frameworks wrap
//! spans in spans. Whatever happened once becomes one event.

mod forest;
mod history;
mod run;
mod span;
mod tools;

pub use self::{
    forest::{first_root, forest, tops},
    run::run,
    span::{Recorded, Said, Span, SpanKind, Spans, is_empty, label, only_member, tokens},
    tools::tool_names,
};

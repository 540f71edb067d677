//! Imports logs of agents, in their own formats, as reasoning traces of the KnowledgePulse protocol.
//!
//! ```text
//!  bytes ────────► values ──► format ──► events ──► steps ──► trace
//!  archive, reader  json       format     formats    steps     with its provenance
//! ```
//!
//! Only the step from values to events differs from format to format; each format is a file in `formats/` and
//! a line in `FORMATS`. Whatever does not become part of a trace is counted by reason, and
//! [`Provenance`] says where each value comes from.

#![forbid(unsafe_code)]

mod answers;
mod archive;
mod assemble;
mod call;
mod chat;
mod error;
mod events;
mod facts;
mod failure;
mod format;
mod formats;
mod harness;
mod ids;
mod imported;
mod importer;
mod json;
mod limits;
mod messages;
mod options;
mod part;
mod pattern;
mod prelude;
mod provenance;
mod reader;
mod report;
mod run;
mod seen;
mod sessions;
mod skipped;
mod spans;
mod steps;
mod text;
mod time;
mod trace;
mod unread;

pub use archive::Archive;
pub use error::{Code, Error};
pub use facts::{RunFacts, Subagents, Tokens};
pub use formats::format_names;
pub use imported::Imported;
pub use importer::Importer;
pub use json::{Array, Document, Kind, Members, SyntaxError, Unread, Value};
pub use options::{AssumeSuccess, Confidence, Options, UnreadCalls};
pub use provenance::{IMPORTER, Origin, Provenance, Source};
pub use report::InputReport;
pub use skipped::Skipped;
pub use time::utc_of_text as utc;
pub use trace::{ImportedTrace, read_trace};

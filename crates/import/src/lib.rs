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

mod archive;
mod error;
mod events;
mod format;
mod formats;
mod importer;
mod json;
mod options;
mod reader;
mod results;
mod steps;
mod time;
mod trace;

pub use archive::Archive;
pub use error::{Code, Error};
pub use events::{Origin, Skipped};
pub use format::format_names;
pub use importer::{Importer, InputReport};
pub use json::{Array, Document, Kind, Members, SyntaxError, Unread, Value};
pub use options::{AssumeSuccess, Confidence, Options, UnreadCalls};
pub use time::utc_of_text as utc;
pub use trace::{IMPORTER, Imported, Provenance, Source};

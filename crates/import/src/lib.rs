//! Imports what agents log, in their own formats, as reasoning traces of the KnowledgePulse protocol.
//!
//! ```text
//!  bytes ──► values ──► format ──► events ──► steps ──► trace
//!  reader    JSON       detected    of a run   one       with its
//!                       by content             place     provenance
//! ```
//!
//! Only the step from values to events differs from format to format: each format is a file in
//! `formats/`, which knows no other, and one line in its list. Whatever does not become part of a trace is
//! counted under a name, and nothing is invented: [`Provenance`] says where each value comes from.

#![forbid(unsafe_code)]

mod error;
mod event;
mod failure;
mod format;
mod formats;
mod importer;
mod json;
mod messages;
mod options;
mod reader;
mod spans;
mod text;
mod time;
mod trace;

pub use error::{Code, Error};
pub use event::{ObjectiveFrom, Skipped};
pub use formats::names as format_names;
pub use importer::{Importer, InputReport, Report};
pub use json::{Array, Document, Kind, Members, Number, Value};
pub use options::{AssumeSuccess, Options};
pub use time::utc_of_text as utc;
pub use trace::{
    ConfidenceFrom, CreatedAtFrom, DomainFrom, IMPORTER, Imported, Provenance, Source, SuccessFrom,
};

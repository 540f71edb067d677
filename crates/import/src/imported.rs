//! A trace and the origin of its values.

use std::io::Write;

use crate::{
    error::{Code, Error},
    json::written,
    limits::NO_MEMORY,
    provenance::Provenance,
    trace::ImportedTrace,
};

/// A trace of the KnowledgePulse protocol, and the origin of its values.
#[derive(Debug, PartialEq)]
pub struct Imported {
    /// The trace. [`ImportedTrace::read`] returns what scoring needs.
    pub trace: ImportedTrace,
    /// The messages of its run and what comes with them as a JSON object, if they are wanted.
    pub chat: Option<String>,
    /// The origin of its values.
    pub provenance: Provenance,
}

impl Imported {
    /// Returns the trace, its messages and its provenance as JSON.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub fn to_json(&self) -> Result<String, Error> {
        let Self { trace, chat, provenance } = self;
        let json = written(|out| {
            out.write_all(br#"{"trace":"#)?;
            serde_json::to_writer(&mut *out, trace)?;
            if let Some(members) = chat.as_deref().and_then(|chat| chat.get(1..chat.len() - 1)) {
                write!(out, ",{members}")?;
            }
            out.write_all(br#","provenance":"#)?;
            serde_json::to_writer(&mut *out, provenance)?;
            out.write_all(b"}")
        });
        json.map_err(|_: std::io::Error| {
            let Provenance { source, .. } = provenance;
            Error::new(Code::TooLarge, &source.name, Some(source.line), NO_MEMORY)
        })
    }
}

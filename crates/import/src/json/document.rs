//! A JSON text and its values.

use std::{borrow::Cow, fmt};

use knowledgepulse_workers::CancelToken;
use serde::{Serialize, Serializer};

use super::{
    parse::{Unread, parse},
    tape::{Full, Index, Tape, tag},
    value::{Array, Value},
};

/// A JSON text, or a copy of values, with their index.
pub struct Document<'t>(Tape<'t>);

impl<'t> Document<'t> {
    /// Reads a text that is one value.
    ///
    /// # Errors
    ///
    /// The text is not one value.
    pub fn parse(text: impl Into<Cow<'t, str>>) -> Result<Self, Unread> {
        let (document, error) = Self::read(text.into(), false, &CancelToken::default());
        error.map_or(Ok(document), Err)
    }

    /// Reads a text until the token is cancelled: one value, or with `all` a value and objects and arrays after
    /// it. Returns the values before the first error as well.
    pub fn read(text: Cow<'t, str>, all: bool, cancel: &CancelToken) -> (Self, Option<Unread>) {
        let (tape, error) = parse(text, all, cancel);
        (Self(tape), error)
    }

    /// Returns the first value, which a document of [`Document::parse`] always has.
    pub fn root(&self) -> Value<'_> {
        Value::new(&self.0, 0)
    }

    /// Returns the top-level values.
    pub fn roots(&self) -> Array<'_> {
        Array::new(&self.0, 0, self.0.end())
    }
}

/// `null`.
impl Default for Document<'_> {
    fn default() -> Self {
        let index = Index { words: vec![tag::NULL], ..Index::default() };
        Self(Tape { index, ..Tape::default() })
    }
}

impl Document<'static> {
    /// Returns a copy of a value.
    pub(crate) fn copy(value: Value) -> Result<Self, Full> {
        Self::build(|index| index.copy(value))
    }

    /// Returns the value that `add` adds.
    pub(crate) fn build(add: impl FnOnce(&mut Index) -> Result<(), Full>) -> Result<Self, Full> {
        let mut index = Index::default();
        add(&mut index)?;
        index.shrink_to_fit();
        Ok(Self(Tape { index, ..Tape::default() }))
    }

    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> usize {
        let Tape { text, index, .. } = &self.0;
        size_of_val(&*index.words) + index.strings.len() + text.len()
    }
}

/// The first value as JSON without white space.
impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root().to_json())
    }
}

impl fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first value.
impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.root().serialize(serializer)
    }
}

/// Copies are equal if their values are, in the same order.
impl PartialEq for Document<'static> {
    fn eq(&self, other: &Self) -> bool {
        self.0.index == other.0.index
    }
}

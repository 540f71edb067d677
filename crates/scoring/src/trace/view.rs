//! How a value is looked at before it is known to be a trace.

use std::fmt::Write;

use crate::error::Error;

/// The types of JavaScript. JSON has six of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JavaScript's")]
pub enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    Object,
    /// A function, a symbol or a bigint: never part of a trace.
    Other,
}

/// A value of some host (JavaScript, JSON) that may or may not have the shape of a trace.
///
/// The typed accessors are only called on a value whose [`View::type_of`] fits.
#[expect(clippy::missing_errors_doc, reason = "`Self::Error` says it for all methods")]
pub trait View: Sized {
    /// Why a value could not be read: it does not have the shape of a trace, or the host has thrown
    /// something, in a getter for instance.
    type Error: From<Error>;

    /// Returns the type of the value.
    fn type_of(&self) -> Type;
    /// Returns whether this is an array, a proxied one included.
    fn is_array(&self) -> Result<bool, Self::Error>;
    /// Returns the value of a property, `Undefined` when there is none.
    fn property(&self, name: &'static str) -> Result<Self, Self::Error>;
    /// Returns the length of an array.
    fn length(&self) -> Result<u32, Self::Error>;
    /// Returns an element of an array, `Undefined` for a hole.
    fn element(&self, index: u32) -> Result<Self, Self::Error>;
    /// Returns the value of a boolean.
    fn boolean(&self) -> Result<bool, Self::Error>;
    /// Returns the value of a number.
    fn number(&self) -> Result<f64, Self::Error>;
    /// Returns the string, each lone surrogate replaced by U+FFFD.
    fn string(&self) -> Result<String, Self::Error>;
    /// Writes the string to `text`, until that is full.
    fn write_to(&self, text: &mut TextWriter) -> Result<(), Self::Error>;
    /// Returns the value as an error message shows it: `42`, `"abc"`, `an array`.
    fn describe(&self) -> String;
}

/// Where the text of a trace goes: a [`Write`] that is full once it has refused something.
pub struct TextWriter<'a> {
    out: &'a mut dyn Write,
    is_full: bool,
}

impl<'a> TextWriter<'a> {
    /// Returns a writer to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_full: false }
    }

    /// Returns whether further text makes no difference.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes `text`, unless this is full.
    pub fn push(&mut self, text: &str) {
        self.is_full = self.is_full || self.out.write_str(text).is_err();
    }
}

/// How many characters of a value an error message shows.
const SHOWN: usize = 40;

/// Formats a string for an error message: quoted, cut after 40 characters.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

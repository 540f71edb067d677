//! How a trace is looked at before it is known to be one.

use crate::embedder::Text;

/// The types of JavaScript, an array told from other objects. JSON knows six of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
/// Reading can run code of the host's, a getter for instance, which may fail: that is `Fault`.
/// The typed accessors are only called on a value whose [`View::type_of`] fits.
pub trait View: Sized {
    /// What the host throws when a value cannot be read.
    type Fault;

    fn type_of(&self) -> Type;
    /// Whether this is an array, a proxied one included.
    fn is_array(&self) -> Result<bool, Self::Fault>;
    /// The value of a property, `Undefined` when there is none.
    fn property(&self, name: &'static str) -> Result<Self, Self::Fault>;
    /// The length of an array.
    fn length(&self) -> Result<u32, Self::Fault>;
    /// An element of an array, `Undefined` for a hole.
    fn element(&self, index: u32) -> Result<Self, Self::Fault>;
    fn boolean(&self) -> Result<bool, Self::Fault>;
    fn number(&self) -> Result<f64, Self::Fault>;
    /// The string, each lone surrogate replaced by U+FFFD.
    fn string(&self) -> Result<String, Self::Fault>;
    /// Appends the string to `text`, as far as it counts there.
    fn append_to(&self, text: &mut Text) -> Result<(), Self::Fault>;
    /// The value as an error message shows it: `42`, `"abc"`, `an array`.
    fn describe(&self) -> String;
}

/// How many characters of a value an error message shows.
const SHOWN: usize = 40;

/// A string as an error message shows it: quoted, cut after 40 characters.
pub fn quote(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Anything else as an error message shows it: cut after 40 characters.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

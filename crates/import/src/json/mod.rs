//! JSON in a compact form, and its values.

mod build;
mod document;
mod parse;
mod tape;
mod text;
mod value;

pub use self::{
    document::Document,
    parse::{SyntaxError, Unread},
    tape::{Full, Index},
    text::{BLANK, MAX_TEXT, grow, is_blank, is_longer, json_of, trimmed, written},
    value::{Array, Canonical, Kind, Members, Value, write_canonical},
};

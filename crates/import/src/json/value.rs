//! A value of a document.

use std::{fmt, iter::Flatten, option};

use super::{Buffer, document::Document, is_blank, write_list, write_object};

/// The words of the name of a member, after which its value is.
const NAME_WORDS: u32 = 2;

/// A value of a document.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    at: u32,
}

/// The kind of a value, with its content.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "the names are JSON's")]
pub enum Kind<'d> {
    Null,
    Bool(bool),
    Number(Number),
    String(&'d str),
    Array(Array<'d>),
    Object(Value<'d>),
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// Returns the nearest float.
    #[expect(clippy::cast_precision_loss, reason = "as JavaScript reads it")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(number) => number as f64,
            Self::Signed(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl<'d> Value<'d> {
    pub(super) fn new(document: &'d Document<'d>, at: u32) -> Self {
        Self { document, at }
    }

    /// Returns the kind of the value, with its content.
    pub fn kind(self) -> Kind<'d> {
        self.document.kind(self.at)
    }

    /// Returns whether this is `null`.
    pub fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// Returns whether this is a string.
    pub fn is_string(self) -> bool {
        self.as_str().is_some()
    }

    /// Returns whether this is an array.
    pub fn is_array(self) -> bool {
        self.as_array().is_some()
    }

    /// Returns whether this is an object.
    pub fn is_object(self) -> bool {
        self.document.is_object(self.at)
    }

    /// Returns the string.
    pub fn as_str(self) -> Option<&'d str> {
        self.document.text_at(self.at)
    }

    /// Returns the boolean.
    pub fn as_bool(self) -> Option<bool> {
        if let Kind::Bool(value) = self.kind() { Some(value) } else { None }
    }

    /// Returns the number.
    pub fn as_number(self) -> Option<Number> {
        if let Kind::Number(number) = self.kind() { Some(number) } else { None }
    }

    /// Returns the number as a float.
    pub fn as_f64(self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// Returns the integer.
    pub fn as_integer(self) -> Option<i128> {
        match self.as_number()? {
            Number::Unsigned(number) => Some(number.into()),
            Number::Signed(number) => Some(number.into()),
            Number::Float(_) => None,
        }
    }

    /// Returns the array.
    pub fn as_array(self) -> Option<Array<'d>> {
        if let Kind::Array(array) = self.kind() { Some(array) } else { None }
    }

    /// Returns the object.
    pub fn as_object(self) -> Option<Self> {
        self.is_object().then_some(self)
    }

    /// Returns the members of an object in order, duplicates included; none of any other value.
    pub fn members(self) -> impl Iterator<Item = (&'d str, Self)> {
        let Self { document, .. } = self;
        self.names().map(move |name| {
            let value = name + NAME_WORDS;
            (document.text_at(name).unwrap_or_default(), Self::new(document, value))
        })
    }

    /// Returns the places of the names of an object.
    fn names(self) -> impl Iterator<Item = u32> {
        let Self { document, at } = self;
        let (mut next, end) =
            if self.is_object() { (at + 2, document.after(at)) } else { (at, at) };
        std::iter::from_fn(move || {
            let name = next;
            (name < end).then(|| {
                next = document.after(name + NAME_WORDS);
                name
            })
        })
    }

    /// Returns the places of the names of an object, sorted by UTF-16; the last one of equal names.
    fn sorted_names(self) -> Vec<u32> {
        let text_at = |at: &u32| self.document.text_at(*at).unwrap_or_default();
        // Places take less memory than texts.
        let mut names: Vec<u32> = self.names().collect();
        names.reverse();
        names.sort_by(|a, b| text_at(a).encode_utf16().cmp(text_at(b).encode_utf16()));
        names.dedup_by(|a, b| text_at(a) == text_at(b));
        names
    }

    /// Returns the value of the JSON text in a string, and if that is a string again, of the text in that one.
    /// Returns any other value as it is.
    pub fn decoded(self) -> Self {
        let inner = |value: Self| value.document.decoded_at(value.at);
        inner(self).map_or(self, |once| inner(once).unwrap_or(once))
    }

    /// Returns whether this is the same value of the same document.
    pub fn is(self, other: Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.at == other.at
    }

    /// Returns the value at a JSON pointer (RFC 6901).
    pub fn pointer(self, pointer: &str) -> Option<Self> {
        let Some(names) = pointer.strip_prefix('/') else {
            return pointer.is_empty().then_some(self);
        };
        names.split('/').try_fold(self, |value, name| {
            let name = name.replace("~1", "/").replace("~0", "~");
            match value.kind() {
                Kind::Object(object) => object.get(&name),
                Kind::Array(elements) => {
                    let is_index = name == "0" || !name.starts_with(['0', '+']);
                    elements.iter().nth(name.parse().ok().filter(|_| is_index)?)
                }
                _ => None,
            }
        })
    }

    /// Returns the number of values and names of members in this value, itself included, up to a limit.
    pub fn count(self, limit: usize) -> usize {
        let mut at = self.at;
        let end = self.document.after(at);
        let mut count = 0;
        while at < end && count < limit {
            at = match self.document.kind(at) {
                Kind::Array(_) | Kind::Object(_) => at + 2,
                _ => self.document.after(at),
            };
            count += 1;
        }
        count
    }

    /// Returns whether arrays and objects nest at most `depth` deep.
    pub fn nests_at_most(self, depth: usize) -> bool {
        match self.kind() {
            Kind::Array(elements) => {
                depth > 0 && elements.iter().all(|element| element.nests_at_most(depth - 1))
            }
            Kind::Object(object) => {
                depth > 0 && object.members().all(|(_, member)| member.nests_at_most(depth - 1))
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => true,
        }
    }

    /// Writes the canonical form (RFC 8785): sorted members, no white space, ECMAScript numbers.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_canonical<W: fmt::Write>(self, out: &mut W) -> fmt::Result {
        self.write_as(out, true)
    }

    /// Returns the canonical form.
    pub fn canonical(self) -> String {
        let mut out = Buffer::default();
        // Without memory, it is truncated.
        let _ = self.write_canonical(&mut out);
        out.into_string()
    }

    /// Returns the value as JSON without white space.
    pub fn to_json(self) -> String {
        let mut out = Buffer::default();
        // Without memory, it is truncated.
        let _ = self.write(&mut out);
        out.into_string()
    }

    /// Writes the value as JSON without white space.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write<W: fmt::Write>(self, out: &mut W) -> fmt::Result {
        self.write_as(out, false)
    }

    fn write_as<W: fmt::Write>(self, out: &mut W, is_canonical: bool) -> fmt::Result {
        let Self { document, .. } = self;
        match self.kind() {
            Kind::Null => out.write_str("null"),
            Kind::Bool(value) => write!(out, "{value}"),
            Kind::Number(number) if is_canonical => {
                out.write_str(ryu_js::Buffer::new().format(number.as_f64()))
            }
            Kind::Number(Number::Unsigned(number)) => write!(out, "{number}"),
            Kind::Number(Number::Signed(number)) => write!(out, "{number}"),
            Kind::Number(Number::Float(number)) => match serde_json::Number::from_f64(number) {
                Some(number) => write!(out, "{number}"),
                None => out.write_str("null"),
            },
            Kind::String(text) => super::write_string(text, out),
            Kind::Array(elements) => write_list(['[', ']'], elements, out, |value, out| {
                value.write_as(out, is_canonical)
            }),
            Kind::Object(object) => {
                let member = |name: u32| {
                    let value = Self::new(document, name + NAME_WORDS);
                    (document.text_at(name).unwrap_or_default(), value)
                };
                let write = |value: Self, out: &mut W| value.write_as(out, is_canonical);
                if is_canonical {
                    write_object(object.sorted_names().into_iter().map(member), out, write)
                } else {
                    write_object(object.names().map(member), out, write)
                }
            }
        }
    }
}

/// As JSON without white space.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// The elements of an array, in order. Each copy is an iterator of its own.
#[derive(Clone, Copy)]
pub struct Array<'d> {
    document: &'d Document<'d>,
    begin: u32,
    end: u32,
}

impl<'d> Array<'d> {
    pub(super) fn new(document: &'d Document<'d>, begin: u32, end: u32) -> Self {
        Self { document, begin, end }
    }

    /// Returns the elements in order.
    pub fn iter(self) -> Self {
        self
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.begin == self.end
    }

    /// Returns the first element.
    pub fn first(self) -> Option<Value<'d>> {
        self.iter().next()
    }
}

impl<'d> Iterator for Array<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        let Self { document, begin, end } = *self;
        (begin < end).then(|| {
            self.begin = document.after(begin);
            Value::new(document, begin)
        })
    }
}

/// Members of an object by name. Any other value has none.
pub trait Members<'d> {
    /// Returns the last member with a name.
    fn get(&self, name: &str) -> Option<Value<'d>>;

    /// Returns whether there is a member with a name.
    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a member that is not null.
    fn member(&self, name: &str) -> Option<Value<'d>> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// Returns the first of several members that is not null.
    fn first(&self, names: &[&str]) -> Option<Value<'d>> {
        names.iter().find_map(|name| self.member(name))
    }

    /// Returns a member that is a string.
    fn text(&self, name: &str) -> Option<&'d str> {
        self.get(name)?.as_str()
    }

    /// Returns a member that is a string and not blank, as ids and names must be.
    fn name(&self, name: &str) -> Option<&'d str> {
        self.text(name).filter(|text| !is_blank(text))
    }

    /// Returns the first of several members that is a string and not blank.
    fn first_name(&self, names: &[&str]) -> Option<&'d str> {
        names.iter().find_map(|name| self.name(name))
    }

    /// Returns a member that is an array.
    fn list(&self, name: &str) -> Option<Array<'d>> {
        self.get(name)?.as_array()
    }

    /// Returns the elements of a member that is an array; none of any other.
    fn elements(&self, name: &str) -> Flatten<option::IntoIter<Array<'d>>> {
        self.list(name).into_iter().flatten()
    }

    /// Returns a member that is an object.
    fn object(&self, name: &str) -> Option<Value<'d>> {
        self.get(name)?.as_object()
    }

    /// Returns a member that is a boolean.
    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }
}

impl<'d> Members<'d> for Value<'d> {
    fn get(&self, name: &str) -> Option<Value<'d>> {
        let Self { document, .. } = *self;
        let found = self.names().filter(|at| document.has_text(*at, name)).last()?;
        Some(Self::new(document, found + NAME_WORDS))
    }
}

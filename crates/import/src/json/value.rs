//! A value of a tape.

#![expect(missing_docs, reason = "the names say the rest")]

use std::{io, iter::Flatten, option};

use serde::{Serialize, Serializer};
use serde_json::{Number, ser::Formatter};

use super::{
    parse::decoded_at,
    tape::{NAME_WORDS, Tape, tag},
    text::{is_blank, json_of, written},
};

/// A value of a tape.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    tape: &'d Tape<'d>,
    at: u32,
}

/// The kind of a value, with its content.
#[derive(Clone)]
pub enum Kind<'d> {
    Null,
    Bool(bool),
    Number(Number),
    String(&'d str),
    Array(Array<'d>),
    Object(Value<'d>),
}

impl<'d> Value<'d> {
    pub(super) fn new(tape: &'d Tape<'d>, at: u32) -> Self {
        Self { tape, at }
    }

    pub fn kind(self) -> Kind<'d> {
        let Self { tape, at } = self;
        match tape.tag(at) {
            tag::NULL => Kind::Null,
            tag::FALSE => Kind::Bool(false),
            tag::TRUE => Kind::Bool(true),
            tag::TEXT | tag::UNESCAPED => Kind::String(tape.text_at(at).unwrap_or_default()),
            tag::ARRAY => Kind::Array(Array::new(tape, at + 1, tape.after(at))),
            tag::OBJECT.. => Kind::Object(self),
            _ => tape.number_at(at).map_or(Kind::Null, Kind::Number),
        }
    }

    /// Returns the words of a value, with those of the values in it.
    pub(super) fn words(self) -> &'d [u32] {
        let Self { tape, at } = self;
        tape.index.words.get(at as usize..tape.after(at) as usize).unwrap_or_default()
    }

    /// Returns the number of words in the index.
    pub(super) fn size(self) -> usize {
        self.words().len()
    }

    pub fn is_null(self) -> bool {
        self.tape.tag(self.at) == tag::NULL
    }

    pub fn is_string(self) -> bool {
        self.as_str().is_some()
    }

    pub fn is_array(self) -> bool {
        self.tape.tag(self.at) == tag::ARRAY
    }

    pub fn is_object(self) -> bool {
        self.tape.tag(self.at) >= tag::OBJECT
    }

    pub fn as_str(self) -> Option<&'d str> {
        self.tape.text_at(self.at)
    }

    pub fn as_bool(self) -> Option<bool> {
        if let Kind::Bool(value) = self.kind() { Some(value) } else { None }
    }

    pub fn as_number(self) -> Option<Number> {
        if let Kind::Number(number) = self.kind() { Some(number) } else { None }
    }

    pub fn as_f64(self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    pub fn as_integer(self) -> Option<i128> {
        self.as_number()?.as_i128()
    }

    pub fn as_array(self) -> Option<Array<'d>> {
        if let Kind::Array(array) = self.kind() { Some(array) } else { None }
    }

    pub fn as_object(self) -> Option<Self> {
        self.is_object().then_some(self)
    }

    /// Returns an array of this value alone.
    pub(crate) fn alone(self) -> Array<'d> {
        Array::new(self.tape, self.at, self.tape.after(self.at))
    }

    /// Returns the members of an object in order, duplicates included; none of any other value.
    pub fn members(self) -> impl Iterator<Item = (&'d str, Self)> + Clone {
        let Self { tape, .. } = self;
        self.names().map(move |name| {
            let value = name + NAME_WORDS;
            (tape.text_at(name).unwrap_or_default(), Self::new(tape, value))
        })
    }

    /// Returns the places of the names of an object.
    fn names(self) -> impl Iterator<Item = u32> + Clone {
        let Self { tape, at } = self;
        let end = if self.is_object() { tape.end_of_members(at) } else { at };
        let before_end = move |name: u32| (name < end).then_some(name);
        let first = before_end(at + 1);
        std::iter::successors(first, move |name| before_end(tape.after(name + NAME_WORDS)))
    }

    /// Returns the members of an object, sorted by UTF-16; the last one of equal names.
    fn sorted_members(self) -> impl Iterator<Item = (&'d str, Self)> {
        let Self { tape, .. } = self;
        let text_at = |at: u32| tape.text_at(at).unwrap_or_default();
        // Offsets take less memory than texts.
        let mut names: Vec<u32> = self.names().collect();
        names.reverse();
        names.sort_by(|a, b| text_at(*a).encode_utf16().cmp(text_at(*b).encode_utf16()));
        names.dedup_by(|a, b| text_at(*a) == text_at(*b));
        names.into_iter().map(move |name| (text_at(name), Self::new(tape, name + NAME_WORDS)))
    }

    /// Returns the value of the JSON text in a string, and if that is a string again, of the text in that one.
    /// Returns any other value as it is.
    pub fn decoded(self) -> Self {
        let inner = |value: Self| Some(Self::new(decoded_at(value.tape, value.at)?, 0));
        inner(self).map_or(self, |once| inner(once).unwrap_or(once))
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
        let with = |all: usize, value: Self| match limit.saturating_sub(all) {
            0 => all,
            left => all + value.count(left),
        };
        let all = self.as_array().into_iter().flatten().fold(1, with);
        let values = self.names().map(|name| Self::new(self.tape, name + NAME_WORDS));
        values.fold(all, |all, value| with(all + 1, value)).min(limit)
    }

    /// Returns how deep arrays and objects nest.
    pub fn depth(self) -> usize {
        let inner = match self.kind() {
            Kind::Array(elements) => elements.map(Self::depth).max(),
            Kind::Object(object) => object.members().map(|(_, value)| value.depth()).max(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => return 0,
        };
        1 + inner.unwrap_or_default()
    }

    /// Returns the canonical form; an empty text if there is no memory for it.
    pub fn canonical(self) -> String {
        self.canonical_without(None)
    }

    /// Returns the canonical form without the members whose names begin so.
    pub(crate) fn canonical_without(self, prefix: Option<&str>) -> String {
        let value = Canonical { value: self, without: prefix };
        written(|out| write_canonical(&value, out)).unwrap_or_default()
    }

    /// Returns the value as JSON without white space; an empty text if there is no memory for it.
    pub fn to_json(self) -> String {
        json_of(self)
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Bool(value) => serializer.serialize_bool(value),
            Kind::Number(number) => number.serialize(serializer),
            Kind::String(text) => serializer.serialize_str(text),
            Kind::Array(elements) => serializer.collect_seq(elements),
            Kind::Object(object) => serializer.collect_map(object.members()),
        }
    }
}

/// Writes the canonical form (RFC 8785) of a value whose members are sorted: no white space, ECMAScript numbers; but
/// integers with all digits, as ids may be longer than those of ECMAScript.
///
/// # Errors
///
/// Those of `out`.
pub fn write_canonical(value: &impl Serialize, out: impl io::Write) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, EcmaScript))
}

/// A value for [`write_canonical`], with sorted members.
pub struct Canonical<'d> {
    value: Value<'d>,
    /// The beginning of the names of members that are left out.
    without: Option<&'d str>,
}

impl<'d> Canonical<'d> {
    pub fn of(value: Value<'d>) -> Self {
        Self { value, without: None }
    }
}

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = |value| Canonical { value, ..*self };
        match self.value.kind() {
            Kind::Number(number) if number.is_f64() => number.as_f64().serialize(serializer),
            Kind::Array(elements) => serializer.collect_seq(elements.map(inner)),
            Kind::Object(object) => {
                let is_kept =
                    |name: &str| !self.without.is_some_and(|begin| name.starts_with(begin));
                let members = object.sorted_members().filter(|(name, _)| is_kept(name));
                serializer.collect_map(members.map(|(name, value)| (name, inner(value))))
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {
                self.value.serialize(serializer)
            }
        }
    }
}

struct EcmaScript;

impl Formatter for EcmaScript {
    fn write_f64<W: io::Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }
}

/// The elements of an array, in order. Each copy is an iterator of its own.
#[derive(Clone, Copy)]
pub struct Array<'d> {
    tape: &'d Tape<'d>,
    begin: u32,
    end: u32,
}

impl<'d> Array<'d> {
    pub(super) fn new(tape: &'d Tape<'d>, begin: u32, end: u32) -> Self {
        Self { tape, begin, end }
    }

    pub fn iter(self) -> Self {
        self
    }

    pub fn is_empty(self) -> bool {
        self.begin == self.end
    }

    pub fn first(self) -> Option<Value<'d>> {
        self.iter().next()
    }
}

impl<'d> Iterator for Array<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        let Self { tape, begin, end } = *self;
        (begin < end).then(|| {
            self.begin = tape.after(begin);
            Value::new(tape, begin)
        })
    }
}

/// Members of an object by name. Any other value has none.
pub trait Members<'d> {
    /// Returns the last member with a name.
    fn get(&self, name: &str) -> Option<Value<'d>>;

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
        Some(Self { at: self.tape.find(self.at, name)?, ..*self })
    }
}

/// A missing value has no members.
impl<'d> Members<'d> for Option<Value<'d>> {
    fn get(&self, name: &str) -> Option<Value<'d>> {
        self.as_ref()?.get(name)
    }
}

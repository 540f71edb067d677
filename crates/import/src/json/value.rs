//! A value in its document.

use std::fmt;

use super::{
    Text,
    document::{Document, Entry},
    is_blank,
};

/// A value in its document, to be copied freely.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    at: u32,
}

/// What a value is.
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

/// A number, as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number from 0.
    Unsigned(u64),
    /// A whole number below 0.
    Signed(i64),
    /// Any other number.
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "as JavaScript reads it")]
    /// Returns the nearest number of 64 bits.
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

    /// Returns what the value is.
    pub fn kind(self) -> Kind<'d> {
        match self.document.entry(self.at) {
            Entry::Null => Kind::Null,
            Entry::Bool(value) => Kind::Bool(value),
            Entry::Number(number) => Kind::Number(number),
            Entry::Text(..) | Entry::Unescaped(..) => {
                Kind::String(self.as_str().unwrap_or_default())
            }
            Entry::Array(end) => {
                Kind::Array(Array { document: self.document, begin: self.at + 2, end })
            }
            Entry::Object(_) => Kind::Object(self),
        }
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
        matches!(self.document.entry(self.at), Entry::Object(_))
    }

    /// Returns the string that this is.
    pub fn as_str(self) -> Option<&'d str> {
        self.document.text_at(self.at)
    }

    /// Returns the boolean that this is.
    pub fn as_bool(self) -> Option<bool> {
        match self.document.entry(self.at) {
            Entry::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the number that this is.
    pub fn as_number(self) -> Option<Number> {
        match self.document.entry(self.at) {
            Entry::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number that this is, as one of 64 bits.
    pub fn as_f64(self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    /// Returns the whole number that this is.
    pub fn as_i64(self) -> Option<i64> {
        match self.as_number()? {
            Number::Unsigned(number) => i64::try_from(number).ok(),
            Number::Signed(number) => Some(number),
            Number::Float(_) => None,
        }
    }

    /// Returns the whole number from 0 that this is.
    pub fn as_u64(self) -> Option<u64> {
        match self.as_number()? {
            Number::Unsigned(number) => Some(number),
            Number::Signed(_) | Number::Float(_) => None,
        }
    }

    /// Returns the elements of the array that this is.
    pub fn as_array(self) -> Option<Array<'d>> {
        match self.kind() {
            Kind::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Returns the object that this is.
    pub fn as_object(self) -> Option<Self> {
        self.is_object().then_some(self)
    }

    /// Returns the members of an object, in the order in which they stand; none of any other value. A name
    /// that occurs twice comes twice.
    pub fn members(self) -> impl Iterator<Item = (&'d str, Self)> {
        let Self { document, .. } = self;
        self.names().map(move |name| {
            let value = document.after(name);
            (document.text_at(name).unwrap_or_default(), Self::new(document, value))
        })
    }

    /// Returns the places of the names of an object.
    fn names(self) -> impl Iterator<Item = u32> {
        let Self { document, at } = self;
        let (mut next, end) = match document.entry(at) {
            Entry::Object(end) => (at + 2, end),
            _ => (at, at),
        };
        std::iter::from_fn(move || {
            let name = next;
            (name < end).then(|| {
                next = document.after(document.after(name));
                name
            })
        })
    }

    /// Returns the places of the names of an object, sorted by UTF-16; of equal ones the last.
    fn sorted_names(self) -> Vec<u32> {
        let text_at = |at: &u32| self.document.text_at(*at).unwrap_or_default();
        // Places and not texts: there may be nearly as many as the line has bytes.
        let mut names: Vec<u32> = self.names().collect();
        names.reverse();
        names.sort_by(|a, b| text_at(a).encode_utf16().cmp(text_at(b).encode_utf16()));
        names.dedup_by(|a, b| text_at(a) == text_at(b));
        names
    }

    /// Returns the JSON that a string holds, and if that is a string again, what that one holds; any other
    /// value as it is.
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

    /// Returns how many values and names this is and has, up to a limit.
    pub fn count(self, limit: usize) -> usize {
        let mut at = self.at;
        let end = self.document.after(at);
        let mut count = 0;
        while at < end && count < limit {
            at = match self.document.entry(at) {
                Entry::Array(_) | Entry::Object(_) => at + 2,
                _ => self.document.after(at),
            };
            count += 1;
        }
        count
    }

    /// Returns whether arrays and objects nest in each other at most so deep.
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

    /// Writes the canonical form (RFC 8785): sorted members, no white space, the numbers of ECMAScript.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_canonical(self, out: &mut impl fmt::Write) -> fmt::Result {
        self.write_as(out, true)
    }

    /// Returns the canonical form.
    pub fn canonical(self) -> String {
        let mut out = Text::default();
        // Without memory, it is cut.
        let _ = self.write_canonical(&mut out);
        out.into_string()
    }

    /// Returns the value as JSON without white space.
    pub fn to_json(self) -> String {
        let mut out = Text::default();
        // Without memory, it is cut.
        let _ = self.write(&mut out);
        out.into_string()
    }

    /// Writes the value as JSON without white space.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write(self, out: &mut impl fmt::Write) -> fmt::Result {
        self.write_as(out, false)
    }

    fn write_as(self, out: &mut impl fmt::Write, is_canonical: bool) -> fmt::Result {
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
            Kind::Array(elements) => {
                out.write_char('[')?;
                for (index, element) in elements.iter().enumerate() {
                    out.write_str(if index > 0 { "," } else { "" })?;
                    element.write_as(out, is_canonical)?;
                }
                out.write_char(']')
            }
            Kind::Object(object) => {
                out.write_char('{')?;
                let mut comma = "";
                let mut write = |name: u32| {
                    out.write_str(std::mem::replace(&mut comma, ","))?;
                    super::write_string(document.text_at(name).unwrap_or_default(), out)?;
                    out.write_char(':')?;
                    Self::new(document, document.after(name)).write_as(out, is_canonical)
                };
                if is_canonical {
                    object.sorted_names().into_iter().try_for_each(&mut write)?;
                } else {
                    object.names().try_for_each(&mut write)?;
                }
                out.write_char('}')
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

/// The elements of an array.
#[derive(Clone, Copy)]
pub struct Array<'d> {
    document: &'d Document<'d>,
    begin: u32,
    end: u32,
}

impl<'d> Array<'d> {
    /// Returns the elements in order.
    pub fn iter(self) -> Elements<'d> {
        Elements(self)
    }

    /// Returns whether there are none.
    pub fn is_empty(self) -> bool {
        self.begin == self.end
    }

    /// Returns how many there are, which takes as long as to look at each.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Returns the first element.
    pub fn first(self) -> Option<Value<'d>> {
        self.iter().next()
    }

    /// Returns the last element, which takes as long as to look at each.
    pub fn last(self) -> Option<Value<'d>> {
        self.iter().last()
    }
}

impl<'d> IntoIterator for Array<'d> {
    type Item = Value<'d>;
    type IntoIter = Elements<'d>;

    fn into_iter(self) -> Elements<'d> {
        self.iter()
    }
}

/// Iterates over the elements of an array.
#[derive(Clone, Copy)]
pub struct Elements<'d>(Array<'d>);

impl<'d> Iterator for Elements<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        let Array { document, begin, end } = self.0;
        (begin < end).then(|| {
            self.0.begin = document.after(begin);
            Value::new(document, begin)
        })
    }
}

/// Members by their names. What is no object has none.
pub trait Members<'d> {
    /// Returns a member: the last one of its name.
    fn get(&self, name: &str) -> Option<Value<'d>>;

    /// Returns whether there is such a member.
    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a member that is there and not null.
    fn member(&self, name: &str) -> Option<Value<'d>> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// Returns the first of some members that is there and not null.
    fn first(&self, names: &[&str]) -> Option<Value<'d>> {
        names.iter().find_map(|name| self.member(name))
    }

    /// Returns a member that is a string.
    fn text(&self, name: &str) -> Option<&'d str> {
        self.get(name)?.as_str()
    }

    /// Returns a member that is a string and not blank. Ids and names count only so.
    fn name(&self, name: &str) -> Option<&'d str> {
        self.text(name).filter(|text| !is_blank(text))
    }

    /// Returns the first of some members that is a string and not blank.
    fn first_name(&self, names: &[&str]) -> Option<&'d str> {
        names.iter().find_map(|name| self.name(name))
    }

    /// Returns a member that is an array.
    fn list(&self, name: &str) -> Option<Array<'d>> {
        self.get(name)?.as_array()
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
        Some(Self::new(document, document.after(found)))
    }
}

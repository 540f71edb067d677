//! Adds values that are not read from a text.

use super::{
    tape::{Full, Index, tag},
    text::grow,
    value::{Kind, Value},
};

impl Index {
    /// Adds an array, whose elements `add` adds.
    pub fn array<T>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
        add: impl Fn(&mut Self, T) -> Result<(), Full>,
    ) -> Result<(), Full> {
        let open = self.begin(tag::ARRAY)?;
        elements.into_iter().try_for_each(|element| add(self, element))?;
        self.end(open)
    }

    /// Adds an object, whose values `add` adds.
    pub fn object<'a, T>(
        &mut self,
        members: impl IntoIterator<Item = (&'a str, T)>,
        add: impl Fn(&mut Self, T) -> Result<(), Full>,
    ) -> Result<(), Full> {
        let mut open = self.begin(tag::OBJECT)?;
        for (name, value) in members {
            self.push_string(name)?;
            self.note_name(&mut open, "");
            add(self, value)?;
        }
        self.end(open)
    }

    /// Adds a copy of a value.
    pub fn copy(&mut self, value: Value) -> Result<(), Full> {
        // At once, as it may be large.
        if !grow(&mut self.words, value.size()) {
            return Err(Full);
        }
        match value.kind() {
            Kind::String(text) => self.push_string(text),
            Kind::Array(elements) => self.array(elements, Self::copy),
            Kind::Object(object) => self.object(object.members(), Self::copy),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => self.push(value.words()),
        }
    }
}

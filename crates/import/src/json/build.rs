//! Builds values that are not read from a text.

use std::collections::BTreeMap;

use super::{
    tape::{Index, Unbuilt, tag},
    value::{Kind, Value},
};

/// The maximum depth of values, as of JSON that can be read.
const MAX_DEPTH: usize = 127;

/// What a value is built from.
pub trait Build {
    /// Adds the value.
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt>;
}

/// Adds values, one after another.
#[derive(Default)]
pub struct Builder {
    pub(super) index: Index,
    depth: usize,
}

impl Builder {
    pub fn array<T: Build>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<(), Unbuilt> {
        self.container(tag::ARRAY, elements, |out, _, element| element.build(out))
    }

    pub fn object<'a, T: Build>(
        &mut self,
        members: impl IntoIterator<Item = (&'a str, T)>,
    ) -> Result<(), Unbuilt> {
        self.container(tag::OBJECT, members, |out, at, (name, value)| {
            name.build(out)?;
            out.index.note_name(at, "");
            value.build(out)
        })
    }

    fn container<T>(
        &mut self,
        tag: u32,
        values: impl IntoIterator<Item = T>,
        mut add: impl FnMut(&mut Self, usize, T) -> Result<(), Unbuilt>,
    ) -> Result<(), Unbuilt> {
        if self.depth == MAX_DEPTH {
            return Err(Unbuilt::TooDeep);
        }
        self.depth += 1;
        let at = self.index.begin(tag)?;
        values.into_iter().try_for_each(|value| add(self, at, value))?;
        self.depth -= 1;
        self.index.end(at)
    }
}

impl<T: Build + ?Sized> Build for &T {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        (**self).build(out)
    }
}

impl Build for str {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        out.index.push_string(self)
    }
}

impl Build for String {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        self.as_str().build(out)
    }
}

macro_rules! build_scalars {
    ($($kind:ty: $push:ident,)*) => {
        $(impl Build for $kind {
            fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
                out.index.$push(*self)
            }
        })*
    };
}

build_scalars! { bool: push_bool, u64: push_unsigned, i64: push_signed, f64: push_float, }

/// `None` is `null`.
impl<T: Build> Build for Option<T> {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        match self {
            Some(value) => value.build(out),
            None => out.index.push(&[tag::NULL]),
        }
    }
}

impl Build for Value<'_> {
    /// Adds a copy.
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        match self.kind() {
            Kind::String(text) => text.build(out),
            Kind::Array(elements) => out.array(elements),
            Kind::Object(object) => out.object(object.members()),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => out.index.push(self.words()),
        }
    }
}

/// An object of members.
pub struct Object<'a, T>(pub &'a [(&'a str, T)]);

impl<T: Build> Build for Object<'_, T> {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        out.object(self.0.iter().map(|(name, value)| (*name, value)))
    }
}

/// A value that is made of recorded ones.
pub enum Made<'d> {
    Text(&'d str),
    Value(Value<'d>),
    List(Vec<Self>),
    Object(BTreeMap<&'d str, Self>),
}

impl Build for Made<'_> {
    fn build(&self, out: &mut Builder) -> Result<(), Unbuilt> {
        match self {
            Self::Text(text) => text.build(out),
            Self::Value(value) => value.build(out),
            Self::List(elements) => out.array(elements),
            Self::Object(members) => out.object(members.iter().map(|(name, value)| (*name, value))),
        }
    }
}

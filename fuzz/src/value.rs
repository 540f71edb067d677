//! Values as JavaScript has them, and a record of how they are looked at.

use std::{cell::RefCell, ptr};

use knowledgepulse_scoring::{
    Error,
    trace::{TextWriter, Type, View, quote},
};

/// What a getter or a proxy throws; each has a number of its own.
pub type Fault = u32;

/// What comes out of reading: what is thrown, or an error of the engine.
#[derive(Debug, Clone, PartialEq)]
pub enum Thrown {
    Fault(Fault),
    Invalid(Error),
}

impl From<Fault> for Thrown {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Thrown {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

/// A JavaScript value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Undefined,
    Null,
    Boolean(bool),
    Number(f64),
    String(String),
    /// A symbol, a function or a bigint.
    Other,
    /// A boolean, number or string that cannot be read.
    Broken(Type, Fault),
    Object(Object),
}

/// An object, an array or a proxy of either. Whatever is asked of it can throw.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub is_array: Result<bool, Fault>,
    pub length: Result<u32, Fault>,
    pub properties: Vec<(&'static str, Result<Value, Fault>)>,
    /// Holes where there are fewer than the length says.
    pub elements: Vec<Result<Value, Fault>>,
}

/// What is looked at, of the value at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    Property(&'static str),
    Element(u32),
    IsArray,
    Length,
    Contents,
}

/// Everything that has been looked at, in order.
pub type Log = Vec<(usize, Look)>;

const NOTHING: &Value = &Value::Undefined;

impl Value {
    /// An object with these properties.
    pub fn object(properties: Vec<(&'static str, Result<Self, Fault>)>) -> Self {
        Self::Object(Object { is_array: Ok(false), length: Ok(0), properties, elements: vec![] })
    }

    /// An array of these elements.
    pub fn array(elements: Vec<Result<Self, Fault>>) -> Self {
        let length = Ok(elements.len() as u32);
        Self::Object(Object { is_array: Ok(true), length, properties: vec![], elements })
    }

    /// A JSON value, of whose objects only properties with one of these `names` are kept.
    pub fn from_json(json: &serde_json::Value, names: &[&'static str]) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Boolean(*value),
            serde_json::Value::Number(number) => {
                Self::Number(number.as_f64().expect("a number of JSON"))
            }
            serde_json::Value::String(text) => Self::String(text.clone()),
            serde_json::Value::Array(values) => {
                Self::array(values.iter().map(|value| Ok(Self::from_json(value, names))).collect())
            }
            serde_json::Value::Object(map) => {
                let property = |name| Some((name, Ok(Self::from_json(map.get(name)?, names))));
                Self::object(names.iter().copied().filter_map(property).collect())
            }
        }
    }

    /// The value as JSON can have it; `None` for what it has not.
    pub fn to_json(&self) -> Option<serde_json::Value> {
        Some(match self {
            Self::Undefined | Self::Other | Self::Broken(..) => return None,
            Self::Null => serde_json::Value::Null,
            Self::Boolean(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::String(text) => text.clone().into(),
            Self::Object(Object { is_array: Ok(true), elements, .. }) => {
                let json = |value: &Result<Self, _>| value.as_ref().ok()?.to_json();
                elements.iter().map(|value| json(value).unwrap_or_default()).collect()
            }
            Self::Object(Object { properties, .. }) => {
                let json = |value: &Result<Self, _>| value.as_ref().ok()?.to_json();
                let property = |(name, value): &(&str, _)| Some((name.to_string(), json(value)?));
                serde_json::Value::Object(properties.iter().filter_map(property).collect())
            }
        })
    }

    pub fn type_of(&self) -> Type {
        match self {
            Self::Undefined => Type::Undefined,
            Self::Null => Type::Null,
            Self::Boolean(_) => Type::Boolean,
            Self::Number(_) => Type::Number,
            Self::String(_) => Type::String,
            Self::Other => Type::Other,
            Self::Broken(kind, _) => *kind,
            Self::Object(_) => Type::Object,
        }
    }

    /// How an error message shows it.
    pub fn describe(&self) -> String {
        match self {
            Self::Undefined => "undefined".into(),
            Self::Null => "null".into(),
            Self::Boolean(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::String(text) => quote(text),
            Self::Other => "a symbol".into(),
            Self::Broken(..) => "a value that cannot be shown".into(),
            Self::Object(Object { is_array: Ok(true), .. }) => "an array".into(),
            Self::Object(_) => "an object".into(),
        }
    }

    pub fn as_object(&self) -> &Object {
        match self {
            Self::Object(object) => object,
            other => panic!("{other:?} was taken for an object"),
        }
    }

    /// A property, or nothing; what throws is nothing, too.
    pub fn at(&self, name: &str) -> &Self {
        self.as_object().property(name).unwrap_or(NOTHING)
    }

    pub fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

impl Object {
    pub fn property(&self, name: &str) -> Result<&Value, Fault> {
        let found = self.properties.iter().find(|(other, _)| *other == name);
        found.map_or(Ok(NOTHING), |(_, value)| value.as_ref().map_err(|fault| *fault))
    }

    pub fn element(&self, index: u32) -> Result<&Value, Fault> {
        let found = self.elements.get(index as usize);
        found.map_or(Ok(NOTHING), |value| value.as_ref().map_err(|fault| *fault))
    }
}

/// A value as the engine sees it. Panics where a look does not fit the type.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub value: &'a Value,
    pub log: &'a RefCell<Log>,
}

impl<'a> Seen<'a> {
    fn note(&self, look: Look) {
        self.log.borrow_mut().push((self.value.address(), look));
    }

    fn with(&self, value: &'a Value) -> Self {
        Self { value, ..*self }
    }

    fn contents<T>(&self, fits: impl FnOnce(&'a Value) -> Option<T>) -> Result<T, Thrown> {
        self.note(Look::Contents);
        match self.value {
            Value::Broken(_, fault) => Err(Thrown::Fault(*fault)),
            value => {
                Ok(fits(value).unwrap_or_else(|| panic!("{value:?} was read as another type")))
            }
        }
    }

    fn text(&self) -> Result<&'a str, Thrown> {
        self.contents(|value| match value {
            Value::String(text) => Some(&text[..]),
            _ => None,
        })
    }
}

impl View for Seen<'_> {
    type Error = Thrown;

    fn type_of(&self) -> Type {
        self.value.type_of()
    }

    fn is_array(&self) -> Result<bool, Thrown> {
        self.note(Look::IsArray);
        Ok(self.value.as_object().is_array?)
    }

    fn property(&self, name: &'static str) -> Result<Self, Thrown> {
        self.note(Look::Property(name));
        Ok(self.with(self.value.as_object().property(name)?))
    }

    fn length(&self) -> Result<u32, Thrown> {
        self.note(Look::Length);
        Ok(self.value.as_object().length?)
    }

    fn element(&self, index: u32) -> Result<Self, Thrown> {
        self.note(Look::Element(index));
        Ok(self.with(self.value.as_object().element(index)?))
    }

    fn boolean(&self) -> Result<bool, Thrown> {
        self.contents(|value| match value {
            Value::Boolean(value) => Some(*value),
            _ => None,
        })
    }

    fn number(&self) -> Result<f64, Thrown> {
        self.contents(|value| match value {
            Value::Number(value) => Some(*value),
            _ => None,
        })
    }

    fn string(&self) -> Result<String, Thrown> {
        self.text().map(str::to_owned)
    }

    /// In two pieces, as long strings come in several.
    fn write_to(&self, text: &mut TextWriter) -> Result<(), Thrown> {
        let whole = self.text()?;
        let (start, end) = whole.split_at(whole.floor_char_boundary(whole.len() / 2));
        text.push(start);
        text.push(end);
        Ok(())
    }

    fn describe(&self) -> String {
        self.value.describe()
    }
}

//! A JavaScript value.

use std::ops::Deref;

use knowledgepulse_scoring::trace::quote;
use napi::{
    Env, Result, ValueType,
    bindgen_prelude::{
        Float32Array, FromNapiValue, Function, JsObjectValue, JsValue, KeyCollectionMode,
        KeyConversion, KeyFilter, Object, Unknown,
    },
    check_status, sys,
};

/// A value, valid during the call in which it was made. Reading it may run code of the caller; the error of a
/// read that throws leaves the exception pending.
#[derive(Clone, Copy)]
pub struct Value<'env>(Object<'env>);

impl FromNapiValue for Value<'_> {
    unsafe fn from_napi_value(env: sys::napi_env, raw: sys::napi_value) -> Result<Self> {
        // SAFETY: that of the caller.
        unsafe { Object::from_napi_value(env, raw) }.map(Self)
    }
}

impl<'env> Deref for Value<'env> {
    type Target = Object<'env>;

    fn deref(&self) -> &Object<'env> {
        &self.0
    }
}

impl Value<'_> {
    pub fn env(&self) -> Env {
        Env::from_raw(self.value().env)
    }

    fn read<T: FromNapiValue>(&self) -> Result<T> {
        T::from_unknown(self.to_unknown())
    }

    /// Returns a property, by a key from [`Value::keys`].
    pub fn get(&self, key: &Self) -> Result<Self> {
        self.get_property_unchecked(**key)
    }

    /// Returns the names of the object's own enumerable properties as JavaScript strings, because Rust
    /// strings would lose lone surrogates and NUL.
    pub fn keys(&self) -> Result<Vec<Self>> {
        let names = self.get_all_property_names(
            KeyCollectionMode::OwnOnly,
            KeyFilter::Enumerable,
            KeyConversion::NumbersToStrings,
        )?;
        let names = (0..names.get_array_length()?).map(|index| names.get_element::<Self>(index));
        // Symbols name no options.
        names
            .filter(|name| !matches!(name, Ok(key) if key.type_of() == ValueType::Symbol))
            .collect()
    }

    /// Passes a string to `more` in increasingly large pieces until it returns `false`.
    pub fn read_pieces(&self, mut more: impl FnMut(&str) -> bool) -> Result<()> {
        /// Room for a character of four bytes that did not fit.
        const SLACK: usize = 4;
        let (env, value) = (self.value().env, self.raw());
        let mut buffer = vec![0; 2048];
        let mut done = 0;
        loop {
            let (start, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            let mut copied = 0;
            // SAFETY: environment and handle belong to the running call; the length is the buffer's.
            check_status!(unsafe {
                sys::napi_get_value_string_utf8(env, value, start, room, &mut copied)
            })?;
            // Node-API ends the string with NUL.
            let complete = copied + 1 + SLACK <= buffer.len();
            // The end of an incomplete copy may be half a character: read it again.
            let usable = if complete { copied } else { copied.saturating_sub(2 * SLACK) };
            let mut chunks = buffer[done..usable.max(done)].utf8_chunks();
            let text = chunks.next().map_or("", |chunk| chunk.valid());
            done += text.len();
            if !more(text) || complete {
                return Ok(());
            }
            buffer = vec![0; buffer.len() * 4];
        }
    }

    pub fn floats(&self) -> Option<Float32Array> {
        self.read().ok()
    }

    pub fn type_of(&self) -> ValueType {
        self.to_unknown().get_type().unwrap_or(ValueType::Unknown)
    }

    pub fn is_object(&self) -> bool {
        self.type_of() == ValueType::Object
    }

    /// Returns whether this is an array or a proxy of one, unlike Node-API, which excludes proxies.
    fn is_array(&self) -> Result<bool> {
        let array: Object = self.env().get_global()?.get_named_property_unchecked("Array")?;
        let is_array: Function<Unknown, bool> = array.get_named_property("isArray")?;
        is_array.call(self.to_unknown())
    }

    /// Returns the length of an array-like, if it is a number.
    pub fn length(&self) -> Result<Option<u32>> {
        let length: Self = self.get_named_property_unchecked("length")?;
        // Saturates, and converts NaN to 0, like ToLength of JavaScript.
        Ok(length.number().map(|length| length as u32))
    }

    pub fn boolean(&self) -> Option<bool> {
        self.read().ok()
    }

    pub fn number(&self) -> Option<f64> {
        self.read().ok()
    }

    /// Returns the value if it is a string, in which U+FFFD replaces each lone surrogate.
    pub fn string(&self) -> Option<String> {
        // One call for a short string, unlike napi's own conversion, which asks for the length first.
        let mut whole = String::new();
        let read = self.read_pieces(|piece| {
            whole.push_str(piece);
            true
        });
        read.ok().map(|()| whole)
    }

    /// Returns `Some(None)` for `null`, else `found`.
    pub fn or_null<T>(&self, found: Option<T>) -> Option<Option<T>> {
        if self.type_of() == ValueType::Null { Some(None) } else { found.map(Some) }
    }

    /// Returns the value as an error message shows it: `42`, `"abc"`, `an array`, and `"postgres://…"` for what may
    /// contain a password.
    pub fn describe(&self) -> String {
        match self.type_of() {
            ValueType::String => {
                let mut start = String::new();
                let read = self.read_pieces(|piece| {
                    start.push_str(piece);
                    false
                });
                let ends = ["://", "password="].map(|mark| Some(start.find(mark)? + mark.len()));
                if let Some(end) = ends.into_iter().flatten().min() {
                    start.truncate(end);
                    start.push('…');
                }
                read.map_or_else(|_| "a string".into(), |()| quote(&start))
            }
            ValueType::Symbol => "a symbol".into(),
            ValueType::Function => "a function".into(),
            ValueType::Object => match self.is_array() {
                Ok(true) => "an array".into(),
                _ => "an object".into(),
            },
            ValueType::BigInt => quote(&self.coerced()).replace('"', "") + "n",
            _ => self.coerced(),
        }
    }

    /// Converts a primitive value to a string.
    fn coerced(&self) -> String {
        let text = self.coerce_to_string().and_then(|text| text.into_utf8()?.into_owned());
        text.unwrap_or_else(|_| "a value that cannot be shown".into())
    }
}

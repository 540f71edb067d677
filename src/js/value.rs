//! A JavaScript value.

use std::{marker::PhantomData, ptr};

use knowledgepulse_scoring::{Error, trace::quote};
use napi::{
    ValueType,
    bindgen_prelude::{Float32Array, FromNapiValue},
    sys, type_of,
};

/// Why a value could not be read.
pub enum ReadError {
    /// It does not have the expected type or value.
    Invalid(Error),
    /// A getter or a proxy has thrown this. The handle belongs to the running call.
    Thrown(sys::napi_value),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

pub type Read<T> = Result<T, ReadError>;

/// A handle to a value, valid during the call in which it was made.
#[derive(Clone, Copy)]
pub struct Value<'env> {
    env: sys::napi_env,
    raw: sys::napi_value,
    scope: PhantomData<&'env ()>,
}

impl FromNapiValue for Value<'_> {
    unsafe fn from_napi_value(env: sys::napi_env, raw: sys::napi_value) -> napi::Result<Self> {
        Ok(Self { env, raw, scope: PhantomData })
    }
}

impl<'env> Value<'env> {
    /// Returns a property, by a key from [`Value::keys`].
    pub fn get(&self, key: &Self) -> Read<Self> {
        // SAFETY: environment and handles belong to the running call.
        self.value(|raw| unsafe { sys::napi_get_property(self.env, self.raw, key.raw, raw) })
    }

    /// Returns the names of the object's own enumerable properties as JavaScript strings, because Rust
    /// strings would lose lone surrogates and NUL.
    pub fn keys(&self) -> Read<Vec<Self>> {
        let mode = sys::KeyCollectionMode::own_only;
        let filter = sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols;
        let names = sys::KeyConversion::numbers_to_strings;
        // SAFETY: environment and handle belong to the running call.
        let names = self.value(|raw| unsafe {
            sys::napi_get_all_property_names(self.env, self.raw, mode, filter, names, raw)
        })?;
        (0..names.length()?.unwrap_or(0)).map(|index| names.element(index)).collect()
    }

    /// Returns the value that a Node-API function writes.
    fn value(&self, read: impl FnOnce(*mut sys::napi_value) -> sys::napi_status) -> Read<Self> {
        let raw = self.read(ptr::null_mut(), read)?;
        Ok(Self { raw, ..*self })
    }

    /// Returns what a Node-API function writes over `default`.
    fn read<T>(&self, default: T, read: impl FnOnce(*mut T) -> sys::napi_status) -> Read<T> {
        let mut found = default;
        let status = read(&mut found);
        if status == sys::Status::napi_ok {
            return Ok(found);
        }
        let (mut thrown, mut pending) = (ptr::null_mut(), false);
        // SAFETY: the environment belongs to the running call; the handles are made here.
        unsafe {
            sys::napi_is_exception_pending(self.env, &mut pending);
            if pending {
                sys::napi_get_and_clear_last_exception(self.env, &mut thrown);
                return Err(ReadError::Thrown(thrown));
            }
        }
        let message = format!("a value could not be read (Node-API status {status})");
        Err(Error::internal(message).into())
    }

    /// Passes a string to `more` in increasingly large pieces until it returns `false`.
    pub fn read_pieces(&self, mut more: impl FnMut(&str) -> bool) -> Read<()> {
        /// Room for a character of four bytes that did not fit.
        const SLACK: usize = 4;
        let mut buffer = vec![0; 2048];
        let mut done = 0;
        loop {
            let (start, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            // SAFETY: environment and handle belong to the running call; the length is the buffer's.
            let copied = self.read(0, |copied| unsafe {
                sys::napi_get_value_string_utf8(self.env, self.raw, start, room, copied)
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

    pub fn units(&self) -> Read<Vec<u16>> {
        let copy = |start, room| {
            // SAFETY: environment and handle belong to the running call; `start` is null, or valid for
            // `room` units.
            self.read(0, |copied| unsafe {
                sys::napi_get_value_string_utf16(self.env, self.raw, start, room, copied)
            })
        };
        let length = copy(ptr::null_mut(), 0)?;
        // Node-API ends the string with NUL.
        let mut units = vec![0; length + 1];
        let copied = copy(units.as_mut_ptr(), units.len())?;
        units.truncate(copied);
        Ok(units)
    }

    pub fn floats(&self) -> Option<Float32Array> {
        // SAFETY: environment and handle belong to the running call.
        unsafe { Float32Array::from_napi_value(self.env, self.raw) }.ok()
    }

    fn coerced(&self) -> Read<String> {
        // SAFETY: environment and handle belong to the running call.
        let text =
            self.value(|raw| unsafe { sys::napi_coerce_to_string(self.env, self.raw, raw) })?;
        Ok(text.string().unwrap_or_default())
    }

    pub fn type_of(&self) -> ValueType {
        type_of!(self.env, self.raw).unwrap_or(ValueType::Unknown)
    }

    pub fn is_object(&self) -> bool {
        self.type_of() == ValueType::Object
    }

    /// Returns whether this is an array or a proxy of one, unlike Node-API, which excludes proxies.
    pub fn is_array(&self) -> Read<bool> {
        // SAFETY: environment and handle belong to the running call.
        let global = self.value(|raw| unsafe { sys::napi_get_global(self.env, raw) })?;
        let constructor = global.property("Array")?;
        let is_array = constructor.property("isArray")?;
        let (this, function) = (constructor.raw, is_array.raw);
        // SAFETY: as above; one argument, as announced.
        let answer = self.value(|raw| unsafe {
            sys::napi_call_function(self.env, this, function, 1, &self.raw, raw)
        })?;
        Ok(answer.boolean() == Some(true))
    }

    pub fn property(&self, name: &'static str) -> Read<Self> {
        let (start, length) = (name.as_ptr().cast(), name.len() as isize);
        // SAFETY: the environment belongs to the running call; `name` is valid for `length` bytes.
        let key =
            self.value(|raw| unsafe { sys::napi_create_string_utf8(self.env, start, length, raw) });
        self.get(&key?)
    }

    /// Returns the length of an array-like, if it is a number.
    pub fn length(&self) -> Read<Option<u32>> {
        // Saturates, and converts NaN to 0, like ToLength of JavaScript.
        Ok(self.property("length")?.number().map(|length| length as u32))
    }

    pub fn element(&self, index: u32) -> Read<Self> {
        // SAFETY: environment and handle belong to the running call.
        self.value(|raw| unsafe { sys::napi_get_element(self.env, self.raw, index, raw) })
    }

    pub fn boolean(&self) -> Option<bool> {
        // SAFETY: environment and handle belong to the running call.
        self.read(false, |value| unsafe { sys::napi_get_value_bool(self.env, self.raw, value) })
            .ok()
    }

    pub fn number(&self) -> Option<f64> {
        // SAFETY: environment and handle belong to the running call.
        self.read(0.0, |value| unsafe { sys::napi_get_value_double(self.env, self.raw, value) })
            .ok()
    }

    /// Returns the value if it is a string, in which U+FFFD replaces each lone surrogate.
    pub fn string(&self) -> Option<String> {
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

    /// Returns the value as an error message shows it: `42`, `"abc"`, `an array`.
    pub fn describe(&self) -> String {
        match self.type_of() {
            ValueType::String => {
                let mut start = String::new();
                let read = self.read_pieces(|piece| {
                    start.push_str(piece);
                    false
                });
                read.map_or_else(|_| "a string".into(), |()| quote(&start))
            }
            ValueType::Symbol => "a symbol".into(),
            ValueType::Function => "a function".into(),
            ValueType::Object => match self.is_array() {
                Ok(true) => "an array".into(),
                _ => "an object".into(),
            },
            ValueType::BigInt => self
                .coerced()
                .map_or_else(|_| "a bigint".into(), |digits| quote(&digits).replace('"', "") + "n"),
            _ => self.coerced().unwrap_or_else(|_| "a value that cannot be shown".into()),
        }
    }
}

//! A JavaScript value.

use std::{ffi::CString, marker::PhantomData, ptr, slice};

use knowledgepulse_scoring::{Error, trace::quote};
use napi::{Env, JsValue, bindgen_prelude::Unknown, sys};

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

/// Result with [`ReadError`].
pub type Read<T> = Result<T, ReadError>;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    Object,
    /// A function, a symbol or a bigint.
    Other,
}

/// A handle to a value, valid during the call in which it was made.
///
/// Methods for a type may be called for other values, too: they fail, or return what Node-API does.
#[derive(Clone, Copy)]
pub struct Value<'env> {
    env: sys::napi_env,
    raw: sys::napi_value,
    scope: PhantomData<&'env ()>,
}

impl<'env> Value<'env> {
    pub fn new(env: &'env Env, value: Unknown<'env>) -> Self {
        Self { env: env.raw(), raw: value.raw(), scope: PhantomData }
    }

    /// Returns a key, which finds a property faster than its name does.
    pub fn key(&self, name: &'static str) -> Read<Self> {
        let (start, length) = (name.as_ptr().cast(), name.len() as isize);
        // SAFETY: the environment belongs to the running call; the name has as many bytes.
        self.value(|raw| unsafe { sys::napi_create_string_utf8(self.env, start, length, raw) })
    }

    /// Returns the value of a property, by a key from [`Value::key`] or [`Value::keys`].
    pub fn get(&self, key: &Self) -> Read<Self> {
        // SAFETY: environment and handles belong to the running call.
        self.value(|raw| unsafe { sys::napi_get_property(self.env, self.raw, key.raw, raw) })
    }

    /// Returns the names of the object's own enumerable properties, as strings of JavaScript: Rust would
    /// lose a lone surrogate or a NUL.
    pub fn keys(&self) -> Read<Vec<Self>> {
        let mode = sys::KeyCollectionMode::own_only;
        let filter = sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols;
        let names = sys::KeyConversion::numbers_to_strings;
        // SAFETY: environment and handle belong to the running call.
        let names = self.value(|raw| unsafe {
            sys::napi_get_all_property_names(self.env, self.raw, mode, filter, names, raw)
        })?;
        (0..names.length()?).map(|index| names.element(index)).collect()
    }

    /// Returns the value that a function of Node-API writes.
    fn value(&self, read: impl FnOnce(*mut sys::napi_value) -> sys::napi_status) -> Read<Self> {
        let raw = self.read(ptr::null_mut(), read)?;
        Ok(Self { raw, ..*self })
    }

    /// Returns what a function of Node-API writes over `default`.
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

    fn raw_type(&self) -> sys::napi_valuetype {
        // SAFETY: environment and handle belong to the running call.
        let kind = self.read(0, |kind| unsafe { sys::napi_typeof(self.env, self.raw, kind) });
        kind.unwrap_or(sys::ValueType::napi_undefined)
    }

    /// Copies the beginning of a string, as UTF-8. Returns how many bytes were written, at most
    /// `buffer.len() - 1`, because Node-API ends the string with NUL.
    fn copy_prefix(&self, buffer: &mut [u8]) -> Read<usize> {
        let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: environment and handle belong to the running call; the length is the buffer's.
        self.read(0, |copied| unsafe {
            sys::napi_get_value_string_utf8(self.env, self.raw, start, length, copied)
        })
    }

    /// Passes a string to `more` in ever larger pieces, until that returns `false`.
    pub fn read_pieces(&self, mut more: impl FnMut(&str) -> bool) -> Read<()> {
        /// A character of up to four bytes may not have fitted in.
        const SLACK: usize = 4;
        let mut stack = [0; 2048];
        let mut heap = Vec::new();
        let mut done = 0;
        loop {
            let buffer = if heap.is_empty() { &mut stack[..] } else { &mut heap[..] };
            let copied = self.copy_prefix(buffer)?;
            let complete = copied + 1 + SLACK <= buffer.len();
            // The last characters of an incomplete copy may be halves: read them again.
            let usable = if complete { copied } else { copied.saturating_sub(2 * SLACK) };
            let text = valid(&buffer[done..usable.max(done)]);
            done += text.len();
            if !more(text) || complete {
                return Ok(());
            }
            heap = vec![0; buffer.len() * 4];
        }
    }

    /// Returns the code units of a string.
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

    /// Calls `read` with the bytes of a `Uint8Array`; returns `None` for another value.
    pub fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Read<Option<R>> {
        // SAFETY: environment and handle belong to the running call.
        let is_array =
            self.read(false, |is| unsafe { sys::napi_is_typedarray(self.env, self.raw, is) })?;
        if !is_array {
            return Ok(None);
        }
        let (mut kind, mut start) = (0, ptr::null_mut());
        // SAFETY: as above; Node-API accepts null for what is not asked.
        let length = self.read(0, |length| unsafe {
            let (buffer, offset) = (ptr::null_mut(), ptr::null_mut());
            sys::napi_get_typedarray_info(
                self.env, self.raw, &mut kind, length, &mut start, buffer, offset,
            )
        })?;
        if kind != sys::TypedarrayType::uint8_array {
            return Ok(None);
        }
        if length == 0 {
            return Ok(Some(read(&[])));
        }
        // SAFETY: the array has `length` bytes from `start`, which are valid and not written until
        // JavaScript runs again.
        Ok(Some(read(unsafe { slice::from_raw_parts(start.cast(), length) })))
    }

    fn coerced(&self) -> Read<String> {
        // SAFETY: environment and handle belong to the running call.
        self.value(|raw| unsafe { sys::napi_coerce_to_string(self.env, self.raw, raw) })?.string()
    }
}

/// The valid part of UTF-8 that may end within a character.
fn valid(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The error says up to where the bytes are valid.
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

impl Value<'_> {
    /// Returns the type.
    pub fn type_of(&self) -> Type {
        match self.raw_type() {
            sys::ValueType::napi_undefined => Type::Undefined,
            sys::ValueType::napi_null => Type::Null,
            sys::ValueType::napi_boolean => Type::Boolean,
            sys::ValueType::napi_number => Type::Number,
            sys::ValueType::napi_string => Type::String,
            sys::ValueType::napi_object | sys::ValueType::napi_external => Type::Object,
            _ => Type::Other,
        }
    }

    /// Returns whether this is an array, or a proxy of one.
    pub fn is_array(&self) -> Read<bool> {
        // SAFETY: environment and handle belong to the running call.
        if self.read(false, |array| unsafe { sys::napi_is_array(self.env, self.raw, array) })? {
            return Ok(true);
        }
        // A proxy of an array is an array for `Array.isArray`, but not for Node-API.
        // SAFETY: as above.
        let global = self.value(|raw| unsafe { sys::napi_get_global(self.env, raw) })?;
        let constructor = global.property("Array")?;
        let is_array = constructor.property("isArray")?;
        let (this, function) = (constructor.raw, is_array.raw);
        // SAFETY: as above; one argument, as announced.
        let answer = self.value(|raw| unsafe {
            sys::napi_call_function(self.env, this, function, 1, &self.raw, raw)
        })?;
        Ok(answer.type_of() == Type::Boolean && answer.boolean()?)
    }

    /// Returns the value of a property.
    pub fn property(&self, name: &'static str) -> Read<Self> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: environment and handle belong to the running call; the name ends with NUL.
        self.value(|raw| unsafe {
            sys::napi_get_named_property(self.env, self.raw, name.as_ptr(), raw)
        })
    }

    /// Returns the length of an array-like, 0 if it is not a number.
    pub fn length(&self) -> Read<u32> {
        let length = self.property("length")?;
        let length = if length.type_of() == Type::Number { length.number()? } else { 0.0 };
        // Saturates, and takes NaN for 0, as JavaScript's own ToLength does.
        Ok(length as u32)
    }

    /// Returns an element of an array-like.
    pub fn element(&self, index: u32) -> Read<Self> {
        // SAFETY: environment and handle belong to the running call.
        self.value(|raw| unsafe { sys::napi_get_element(self.env, self.raw, index, raw) })
    }

    /// Returns a boolean.
    pub fn boolean(&self) -> Read<bool> {
        // SAFETY: environment and handle belong to the running call.
        self.read(false, |value| unsafe { sys::napi_get_value_bool(self.env, self.raw, value) })
    }

    /// Returns a number.
    pub fn number(&self) -> Read<f64> {
        // SAFETY: environment and handle belong to the running call.
        self.read(0.0, |value| unsafe { sys::napi_get_value_double(self.env, self.raw, value) })
    }

    /// Returns a string, in which U+FFFD replaces each lone surrogate.
    pub fn string(&self) -> Read<String> {
        let mut whole = String::new();
        self.read_pieces(|piece| {
            whole.push_str(piece);
            true
        })?;
        Ok(whole)
    }

    /// Returns the value as an error message shows it: `42`, `"abc"`, `an array`.
    pub fn describe(&self) -> String {
        match self.raw_type() {
            sys::ValueType::napi_string => {
                let mut start = String::new();
                let read = self.read_pieces(|piece| {
                    start.push_str(piece);
                    false
                });
                read.map_or_else(|_| "a string".into(), |()| quote(&start))
            }
            sys::ValueType::napi_symbol => "a symbol".into(),
            sys::ValueType::napi_function => "a function".into(),
            sys::ValueType::napi_object => match self.is_array() {
                Ok(true) => "an array".into(),
                _ => "an object".into(),
            },
            sys::ValueType::napi_bigint => self
                .coerced()
                .map_or_else(|_| "a bigint".into(), |digits| quote(&digits).replace('"', "") + "n"),
            _ => self.coerced().unwrap_or_else(|_| "a value that cannot be shown".into()),
        }
    }
}

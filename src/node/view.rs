//! A JavaScript value as the trace reader looks at it.

use std::{ffi::CString, marker::PhantomData, ptr};

use napi::{Env, JsValue, bindgen_prelude::Unknown, sys};

use crate::{
    embedder::Text,
    error::Error,
    trace::{ReadError, Type, View, quote, shorten},
};

/// What the value threw when it was read.
pub struct Thrown(pub sys::napi_value);

impl Thrown {
    /// Throws it out of the running function.
    pub fn rethrow<T>(self, env: &Env) -> napi::Result<T> {
        // SAFETY: the handle is of the running call, as everything that a `JsView` gives.
        unsafe { sys::napi_throw(env.raw(), self.0) };
        Err(napi::Error::from_status(napi::Status::PendingException))
    }
}

type Result<T> = std::result::Result<T, Thrown>;

/// What was read, or why not: a fault of the value's, or one of its shape.
pub type Read<T> = std::result::Result<T, ReadError<Thrown>>;

impl From<Error> for ReadError<Thrown> {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

/// A handle to a value, alive as long as the call that it was made in.
#[derive(Clone, Copy)]
pub struct JsView<'env> {
    env: sys::napi_env,
    raw: sys::napi_value,
    scope: PhantomData<&'env ()>,
}

impl<'env> JsView<'env> {
    pub fn new(env: &'env Env, value: Unknown<'env>) -> Self {
        Self { env: env.raw(), raw: value.raw(), scope: PhantomData }
    }

    /// The value of the property that a key of [`JsView::keys`] stands for.
    pub fn get(&self, key: &Self) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: environment and handles belong to the running call.
        let status = unsafe { sys::napi_get_property(self.env, self.raw, key.raw, &mut raw) };
        self.check(status)?;
        Ok(self.with(raw))
    }

    /// The names of the object's own enumerable properties. They are strings as JavaScript has them:
    /// a lone surrogate or a NUL in one would not survive the way through Rust and back.
    pub fn keys(&self) -> Result<Vec<Self>> {
        let mut raw = ptr::null_mut();
        // SAFETY: environment and handle belong to the running call.
        let status = unsafe {
            sys::napi_get_all_property_names(
                self.env,
                self.raw,
                sys::KeyCollectionMode::own_only,
                sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols,
                sys::KeyConversion::numbers_to_strings,
                &mut raw,
            )
        };
        self.check(status)?;
        let names = self.with(raw);
        (0..names.length()?).map(|index| names.element(index)).collect()
    }

    fn with(&self, raw: sys::napi_value) -> Self {
        Self { raw, ..*self }
    }

    fn raw_type(&self) -> sys::napi_valuetype {
        let mut kind = sys::ValueType::napi_undefined;
        // SAFETY: environment and handle belong to the running call; nothing can throw here.
        unsafe { sys::napi_typeof(self.env, self.raw, &mut kind) };
        kind
    }

    fn check(&self, status: sys::napi_status) -> Result<()> {
        if status == sys::Status::napi_ok {
            return Ok(());
        }
        let mut thrown = ptr::null_mut();
        // SAFETY: the environment belongs to the running call; the handles are made here.
        unsafe {
            let mut pending = false;
            sys::napi_is_exception_pending(self.env, &mut pending);
            if pending {
                sys::napi_get_and_clear_last_exception(self.env, &mut thrown);
            } else {
                let mut message = ptr::null_mut();
                let text = format!("a value could not be read (Node-API status {status})");
                let (start, length) = (text.as_ptr().cast(), text.len() as isize);
                sys::napi_create_string_utf8(self.env, start, length, &mut message);
                sys::napi_create_error(self.env, ptr::null_mut(), message, &mut thrown);
            }
        }
        Err(Thrown(thrown))
    }

    /// Copies the beginning of a string, as UTF-8; returns the bytes written, a `buffer` less one
    /// at most, because Node-API ends the string with NUL.
    fn copy_prefix(&self, buffer: &mut [u8]) -> Result<usize> {
        let mut copied = 0;
        // SAFETY: environment and handle belong to the running call; the length is the buffer's.
        let status = unsafe {
            let start = buffer.as_mut_ptr().cast();
            sys::napi_get_value_string_utf8(self.env, self.raw, start, buffer.len(), &mut copied)
        };
        self.check(status)?;
        Ok(copied)
    }

    /// Reads a string from its beginning in ever larger pieces, until `more` wants no more.
    fn read_pieces(&self, mut more: impl FnMut(&str) -> bool) -> Result<()> {
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

    fn coerced(&self) -> Result<String> {
        let mut raw = ptr::null_mut();
        // SAFETY: environment and handle belong to the running call.
        let status = unsafe { sys::napi_coerce_to_string(self.env, self.raw, &mut raw) };
        self.check(status)?;
        self.with(raw).string()
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

impl View for JsView<'_> {
    type Fault = Thrown;

    fn type_of(&self) -> Type {
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

    fn is_array(&self) -> Result<bool> {
        let mut array = false;
        // SAFETY: environment and handle belong to the running call.
        self.check(unsafe { sys::napi_is_array(self.env, self.raw, &mut array) })?;
        if array {
            return Ok(true);
        }
        // A proxy of an array is an array for `Array.isArray`, but not for Node-API.
        let mut global = ptr::null_mut();
        // SAFETY: as above.
        self.check(unsafe { sys::napi_get_global(self.env, &mut global) })?;
        let constructor = self.with(global).property("Array")?;
        let is_array = constructor.property("isArray")?;
        let mut answer = ptr::null_mut();
        // SAFETY: as above; one argument, as announced.
        let status = unsafe {
            let (this, function) = (constructor.raw, is_array.raw);
            sys::napi_call_function(self.env, this, function, 1, &self.raw, &mut answer)
        };
        self.check(status)?;
        let answer = self.with(answer);
        Ok(answer.type_of() == Type::Boolean && answer.boolean()?)
    }

    fn property(&self, name: &'static str) -> Result<Self> {
        let name = CString::new(name).unwrap_or_default();
        let mut raw = ptr::null_mut();
        // SAFETY: environment and handle belong to the running call; the name ends with NUL.
        let status =
            unsafe { sys::napi_get_named_property(self.env, self.raw, name.as_ptr(), &mut raw) };
        self.check(status)?;
        Ok(self.with(raw))
    }

    fn length(&self) -> Result<u32> {
        let length = self.property("length")?;
        let length = if length.type_of() == Type::Number { length.number()? } else { 0.0 };
        // Saturates, and takes NaN for 0, as JavaScript's own ToLength does.
        Ok(length as u32)
    }

    fn element(&self, index: u32) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: environment and handle belong to the running call.
        let status = unsafe { sys::napi_get_element(self.env, self.raw, index, &mut raw) };
        self.check(status)?;
        Ok(self.with(raw))
    }

    fn boolean(&self) -> Result<bool> {
        let mut value = false;
        // SAFETY: environment and handle belong to the running call.
        self.check(unsafe { sys::napi_get_value_bool(self.env, self.raw, &mut value) })?;
        Ok(value)
    }

    fn number(&self) -> Result<f64> {
        let mut value = 0.0;
        // SAFETY: environment and handle belong to the running call.
        self.check(unsafe { sys::napi_get_value_double(self.env, self.raw, &mut value) })?;
        Ok(value)
    }

    fn string(&self) -> Result<String> {
        let mut whole = String::new();
        self.read_pieces(|piece| {
            whole.push_str(piece);
            true
        })?;
        Ok(whole)
    }

    fn append_to(&self, text: &mut Text) -> Result<()> {
        if text.is_full() {
            return Ok(());
        }
        self.read_pieces(|piece| {
            text.push(piece);
            !text.is_full()
        })
    }

    fn describe(&self) -> String {
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
            sys::ValueType::napi_bigint => {
                self.coerced().map_or_else(|_| "a bigint".into(), |digits| shorten(&digits) + "n")
            }
            _ => self.coerced().unwrap_or_else(|_| "a value that cannot be shown".into()),
        }
    }
}

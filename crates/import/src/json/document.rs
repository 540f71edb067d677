//! A JSON text with an index of its values.

use std::{borrow::Cow, fmt, sync::LazyLock};

use elsa::FrozenMap;
use knowledgepulse_workers::CancelToken;
use regex::{Captures, Regex};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, error::Category};

use super::value::{Array, Kind, Value};
use crate::results::regex;

/// The bits of a word for its tag; the others are a number or an offset.
const TAG_BITS: u32 = 4;

/// The longest text of a document, in bytes. Offsets have 28 bits.
pub const MAX_TEXT: usize = 1 << (32 - TAG_BITS);

/// How many words are written between two checks of the token.
const WORDS_PER_CHECK: usize = 1 << 12;

/// A JSON text with an index of its values.
///
/// Each value takes 4 to 12 bytes in the index: a word with its tag, and one or two more. Strings stay in the
/// text; those with escapes are also stored without them. So a document takes less than five times its text.
#[derive(Default)]
pub struct Document<'t> {
    text: Cow<'t, str>,
    /// The strings with escapes, without them.
    unescaped: String,
    tape: Vec<u32>,
    /// The documents in strings, by their places; `None` for strings that are not JSON.
    decoded: FrozenMap<u32, Box<Option<Document<'static>>>>,
}

/// Why a text could not be read.
#[derive(Debug)]
pub enum Unread {
    /// It is not JSON.
    Syntax(SyntaxError),
    /// It is longer than 256 MiB, or there is no memory for it.
    TooLarge,
    /// The token was cancelled.
    Cancelled,
}

/// A place in a text at which it is not JSON.
#[derive(Debug)]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1; 0 for the end of the line before.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
    /// Whether the text is the beginning of objects and arrays, and ends too soon.
    pub is_cut: bool,
}

impl SyntaxError {
    /// Returns the error of a value that begins at a place of a text.
    fn new(text: &str, begin: usize, error: &serde_json::Error) -> Self {
        // `serde_json` ends its messages with the place in the text that it was given.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        let (before, line) = (&text.as_bytes()[..begin], error.line().max(1));
        let in_line = match line {
            1 => begin - memchr::memrchr(b'\n', before).map_or(0, |end| end + 1),
            _ => 0,
        };
        Self {
            line: (line + memchr::memchr_iter(b'\n', before).count()) as u64,
            column: error.column() + in_line,
            message,
            is_cut: error.is_eof() && text.starts_with(['{', '[']),
        }
    }
}

mod tag {
    pub const NULL: u32 = 0;
    pub const FALSE: u32 = 1;
    pub const TRUE: u32 = 2;
    /// A whole number of 28 bits.
    pub const SMALL: u32 = 3;
    /// Numbers with 64 bits in two more words.
    pub const UNSIGNED: u32 = 4;
    pub const SIGNED: u32 = 5;
    pub const FLOAT: u32 = 6;
    /// Strings, with their length in one more word.
    pub const TEXT: u32 = 7;
    pub const UNESCAPED: u32 = 8;
    /// With the place after them in one more word.
    pub const ARRAY: u32 = 9;
    pub const OBJECT: u32 = 10;
}

impl<'t> Document<'t> {
    /// Reads a text that is one value.
    ///
    /// # Errors
    ///
    /// The text is not one value.
    pub fn parse(text: impl Into<Cow<'t, str>>) -> Result<Self, Unread> {
        let (document, error) = Self::read(text.into(), false, &CancelToken::default());
        error.map_or(Ok(document), Err)
    }

    /// Reads JSON that was written here: `null` if it nests too deep.
    pub fn written(text: impl Into<Cow<'t, str>>) -> Self {
        Self::parse(text).unwrap_or_else(|_| Self { tape: vec![tag::NULL], ..Self::default() })
    }

    /// Reads a text until the token is cancelled: one value, or with `all` a value and objects and arrays after
    /// it. Returns the values before the first error as well.
    pub fn read(text: Cow<'t, str>, all: bool, cancel: &CancelToken) -> (Self, Option<Unread>) {
        let mut document = Self { text, ..Self::default() };
        let mut error = document.read_values(all, cancel);
        if matches!(error, Some(Unread::Syntax(_)))
            && let Some(mended) = with_lone_surrogates_replaced(&document.text)
        {
            document.text = Cow::Owned(mended);
            error = document.read_values(all, cancel);
        }
        document.tape.shrink_to_fit();
        document.unescaped.shrink_to_fit();
        (document, error)
    }

    fn read_values(&mut self, all: bool, cancel: &CancelToken) -> Option<Unread> {
        let Self { text, unescaped, tape, .. } = self;
        unescaped.clear();
        tape.clear();
        if text.len() > MAX_TEXT {
            return Some(Unread::TooLarge);
        }
        let mut at = 0;
        loop {
            // A deserializer for each value: that of the whole text would look for the place of what follows the value
            // from the beginning of the text.
            let mut source = serde_json::Deserializer::from_str(&text[at..]);
            let begin = tape.len();
            let mut writer = Writer { text, unescaped, tape, cancel };
            if let Err(error) = writer.deserialize(&mut source) {
                tape.truncate(begin);
                return Some(match error.classify() {
                    // Only the writer has errors of this kind.
                    Category::Data if cancel.is_cancelled() => Unread::Cancelled,
                    Category::Data => Unread::TooLarge,
                    _ => Unread::Syntax(SyntaxError::new(text, at, &error)),
                });
            }
            at += source.into_iter::<IgnoredAny>().byte_offset();
            at += text[at..].bytes().take_while(|byte| b" \t\r\n".contains(byte)).count();
            let next = text.as_bytes().get(at)?;
            if !all || !matches!(next, b'{' | b'[') {
                let error = serde_json::Error::custom("trailing characters");
                return Some(Unread::Syntax(SyntaxError::new(text, at + 1, &error)));
            }
        }
    }

    /// Returns the first value, which a document of [`Document::parse`] always has.
    pub fn root(&self) -> Value<'_> {
        Value::new(self, 0)
    }

    /// Returns the top-level values.
    pub fn roots(&self) -> Array<'_> {
        Array::new(self, 0, self.tape.len() as u32)
    }

    pub(super) fn kind(&self, at: u32) -> Kind<'_> {
        let word = |offset: u32| self.tape[(at + offset) as usize];
        let payload = word(0) >> TAG_BITS;
        let wide = || u64::from(word(1)) | u64::from(word(2)) << 32;
        match word(0) & 0xf {
            tag::FALSE => Kind::Bool(false),
            tag::TRUE => Kind::Bool(true),
            tag::SMALL => Kind::Number(payload.into()),
            tag::UNSIGNED => Kind::Number(wide().into()),
            tag::SIGNED => Kind::Number(wide().cast_signed().into()),
            tag::FLOAT => Number::from_f64(f64::from_bits(wide())).map_or(Kind::Null, Kind::Number),
            tag::TEXT | tag::UNESCAPED => Kind::String(self.text_at(at).unwrap_or_default()),
            tag::ARRAY => Kind::Array(Array::new(self, at + 2, word(1))),
            tag::OBJECT => Kind::Object(Value::new(self, at)),
            _ => Kind::Null,
        }
    }

    /// Returns whether the value at a place is an object, checked before members are read.
    pub(super) fn is_object(&self, at: u32) -> bool {
        self.tape[at as usize] & 0xf == tag::OBJECT
    }

    /// Returns the string at a place; `None` if there is another value.
    pub(super) fn text_at(&self, at: u32) -> Option<&str> {
        let word = self.tape[at as usize];
        let text = match word & 0xf {
            tag::TEXT => &*self.text,
            tag::UNESCAPED => &self.unescaped,
            _ => return None,
        };
        let begin = (word >> TAG_BITS) as usize;
        text.get(begin..begin + self.tape[at as usize + 1] as usize)
    }

    pub(super) fn has_text(&self, at: u32, text: &str) -> bool {
        // Most names differ in length.
        self.tape[at as usize + 1] as usize == text.len() && self.text_at(at) == Some(text)
    }

    pub(super) fn after(&self, at: u32) -> u32 {
        match self.tape[at as usize] & 0xf {
            tag::UNSIGNED | tag::SIGNED | tag::FLOAT => at + 3,
            tag::TEXT | tag::UNESCAPED => at + 2,
            tag::ARRAY | tag::OBJECT => self.tape[at as usize + 1],
            _ => at + 1,
        }
    }

    /// Returns the value of the JSON text in the string at a place.
    pub(super) fn decoded_at(&self, at: u32) -> Option<Value<'_>> {
        let text = self.text_at(at)?;
        let first = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if !first.starts_with(['{', '[', '"']) {
            return None;
        }
        let known = self.decoded.get(&at);
        let known = known.unwrap_or_else(|| {
            let document = Document::parse(text.to_owned()).ok();
            self.decoded.insert(at, Box::new(document))
        });
        known.as_ref().map(Document::root)
    }
}

/// Returns by how much a list grows to have space for more elements. Doubling, the default, would waste memory on a
/// large line.
fn growth(capacity: usize, length: usize, more: usize) -> usize {
    if capacity - length < more { more.max(length / 8).max(64) } else { 0 }
}

/// Reserves space for more elements. Returns whether there is memory for them.
pub fn grow<T>(list: &mut Vec<T>, more: usize) -> bool {
    list.try_reserve_exact(growth(list.capacity(), list.len(), more)).is_ok()
}

/// Writes the words of the value that `serde_json` reads.
struct Writer<'a> {
    text: &'a str,
    unescaped: &'a mut String,
    tape: &'a mut Vec<u32>,
    cancel: &'a CancelToken,
}

impl Writer<'_> {
    fn push<E: serde::de::Error>(&mut self, words: &[u32]) -> Result<(), E> {
        if !grow(self.tape, words.len()) {
            return Err(E::custom("no memory"));
        }
        let before = self.tape.len() / WORDS_PER_CHECK;
        self.tape.extend_from_slice(words);
        if self.tape.len() / WORDS_PER_CHECK > before && self.cancel.is_cancelled() {
            return Err(E::custom("cancelled"));
        }
        Ok(())
    }

    fn push_wide<E: serde::de::Error>(&mut self, tag: u32, bits: u64) -> Result<(), E> {
        self.push(&[tag, bits as u32, (bits >> 32) as u32])
    }

    /// Writes an array or object, whose values `write` adds.
    fn push_container<E: serde::de::Error>(
        &mut self,
        tag: u32,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let at = self.tape.len();
        self.push(&[tag, 0])?;
        write(self)?;
        // No value takes more than three words for two bytes, of at most `MAX_TEXT`.
        self.tape[at + 1] = self.tape.len() as u32;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Writer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.push(&[tag::NULL])
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.push(&[if value { tag::TRUE } else { tag::FALSE }])
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        match u32::try_from(value) {
            Ok(small) if value < MAX_TEXT as u64 => self.push(&[tag::SMALL | small << TAG_BITS]),
            _ => self.push_wide(tag::UNSIGNED, value),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.push_wide(tag::SIGNED, value.cast_unsigned())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.push_wide(tag::FLOAT, value.to_bits())
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<(), E> {
        // Part of the text, so the difference is not negative, and both numbers are below `MAX_TEXT`.
        let offset = value.as_ptr().addr() - self.text.as_ptr().addr();
        self.push(&[tag::TEXT | (offset as u32) << TAG_BITS, value.len() as u32])
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        let offset = self.unescaped.len();
        let growth = growth(self.unescaped.capacity(), offset, value.len());
        if self.unescaped.try_reserve_exact(growth).is_err() {
            return Err(E::custom("no memory"));
        }
        self.unescaped.push_str(value);
        self.push(&[tag::UNESCAPED | (offset as u32) << TAG_BITS, value.len() as u32])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.push_container(tag::ARRAY, |writer| {
            while list.next_element_seed(&mut *writer)?.is_some() {}
            Ok(())
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.push_container(tag::OBJECT, |writer| {
            while map.next_key_seed(&mut *writer)?.is_some() {
                map.next_value_seed(&mut *writer)?;
            }
            Ok(())
        })
    }
}

/// Replaces escapes of lone surrogates, which `serde_json` refuses, by `\ufffd`; `None` if there are none.
fn with_lone_surrogates_replaced(text: &str) -> Option<String> {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        let high = "[dD][89abAB][[:xdigit:]]{2}";
        let low = "[dD][c-fC-F][[:xdigit:]]{2}";
        regex(&format!(r"(?s)\\u{high}\\u{low}|(\\u(?:{high}|{low}))|\\."))
    });
    let mend = |escape: &Captures| match escape.get(1) {
        Some(_lone) => "\\ufffd".into(),
        None => escape[0].to_owned(),
    };
    let mended = ESCAPE.replace_all(text, mend);
    (mended != text).then(|| mended.into_owned())
}

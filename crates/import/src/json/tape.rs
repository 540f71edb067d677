//! The index of the values of a JSON text.

use std::borrow::Cow;

use elsa::sync::FrozenMap;
use serde_json::Number;

use super::text::{MAX_TEXT, grow, growth};

/// The bits of a word for its tag; the others are a number or an offset.
const TAG_BITS: u32 = 4;

const _: () = assert!(MAX_TEXT == 1 << (32 - TAG_BITS), "offsets take the other bits");

pub mod tag {
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
    /// With the place after them.
    pub const ARRAY: u32 = 9;
    pub const OBJECT: u32 = 10;
    /// An object of several members, which ends with a word that has the [`name_bit`](super::name_bit) of each name.
    pub const LARGE_OBJECT: u32 = 11;
    /// The same, of which no two names have the same bit, so none is there twice.
    pub const DISTINCT_OBJECT: u32 = 12;
}

/// A JSON text with an index of its values.
///
/// Each value takes 4 to 12 bytes in the index: a word with its tag, and one or two more. Strings stay in the
/// text; those with escapes, and those of copies, are stored beside it. So a tape takes
/// at most five times its text.
#[derive(Default)]
pub struct Tape<'t> {
    pub text: Cow<'t, str>,
    pub index: Index,
    /// The tapes of the texts in strings, by the places of these; `None` for strings that are not JSON.
    pub decoded: FrozenMap<u32, Box<Option<Tape<'static>>>>,
}

/// A value could not be added: there is no memory for it, or its strings are longer than 256 MiB.
#[derive(Debug, thiserror::Error)]
#[error("no space for a value")]
pub struct Full;

/// Returns the bit of a name among those of an object, by which most names that it has not are told without a search.
fn name_bit(name: &[u8]) -> u32 {
    let first = name.first().copied().map_or(0, usize::from);
    1 << ((5 * first + name.len()) % 32)
}

/// The words of a member's name, followed by its value.
pub const NAME_WORDS: u32 = 2;

/// The most members of an object whose names are all compared.
const FEW: u32 = 2;

/// An array or object to which values are added.
pub struct Open {
    at: usize,
    members: u32,
    name_bits: u32,
}

/// The words of values, and the strings that are not in a text.
#[derive(Debug, Default, PartialEq)]
pub struct Index {
    pub words: Vec<u32>,
    pub strings: String,
}

impl Index {
    pub fn push(&mut self, words: &[u32]) -> Result<(), Full> {
        if !grow(&mut self.words, words.len()) {
            return Err(Full);
        }
        self.words.extend_from_slice(words);
        Ok(())
    }

    fn push_wide(&mut self, tag: u32, bits: u64) -> Result<(), Full> {
        self.push(&[tag, bits as u32, (bits >> 32) as u32])
    }

    pub fn push_null(&mut self) -> Result<(), Full> {
        self.push(&[tag::NULL])
    }

    pub fn push_bool(&mut self, value: bool) -> Result<(), Full> {
        self.push(&[if value { tag::TRUE } else { tag::FALSE }])
    }

    pub fn push_unsigned(&mut self, value: u64) -> Result<(), Full> {
        match u32::try_from(value) {
            Ok(small) if value < MAX_TEXT as u64 => self.push(&[tag::SMALL | small << TAG_BITS]),
            _ => self.push_wide(tag::UNSIGNED, value),
        }
    }

    pub fn push_signed(&mut self, value: i64) -> Result<(), Full> {
        match u64::try_from(value) {
            Ok(value) => self.push_unsigned(value),
            Err(_) => self.push_wide(tag::SIGNED, value.cast_unsigned()),
        }
    }

    pub fn push_float(&mut self, value: f64) -> Result<(), Full> {
        self.push_wide(tag::FLOAT, value.to_bits())
    }

    /// Adds a string that is part of the text.
    pub fn push_text(&mut self, offset: usize, length: usize) -> Result<(), Full> {
        // Both are below `MAX_TEXT`.
        self.push(&[tag::TEXT | (offset as u32) << TAG_BITS, length as u32])
    }

    pub fn push_string(&mut self, value: &str) -> Result<(), Full> {
        let offset = self.strings.len();
        if offset + value.len() > MAX_TEXT {
            return Err(Full);
        }
        let growth = growth(self.strings.capacity(), offset, value.len());
        if growth > 0 {
            self.strings.try_reserve_exact(growth).map_err(|_| Full)?;
        }
        self.strings.push_str(value);
        self.push(&[tag::UNESCAPED | (offset as u32) << TAG_BITS, value.len() as u32])
    }

    /// Begins an array or object.
    pub fn begin(&mut self, tag: u32) -> Result<Open, Full> {
        let at = self.words.len();
        self.push(&[tag])?;
        Ok(Open { at, members: 0, name_bits: 0 })
    }

    /// Notes that the last string, which may be in the text, is the name of a member.
    pub fn note_name(&self, object: &mut Open, text: &str) {
        let name = self.bytes_at(text, self.words.len() as u32 - 2);
        object.members += 1;
        object.name_bits |= name_bit(name.unwrap_or_default());
    }

    /// Ends an array or object.
    pub fn end(&mut self, Open { at, members, name_bits }: Open) -> Result<(), Full> {
        if members > FEW {
            let is_distinct = name_bits.count_ones() == members;
            self.words[at] = if is_distinct { tag::DISTINCT_OBJECT } else { tag::LARGE_OBJECT };
            self.push(&[name_bits])?;
        }
        let end = self.words.len();
        if end >= MAX_TEXT {
            return Err(Full);
        }
        self.words[at] |= (end as u32) << TAG_BITS;
        Ok(())
    }

    #[inline]
    fn text_at<'a>(&'a self, text: &'a str, at: u32) -> Option<&'a str> {
        let word = self.words[at as usize];
        let text = match word & 0xf {
            tag::TEXT => text,
            tag::UNESCAPED => &self.strings,
            _ => return None,
        };
        let begin = (word >> TAG_BITS) as usize;
        text.get(begin..begin + self.words[at as usize + 1] as usize)
    }

    /// Like [`Self::text_at`], without looking at the bounds of characters.
    #[inline]
    fn bytes_at<'a>(&'a self, text: &'a str, at: u32) -> Option<&'a [u8]> {
        let [word, length, ..] = self.words[at as usize..] else { return None };
        let text = if word & 0xf == tag::TEXT { text } else { &self.strings };
        let begin = (word >> TAG_BITS) as usize;
        text.as_bytes().get(begin..begin + length as usize)
    }

    #[inline]
    fn after(&self, at: u32) -> u32 {
        let word = self.words[at as usize];
        match word & 0xf {
            tag::UNSIGNED | tag::SIGNED | tag::FLOAT => at + 3,
            tag::TEXT | tag::UNESCAPED => at + 2,
            tag::ARRAY.. => word >> TAG_BITS,
            _ => at + 1,
        }
    }

    pub fn shrink_to_fit(&mut self) {
        self.words.shrink_to_fit();
        self.strings.shrink_to_fit();
    }
}

impl Tape<'_> {
    /// Returns the tag of the value at a place.
    pub fn tag(&self, at: u32) -> u32 {
        self.index.words[at as usize] & 0xf
    }

    /// Returns the number at a place; `None` if there is another value.
    pub fn number_at(&self, at: u32) -> Option<Number> {
        let word = |offset| self.index.words[at as usize + offset];
        let wide = || u64::from(word(1)) | u64::from(word(2)) << 32;
        Some(match self.tag(at) {
            tag::SMALL => (word(0) >> TAG_BITS).into(),
            tag::UNSIGNED => wide().into(),
            tag::SIGNED => wide().cast_signed().into(),
            tag::FLOAT => return Number::from_f64(f64::from_bits(wide())),
            _ => return None,
        })
    }

    /// Returns the string at a place; `None` if there is another value.
    #[inline]
    pub fn text_at(&self, at: u32) -> Option<&str> {
        self.index.text_at(&self.text, at)
    }

    /// Returns whether the string at a place is this one.
    #[inline]
    pub fn has_text(&self, at: u32, text: &str) -> bool {
        // Most names differ in length.
        self.index.words[at as usize + 1] as usize == text.len()
            && self.index.bytes_at(&self.text, at) == Some(text.as_bytes())
    }

    /// Returns the place of the last value with this name in the object at a place.
    pub fn find(&self, at: u32, name: &str) -> Option<u32> {
        let words = &*self.index.words;
        let end = self.end_of_members(at);
        match self.tag(at) {
            ..tag::OBJECT => return None,
            tag::OBJECT => {}
            _ if words[end as usize] & name_bit(name.as_bytes()) == 0 => return None,
            _ => {}
        }
        let is_distinct = self.tag(at) == tag::DISTINCT_OBJECT;
        let (mut place, mut found) = (at + 1, None);
        while place < end {
            let value = place + NAME_WORDS;
            if self.has_text(place, name) {
                found = Some(value);
                if is_distinct {
                    break;
                }
            }
            place = self.after(value);
        }
        found
    }

    /// Returns the place after the members of the object at a place.
    #[inline]
    pub fn end_of_members(&self, at: u32) -> u32 {
        self.after(at) - u32::from(self.tag(at) > tag::OBJECT)
    }

    /// Returns the place after the value at a place.
    #[inline]
    pub fn after(&self, at: u32) -> u32 {
        self.index.after(at)
    }

    /// Returns the place after all values.
    pub fn end(&self) -> u32 {
        self.index.words.len() as u32
    }
}

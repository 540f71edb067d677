//! Parses JSON texts.

use std::{borrow::Cow, fmt, mem};

use knowledgepulse_workers::CancelToken;
use regex::Captures;
use serde::{
    Deserializer,
    de::{self, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::error::Category;

use super::{
    tape::{Index, Open, Tape, tag},
    text::MAX_TEXT,
};
use crate::pattern::{Pattern, regex};

/// How many words are written between two checks of the token.
const WORDS_PER_CHECK: usize = 1 << 12;

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

/// Parses a text until the token is cancelled: one value, or with `all` a value and objects and arrays after it.
/// Returns the values before the first error as well.
pub fn parse<'t>(
    text: Cow<'t, str>,
    all: bool,
    cancel: &CancelToken,
) -> (Tape<'t>, Option<Unread>) {
    let mut tape = Tape { text, ..Tape::default() };
    let mut error = parse_values(&mut tape, all, cancel);
    for mend in [with_lone_surrogates_replaced, with_null_for_no_numbers] {
        if matches!(error, Some(Unread::Syntax(_)))
            && let Some(mended) = mend(&tape.text)
        {
            let mended = Tape { text: Cow::Owned(mended), ..Tape::default() };
            let text = mem::replace(&mut tape, mended).text;
            error = parse_values(&mut tape, all, cancel);
            if let Some(Unread::Syntax(error)) = &mut error {
                error.column -= lengthened(&text, error);
            }
        }
    }
    (tape, error)
}

fn parse_values(tape: &mut Tape, all: bool, cancel: &CancelToken) -> Option<Unread> {
    let Tape { text, index, .. } = tape;
    if text.len() > MAX_TEXT {
        return Some(Unread::TooLarge);
    }
    let mut at = 0;
    loop {
        // A deserializer for each value: that of the whole text would look for the place of what follows the value
        // from the beginning of the text.
        let mut source = serde_json::Deserializer::from_str(&text[at..]);
        let begin = index.words.len();
        let mut parser = Parser { text, index, cancel };
        if let Err(error) = parser.deserialize(&mut source) {
            index.words.truncate(begin);
            return Some(match error.classify() {
                // Only the parser has errors of this kind.
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

/// Returns the tape of the JSON text in the string at a place.
pub fn decoded_at<'t>(tape: &'t Tape, at: u32) -> Option<&'t Tape<'static>> {
    let text = tape.text_at(at)?;
    // As Hermes marks it.
    let text = text.strip_prefix("\0json:").unwrap_or(text);
    let first = text.trim_start_matches([' ', '\t', '\r', '\n']);
    if !first.starts_with(['{', '[', '"']) {
        return None;
    }
    let known = tape.decoded.get(&at);
    let known = known.unwrap_or_else(|| {
        let (mut inner, error) = parse(text.to_owned().into(), false, &CancelToken::default());
        // It is kept, unlike that of a line.
        inner.index.shrink_to_fit();
        tape.decoded.insert(at, Box::new(error.is_none().then_some(inner)))
    });
    known.as_ref()
}

/// Adds the value that `serde_json` reads to the index.
struct Parser<'a> {
    text: &'a str,
    index: &'a mut Index,
    cancel: &'a CancelToken,
}

impl Parser<'_> {
    /// Adds an array or object, whose values `add` adds.
    fn container<E: de::Error>(
        &mut self,
        tag: u32,
        add: impl FnOnce(&mut Self, &mut Open) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut open = self.index.begin(tag).map_err(E::custom)?;
        add(self, &mut open)?;
        self.index.end(open).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for &mut Parser<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        let checks = |index: &Index| index.words.len() / WORDS_PER_CHECK;
        let before = checks(self.index);
        source.deserialize_any(&mut *self)?;
        if checks(self.index) > before && self.cancel.is_cancelled() {
            return Err(D::Error::custom("cancelled"));
        }
        Ok(())
    }
}

macro_rules! visit_each {
    ($($visit:ident($kind:ty): $push:ident,)*) => {
        $(fn $visit<E: de::Error>(self, value: $kind) -> Result<(), E> {
            self.index.$push(value).map_err(E::custom)
        })*
    };
}

impl<'de> Visitor<'de> for &mut Parser<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.index.push_null().map_err(E::custom)
    }

    visit_each! {
        visit_bool(bool): push_bool,
        visit_u64(u64): push_unsigned,
        visit_i64(i64): push_signed,
        visit_f64(f64): push_float,
        visit_str(&str): push_string,
    }

    fn visit_borrowed_str<E: de::Error>(self, value: &'de str) -> Result<(), E> {
        // Part of the text, so the difference is not negative.
        let offset = value.as_ptr().addr() - self.text.as_ptr().addr();
        self.index.push_text(offset, value.len()).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.container(tag::ARRAY, |parser, _| {
            while list.next_element_seed(&mut *parser)?.is_some() {}
            Ok(())
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.container(tag::OBJECT, |parser, open| {
            while map.next_key_seed(&mut *parser)?.is_some() {
                parser.index.note_name(open, parser.text);
                map.next_value_seed(&mut *parser)?;
            }
            Ok(())
        })
    }
}

/// Replaces escapes of lone surrogates, which `serde_json` refuses, by `\ufffd`; `None` if there are none.
fn with_lone_surrogates_replaced(text: &str) -> Option<String> {
    static ESCAPE: Pattern = Pattern::new(|| {
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

static TOKEN: Pattern = Pattern::new(|| regex(r#"(?s)"(?:[^"\\]|\\.)*"|\bNaN\b|-?\bInfinity\b"#));

/// Returns by how much a mended text is longer before an error in its line: `NaN` by one, all else by nothing.
fn lengthened(text: &str, error: &SyntaxError) -> usize {
    let line = text.split('\n').nth(error.line as usize - 1).unwrap_or_default();
    let tokens = TOKEN.find_iter(line).filter(|token| token.as_str() == "NaN").enumerate();
    tokens.take_while(|(before, token)| token.start() + before < error.column).count()
}

/// Replaces `NaN`, `Infinity` and `-Infinity`, which Python writes, by `null`; `None` if there are none.
fn with_null_for_no_numbers(text: &str) -> Option<String> {
    if !["NaN", "Infinity"].into_iter().any(|name| text.contains(name)) {
        return None;
    }
    let (mut mended, mut end) = (String::new(), 0);
    for token in TOKEN.find_iter(text).filter(|token| !token.as_str().starts_with('"')) {
        mended += &text[end..token.start()];
        mended += &format!("{:1$}", "null", token.len());
        end = token.end();
    }
    (end > 0).then(|| mended + &text[end..])
}

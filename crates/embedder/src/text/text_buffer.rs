//! Keeps as much of a text as the model can see.

use std::fmt;

use super::bert::{beginning, is_chinese};
use crate::{model::ModelSettings, shape::MAX_TOKENS};

/// The longest text that is kept for a model, in bytes.
const MAX_BYTES: usize = 2 << 20;

/// Keeps as much of a text as its embedding depends on. Writing fails once further text makes no difference.
///
/// For the first window of the built-in model, a text is kept until it certainly has [`MAX_TOKENS`] tokens. That
/// does not change the window:
///
/// - The tokenizer takes special tokens such as `[SEP]` out of the text, splits the rest at white space and
///   around Chinese characters, and normalises each segment by itself. No special token contains white space or
///   Chinese. So what comes before white space or a Chinese character has the same tokens whatever follows, and
///   only there is the text cut.
/// - A segment is split around punctuation, and ASCII survives normalisation. So an ASCII letter or digit after ASCII
///   white space or punctuation begins a word, or is the first letter of a special token, and a Chinese character is a
///   word. Each word and special token is at least one token.
///
/// The first [`MAX_TOKENS`] tokens of a text determine its window and whether that is cut: `[CLS]` takes one of the
/// [`MAX_TOKENS`] places of the window, so the last of these tokens no longer fits.
///
/// A text with fewer such words, as in other scripts, is kept up to 2 MB, and so is the text for a custom model,
/// whose tokenizer is not known yet.
#[derive(Debug, Clone)]
pub struct TextBuffer {
    kept: String,
    /// Words until the window is certainly full; `None` if words do not matter.
    words_left: Option<usize>,
    bytes_left: usize,
}

impl TextBuffer {
    /// Returns an empty buffer for texts that go to this model.
    pub fn new(model: &ModelSettings) -> Self {
        let words_left = model.model.is_none().then_some(MAX_TOKENS);
        Self { kept: String::new(), words_left, bytes_left: MAX_BYTES }
    }

    /// Returns an empty buffer that keeps all of a text, for sketches.
    pub fn whole() -> Self {
        Self { kept: String::new(), words_left: None, bytes_left: usize::MAX }
    }

    /// Returns the text that was kept.
    pub fn into_string(self) -> String {
        self.kept
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fitting = beginning(text, self.bytes_left);
        if let Some(words) = &mut self.words_left {
            let last = self.kept.bytes().last().unwrap_or(b' ');
            fitting = until_words(fitting, last, words);
        }
        self.kept.push_str(fitting);
        self.bytes_left -= fitting.len();
        if fitting.len() < text.len() {
            self.bytes_left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// Returns the beginning of `text` up to the first place, after the last of `words`, where a text may be cut.
/// Subtracts its words from `words`. `last` is the byte before `text`.
fn until_words<'t>(text: &'t str, mut last: u8, words: &mut usize) -> &'t str {
    for (at, c) in text.char_indices() {
        let is_chinese = is_chinese(c);
        let follows_space = matches!(last, b' ' | b'\t' | b'\n' | b'\r');
        if *words == 0 && (follows_space || is_chinese) {
            return &text[..at];
        }
        let begins_word =
            c.is_ascii_alphanumeric() && (follows_space || last.is_ascii_punctuation());
        if begins_word || is_chinese {
            *words = words.saturating_sub(1);
        }
        last = text.as_bytes()[at + c.len_utf8() - 1];
    }
    text
}

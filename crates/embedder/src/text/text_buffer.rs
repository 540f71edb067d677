//! As much of a text as can matter to its first 512 tokens.

use std::fmt;

use super::char_roles::{Fate, Role, fate, role};
use crate::MAX_TOKENS;

/// A word of more characters than this is one unknown token, whatever it says.
const MAX_WORD_CHARS: usize = 100;

/// Collects text until the token window is certain to be full, and nothing after that.
///
/// The tokens of what it keeps are those of the whole text, up to [`MAX_TOKENS`]. It counts tokens
/// from below: each word start and each punctuation mark is worth at least one. Where a text gives
/// no such certainty (a megabyte without a space), it keeps only what the tokens depend on: one
/// space or accent out of a row, and of an endless word enough letters to show that it is one, and
/// its last.
#[derive(Debug, Clone, Default)]
pub struct TextWindow {
    kept: String,
    /// At least this many tokens stand before the last character kept.
    tokens: usize,
    full: bool,
    /// Letters since the last character that may end a word.
    letters: usize,
    /// A letter of an endless word, left out unless the word ends with it.
    held: Option<char>,
    before: Before,
    /// The last character leaves nothing; one out of a row of them is kept.
    vanished: bool,
    /// A capital sigma has come, whose lower case depends on what follows the word.
    sigma: bool,
}

/// What stands before the next character.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    /// A word is certainly over.
    #[default]
    Gap,
    /// The same, and it was white space.
    Space,
    /// `[`, which may open a special token such as `[SEP]` instead of being one of its own.
    Bracket,
    /// A letter that may close a special token.
    Capital,
    /// The inside of a word, or something that cannot be told.
    Word,
}

impl fmt::Write for TextWindow {
    /// Keeps what counts of `text`; fails when further text can no longer change the tokens.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while !self.full
            && let Some(c) = rest.chars().next()
        {
            self.push_char(c);
            rest = &rest[c.len_utf8()..];
            if c.is_ascii_alphanumeric() && !self.full {
                rest = self.push_rest_of_word(rest);
            }
        }
        if self.full { Err(fmt::Error) } else { Ok(()) }
    }
}

impl TextWindow {
    /// Returns the text that was kept.
    pub fn into_string(self) -> String {
        self.kept
    }

    fn push_char(&mut self, c: char) {
        let fate = fate(c);
        if fate == Fate::Letter {
            return self.push_letter(c);
        }
        let vanished = std::mem::replace(&mut self.vanished, fate == Fate::Vanishes);
        if fate == Fate::Separator && self.before == Before::Space || vanished && self.vanished {
            return;
        }
        self.release();
        self.kept.push(c);
        match fate {
            Fate::Vanishes => {}
            Fate::Separator => {
                self.close_bracket();
                self.before = Before::Space;
                self.stop_if_full(true);
            }
            Fate::Word => self.push_word(c),
            _ => self.before = Before::Word,
        }
        // What vanishes leaves the word open; the count of letters then starts again, and that
        // only keeps more of it.
        self.letters = 0;
    }

    fn push_letter(&mut self, c: char) {
        self.vanished = false;
        self.letters += 1;
        if self.letters > MAX_WORD_CHARS + 1 {
            self.held = Some(c);
            return;
        }
        self.kept.push(c);
        let capital = c.is_ascii_uppercase();
        match self.before {
            Before::Gap | Before::Space => self.tokens += 1,
            Before::Bracket if !capital => self.tokens += 2,
            Before::Bracket | Before::Capital | Before::Word => {}
        }
        self.before = if capital { Before::Capital } else { Before::Word };
        self.sigma |= c == 'Σ';
        self.stop_if_full(c.is_ascii_alphanumeric());
    }

    /// Keeps the letters at the start of `text`, as [`TextWindow::push_char`] would one by one: behind another
    /// letter they are no further token. Returns the rest.
    fn push_rest_of_word<'a>(&mut self, text: &'a str) -> &'a str {
        let room = (MAX_WORD_CHARS + 1).saturating_sub(self.letters);
        let letters = text.bytes().take(room).take_while(u8::is_ascii_alphanumeric).count();
        let (letters, rest) = text.split_at(letters);
        if let Some(last) = letters.bytes().last() {
            self.kept.push_str(letters);
            self.letters += letters.len();
            self.before = if last.is_ascii_uppercase() { Before::Capital } else { Before::Word };
        }
        rest
    }

    /// A character that is a word of its own, if it is not part of a special token.
    fn push_word(&mut self, c: char) {
        match c {
            '[' => {
                self.close_bracket();
                self.before = Before::Bracket;
            }
            ']' if self.before == Before::Capital => self.before = Before::Gap,
            _ => {
                self.close_bracket();
                self.tokens += 1;
                self.before = Before::Gap;
            }
        }
        self.stop_if_full(role(c) == Role::Chinese);
    }

    /// Counts the `[` before, now that it cannot open a special token any more.
    fn close_bracket(&mut self) {
        if self.before == Before::Bracket {
            self.tokens += 1;
        }
    }

    fn release(&mut self) {
        if let Some(letter) = self.held.take() {
            self.kept.push(letter);
        }
    }

    /// Stops when there is no room for more tokens. A sigma that is still undecided can wait for
    /// something that `settles` its case, as letters, digits and spaces do.
    fn stop_if_full(&mut self, settles: bool) {
        // One token more than there is room for: the last one counted may still be incomplete.
        self.full = self.tokens > MAX_TOKENS && (settles || !self.sigma);
    }
}

//! Text to tokens: what of a text counts, and its token ids.

mod char_roles;
mod text_buffer;
mod tokenizer;
mod wordpiece;

use std::fmt;

use crate::ModelSettings;

pub use text_buffer::TextWindow;
pub use tokenizer::{Tokenizer, Window};

/// The most that is kept of the beginning of a text whose model is not known yet, in bytes.
const MOST_OF_A_BEGINNING: usize = 2 << 20;

/// What counts of a text that is longer than the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongText {
    /// The first tokens, of the built-in model 512 as in the TypeScript SDK.
    #[default]
    Window,
    /// All of it, one window after another.
    Whole,
}

/// Collects as much of a text as counts. Writing to it fails once further text makes no difference.
#[derive(Debug, Clone)]
pub enum TextBuffer {
    /// Keeps what the first 512 tokens depend on.
    Window(TextWindow),
    /// Keeps what fills the window of any model: that of one of the user's own is known when it is loaded.
    Beginning(String),
    /// Keeps everything.
    Whole(String),
}

impl TextBuffer {
    /// Returns an empty buffer for texts that go to this model.
    pub fn new(long: LongText, model: &ModelSettings) -> Self {
        match long {
            LongText::Window if model.model.is_none() => Self::Window(TextWindow::default()),
            LongText::Window => Self::Beginning(String::new()),
            LongText::Whole => Self::Whole(String::new()),
        }
    }

    /// Returns the text that was kept.
    pub fn into_string(self) -> String {
        match self {
            Self::Window(window) => window.into_string(),
            Self::Beginning(text) | Self::Whole(text) => text,
        }
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self {
            Self::Window(window) => window.write_str(text),
            Self::Beginning(kept) => {
                let fits = beginning(text, MOST_OF_A_BEGINNING.saturating_sub(kept.len()));
                kept.push_str(fits);
                if fits.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
            }
            Self::Whole(whole) => whole.write_str(text),
        }
    }
}

/// As much of the beginning of a text as fits into so many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

//! Text to tokens: what of a text counts, and its token ids.

mod chars;
mod tokenizer;
mod window;

use std::fmt;

pub use tokenizer::Tokenizer;
pub use window::TextWindow;

/// What counts of a text that is longer than the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongText {
    /// The first 512 tokens, as in the TypeScript SDK.
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
    /// Keeps everything.
    Whole(String),
}

impl TextBuffer {
    /// Returns an empty buffer.
    pub fn new(long: LongText) -> Self {
        match long {
            LongText::Window => Self::Window(TextWindow::default()),
            LongText::Whole => Self::Whole(String::new()),
        }
    }

    /// Returns the text that was kept.
    pub fn into_string(self) -> String {
        match self {
            Self::Window(window) => window.into_string(),
            Self::Whole(text) => text,
        }
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self {
            Self::Window(window) => window.write_str(text),
            Self::Whole(whole) => whole.write_str(text),
        }
    }
}

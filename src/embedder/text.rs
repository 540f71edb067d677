//! A text on its way to the model: its beginning, or all of it.

use super::TextWindow;

/// What counts of a text that is longer than the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongText {
    /// The first 512 tokens, as in the TypeScript SDK.
    #[default]
    Window,
    /// All of it, one window after another.
    Whole,
}

/// As much of a text as is to be embedded.
#[derive(Debug, Clone)]
pub enum Text {
    /// What the first 512 tokens depend on; the rest is not kept.
    Window(TextWindow),
    /// Everything.
    Whole(String),
}

impl Text {
    /// An empty text.
    pub fn new(long: LongText) -> Self {
        match long {
            LongText::Window => Self::Window(TextWindow::new()),
            LongText::Whole => Self::Whole(String::new()),
        }
    }

    /// Whether further text makes no difference.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Window(window) => window.is_full(),
            Self::Whole(_) => false,
        }
    }

    /// Appends `text`, as far as it counts.
    pub fn push(&mut self, text: &str) {
        match self {
            Self::Window(window) => window.push(text),
            Self::Whole(whole) => whole.push_str(text),
        }
    }

    /// The text kept.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Window(window) => window.as_str(),
            Self::Whole(whole) => whole,
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new(LongText::default())
    }
}

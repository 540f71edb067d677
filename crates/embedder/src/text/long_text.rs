//! The beginning of a text that is embedded.

/// How much of a text is embedded if it is longer than the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongText {
    /// The first window: 512 tokens for the built-in model, as in the TypeScript SDK.
    #[default]
    Window,
    /// All of it, one window after another.
    Whole,
}

/// Returns the longest beginning of a text of at most `bytes`.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

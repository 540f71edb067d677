//! Text to tokens: the part of a text that is kept, and its token ids.

mod bert;
mod char_roles;
mod long_text;
mod text_buffer;
mod tokenizer;
mod vocabulary;

pub use long_text::LongText;
pub use text_buffer::TextBuffer;
pub use tokenizer::Tokenizer;

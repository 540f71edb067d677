//! Text to tokens: the part of a text that is kept, and its token ids.

mod bert;
mod text_buffer;
mod tokenizer;
mod vocabulary;

pub use text_buffer::TextBuffer;
pub use tokenizer::Tokenizer;

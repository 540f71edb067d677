//! Custom models: folders in the layout of Hugging Face, sentence-transformers and transformers.js.

mod external_data;
mod folder;

pub(crate) use folder::CustomFolder;

//! The JavaScript class `Archive`, which decompresses rows as [`LogReader`](super::LogReader) does logs.

use knowledgepulse_import::Archive as Decoder;
use napi::{
    Error, Result,
    bindgen_prelude::{Buffer, Uint8Array},
};
use napi_derive::napi;

#[napi]
#[derive(Default)]
pub struct Archive(Decoder);

#[napi]
impl Archive {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn push(&mut self, bytes: Uint8Array) {
        self.0.push(&bytes);
    }

    /// Returns the next bytes of the content; `None` if more input is needed, or with `is_end` if there is none.
    #[napi(catch_unwind)]
    pub fn next(&mut self, is_end: bool) -> Result<Option<Buffer>> {
        let next = self.0.next(is_end).transpose().map_err(Error::from_reason)?;
        Ok(next.map(Buffer::from))
    }
}

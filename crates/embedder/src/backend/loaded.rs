//! What a loaded model can do.

use knowledgepulse_workers::CancelToken;

use crate::{embed_error::Result, shape::Embedding};

/// A loaded model. Any number of threads may run it at once, with the same bits.
pub(crate) trait Backend: Send + Sync {
    /// Embeds the tokens of a window, on all threads if no other text runs, else on the calling one.
    fn embed_ids(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding>;
}

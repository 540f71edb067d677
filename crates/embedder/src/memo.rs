//! The memo: the embeddings of recent texts.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use blake3::Hash;
use knowledgepulse_workers::lock;
use lru::LruCache;
use once_cell::sync::OnceCell;

use crate::{embed_error::Result, shape::Embedding};

/// The maximum number of embeddings, at 1.6 kB each for vectors of 384 numbers.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// The most recently used embeddings, by a hash of their tokens.
pub struct Memo {
    embeddings: Mutex<LruCache<Hash, Arc<OnceCell<Embedding>>>>,
}

impl Default for Memo {
    fn default() -> Self {
        Self { embeddings: Mutex::new(LruCache::new(CAPACITY)) }
    }
}

impl Memo {
    /// Returns the embedding of these tokens, computed by `embed` if it is not in the memo. If several threads ask for
    /// the same tokens, one computes and the others wait.
    pub fn get_or_embed(
        &self,
        ids: &[i64],
        embed: impl FnOnce() -> Result<Embedding>,
    ) -> Result<Embedding> {
        let tokens = blake3::hash(bytemuck::cast_slice(ids));
        let mut embeddings = lock(&self.embeddings);
        let place = embeddings.get_or_insert(tokens, Arc::default).clone();
        drop(embeddings);
        place.get_or_try_init(embed).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, thread};

    use super::*;
    use crate::{embed_error::EmbedError, shape::EMBEDDING_LEN};

    fn embedding(x: f32) -> Embedding {
        vec![x; EMBEDDING_LEN].into()
    }

    #[test]
    fn get_or_embed_computes_the_same_tokens_once() {
        let memo = Memo::default();
        let calls = Cell::new(0);
        let ask = |ids: &[i64]| {
            let embed = || {
                calls.set(calls.get() + 1);
                Ok(embedding(calls.get() as f32))
            };
            memo.get_or_embed(ids, embed).unwrap()[0]
        };
        assert_eq!(
            [ask(&[1, 2]), ask(&[1, 2]), ask(&[1, 2, 3]), ask(&[1, 2])],
            [1.0, 1.0, 2.0, 1.0]
        );
    }

    #[test]
    fn get_or_embed_does_not_keep_failures() {
        let memo = Memo::default();
        let failed = memo.get_or_embed(&[1], || Err(EmbedError::Cancelled));
        assert_eq!(failed, Err(EmbedError::Cancelled));
        assert_eq!(memo.get_or_embed(&[1], || Ok(embedding(7.0))), Ok(embedding(7.0)));
    }

    #[test]
    fn get_or_embed_drops_the_least_recently_used() {
        let memo = Memo::default();
        let ask = |id: i64| memo.get_or_embed(&[id], || Ok(embedding(id as f32))).unwrap();
        (0..5000).for_each(|id| drop(ask(id)));
        assert_eq!(memo.embeddings.lock().unwrap().len(), CAPACITY.get());
        assert_eq!(memo.get_or_embed(&[0], || Ok(embedding(-1.0))), Ok(embedding(-1.0)));
        assert_eq!(
            memo.get_or_embed(&[4999], || Err(EmbedError::Cancelled)),
            Ok(embedding(4999.0))
        );
    }

    #[test]
    fn get_or_embed_computes_once_for_concurrent_threads() {
        let memo = Memo::default();
        let calls = std::sync::atomic::AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    memo.get_or_embed(&[1, 2, 3], || {
                        calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        thread::sleep(std::time::Duration::from_millis(20));
                        Ok(embedding(1.0))
                    })
                });
            }
        });
        assert_eq!(calls.into_inner(), 1);
    }
}

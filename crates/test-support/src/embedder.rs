//! An embedder without a model.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use knowledgepulse_scoring::{
    Error, Result,
    embed::{Embed, Embedded, Text, TextFacts},
};
use knowledgepulse_workers::CancelToken;

/// The length of every embedding.
pub const VECTOR_LEN: usize = 384;

/// Does what the first word of a text says.
///
/// | word | |
/// | --- | --- |
/// | `0` to `382` | an embedding between this axis and the next, of cosine 0.48 with that of the neighbour |
/// | `slow` | the embedding of the second word, after a while |
/// | `fail` | no embedding, because of [`FAILURE`] |
/// | `panic` | a panic |
/// | `hang` | nothing until it is cancelled |
/// | other words, or none | the embedding of the length of the text |
#[derive(Default)]
pub struct FakeEmbedder {
    calls: AtomicUsize,
    is_loading: Mutex<bool>,
    loaded: Condvar,
}

/// Why the text `fail` has no embedding.
pub const FAILURE: &str = "the text says so";

impl FakeEmbedder {
    /// Returns one that is not required.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns one whose load ends with [`FakeEmbedder::end_load`].
    pub fn unloaded() -> Arc<Self> {
        Arc::new(Self { is_loading: true.into(), ..Self::default() })
    }

    /// Ends the load.
    pub fn end_load(&self) {
        *self.is_loading.lock().unwrap() = false;
        self.loaded.notify_all();
    }

    /// Returns the number of texts embedded.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Returns the embedding of the text of this number.
    pub fn vector(number: usize) -> Box<[f32]> {
        let mut vector = vec![0.0; VECTOR_LEN];
        let axis = number % (VECTOR_LEN - 1);
        (vector[axis], vector[axis + 1]) = (0.8, 0.6);
        vector.into()
    }
}

impl Embed for FakeEmbedder {
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded> {
        let loading = self.is_loading.lock().unwrap();
        drop(self.loaded.wait_while(loading, |is_loading| *is_loading).unwrap());
        self.calls.fetch_add(1, Ordering::SeqCst);
        let text = text.whole();
        let mut words = text.split_whitespace();
        let mut word = words.next().unwrap_or_default();
        let mut scale = 1.0;
        match word {
            "panic" => panic!("{FAILURE}"),
            "fail" => return Err(Error::embedder_unavailable(FAILURE)),
            "hang" => {
                while !cancel.is_cancelled() {
                    thread::yield_now();
                }
                return Err(Error::aborted());
            }
            "slow" => {
                thread::sleep(Duration::from_millis(5));
                word = words.next().unwrap_or_default();
            }
            "long" => {
                scale = 3.0;
                word = words.next().unwrap_or_default();
            }
            _ => {}
        }
        let mut embedding = Self::vector(word.parse().unwrap_or(text.len()));
        embedding.iter_mut().for_each(|number| *number *= scale);
        Ok(Embedded {
            embedding,
            fingerprint: "fake".into(),
            text: TextFacts { tokens: 3, ..TextFacts::default() },
            tokenize: Duration::from_millis(1),
            infer: Duration::from_millis(2),
        })
    }

    fn is_required(&self) -> bool {
        false
    }

    fn is_quick(&self) -> bool {
        !*self.is_loading.lock().unwrap()
    }
}

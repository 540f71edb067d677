//! A scorer with what embeds its texts.

use std::sync::Arc;

use knowledgepulse_embedder::LongText;
use knowledgepulse_scoring::{
    Error, Result, Scorer, VectorCache,
    cache::CacheOptions,
    scorer::{ScorerOptions, monotonic_clock},
    snapshot,
};

use crate::{
    embedder::ModelEmbedder,
    options::ScorerConfig,
    settings::{self, embedder_with},
};

/// What a scorer in JavaScript stands for.
#[derive(Clone)]
pub struct BoundScorer {
    pub scorer: Arc<Scorer>,
    /// `None` follows the settings of the process.
    embedder: Option<Arc<ModelEmbedder>>,
    pub budget_ms: Option<f64>,
    pub long_text: LongText,
}

impl BoundScorer {
    /// Returns the scorer behind `evaluateValue`, which follows the settings of the process.
    pub fn of_process() -> Result<Self> {
        let scorer = Scorer::new(ScorerOptions::default())?;
        Ok(Self { scorer, embedder: None, budget_ms: None, long_text: LongText::default() })
    }

    /// Returns a scorer with an empty cache, or with that of a snapshot, whose source has a name. A store
    /// takes the place of both.
    pub fn new(config: ScorerConfig, snapshot: Option<(&str, &[u8])>) -> Result<Self> {
        let ScorerConfig { scorer, embedder, threads, budget_ms, long_text, .. } = config;
        let embedder = embedder_with(&embedder, threads, long_text)?;
        if config.has_store {
            let scorer = Scorer::with_store(scorer, config.requires_store)?;
            return Ok(Self { scorer, embedder: Some(embedder), budget_ms, long_text });
        }
        let mut model = None;
        let cache = match snapshot {
            None => VectorCache::new(scorer.cache)?,
            Some((source, bytes)) => {
                let fingerprint = embedder.fingerprint()?;
                let snapshot = snapshot::decode(source, bytes, &fingerprint)?;
                model = Some(fingerprint.into());
                let stored = snapshot.options();
                let options = CacheOptions { vector_len: stored.vector_len, ..scorer.cache };
                let options = if config.has_cache { options } else { stored };
                snapshot.into_cache(options, monotonic_clock())?
            }
        };
        let scorer = Scorer::with_cache(scorer, cache, model);
        Ok(Self { scorer, embedder: Some(embedder), budget_ms, long_text })
    }

    /// Returns what embeds its texts from now on.
    pub fn embedder(&self) -> Result<Arc<ModelEmbedder>> {
        self.embedder.clone().map_or_else(settings::embedder, Ok)
    }

    /// Returns the cache as bytes.
    pub fn snapshot(&self) -> Result<Vec<u8>> {
        let fingerprint = self.embedder()?.fingerprint()?;
        let memory = self.scorer.own_memory();
        let memory = memory.ok_or_else(|| Error::internal("a store has no snapshot"))?;
        Ok(memory.snapshot(&fingerprint))
    }
}

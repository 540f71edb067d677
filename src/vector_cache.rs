//! The JavaScript class `VectorCache`.

use std::sync::Arc;

use knowledgepulse_scoring::{
    Error, VectorCache,
    scorer::{Held, OwnMemory},
};
use napi::{
    Env, Result,
    bindgen_prelude::{Float32Array, Object},
};
use napi_derive::napi;

use crate::{env::EnvState, js::or_throw, options::read_bounds};

#[napi(js_name = "VectorCache")]
pub struct NativeCache {
    /// Its own, or that of a scorer.
    pub(crate) memory: Arc<OwnMemory>,
}

#[napi]
impl NativeCache {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Object) -> Result<Self> {
        let cache = VectorCache::new(read_bounds(&options)?);
        let held = Held::new(&EnvState::of(env)?.held);
        Ok(Self { memory: OwnMemory::new(cache, None, held) })
    }

    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> u32 {
        self.memory.with_cache(|cache, now| cache.len(now)) as u32
    }

    /// Fails unless the vectors have this length.
    #[napi(catch_unwind)]
    pub fn check_length(&self, env: &Env, length: f64) -> Result<()> {
        let expected = self.memory.with_cache(|cache, _| cache.options().vector_len);
        let found = length as usize;
        let same = (found == expected).then_some(());
        or_throw(env, same.ok_or_else(|| Error::vector_length(expected, found)))
    }

    #[napi(catch_unwind)]
    pub fn add(&self, env: &Env, vector: Float32Array) -> Result<()> {
        let vector = vector.to_vec();
        let added = self.memory.with_cache(|cache, now| cache.add(&vector, None, now));
        EnvState::of(env)?.tell_memory(env)?;
        or_throw(env, added)
    }

    #[napi(catch_unwind)]
    pub fn max_cosine_similarity(&self, env: &Env, query: Float32Array) -> Result<f64> {
        let query = query.to_vec();
        let nearest =
            or_throw(env, self.memory.with_cache(|cache, now| cache.nearest(&query, now)))?;
        Ok(nearest.map_or(0.0, |nearest| nearest.similarity))
    }

    #[napi(catch_unwind)]
    pub fn evict_expired(&self) {
        self.memory.with_cache(VectorCache::evict_expired);
    }

    #[napi(catch_unwind)]
    pub fn clear(&self, env: &Env) -> Result<()> {
        self.memory.with_cache(|cache, _| cache.clear());
        EnvState::of(env)?.tell_memory(env)
    }
}

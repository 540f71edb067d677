//! The exact model, in float32.

use knowledgepulse_workers::CancelToken;

use super::weights::{Layer, Weights};
use crate::{
    embed_error::{EmbedError, Result},
    kernels::{self, Kernel, LayerNorm, Linear, SelfAttention, embed_tokens, pool},
    shape::{Embedding, FFN, WIDTH},
};

/// Runs the kernels of one text.
pub struct Runner<'a> {
    /// The threads that run tasks.
    pub threads: usize,
    pub cancel: &'a CancelToken,
}

impl Runner<'_> {
    /// Embeds a text with the exact model.
    pub fn embed(&self, weights: &Weights, ids: &[i64]) -> Result<Embedding> {
        let narrow = || vec![0.0; ids.len() * WIDTH];
        let [mut x, mut h, mut sum] = [narrow(), narrow(), narrow()];
        let mut wide = vec![0.0; ids.len() * FFN];
        embed_tokens(ids, &weights.words, &weights.positions, 0, &mut sum);
        self.run(LayerNorm::new(&weights.norm, &sum, &mut x))?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &weights.layers {
            let projected = &mut wide[..ids.len() * 3 * WIDTH];
            self.run(Linear::new(qkv, &x, None, false, projected))?;
            self.run(SelfAttention::new(projected, &mut h))?;
            self.run(Linear::new(output, &h, Some(&x), false, &mut sum))?;
            self.run(LayerNorm::new(attention_norm, &sum, &mut h))?;
            self.run(Linear::new(up, &h, None, true, &mut wide))?;
            self.run(Linear::new(down, &wide, Some(&h), false, &mut sum))?;
            self.run(LayerNorm::new(ffn_norm, &sum, &mut x))?;
        }
        Ok(pool(&x, WIDTH))
    }

    /// Runs a kernel, unless the text is cancelled.
    pub fn run(&self, kernel: impl Kernel) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(EmbedError::Cancelled);
        }
        if kernels::run(kernel) {
            Ok(())
        } else {
            Err(EmbedError::Model("a task of its computation panicked".into()))
        }
    }
}

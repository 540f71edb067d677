//! The exact model, in float32.

use knowledgepulse_workers::CancelToken;

use super::weights::{Layer, Weights};
use crate::{
    embed_error::{EmbedError, Result},
    kernels::{self, Kept, Kernel, LayerNorm, Linear, SelfAttention, embed_tokens, pool},
    shape::{Embedding, FFN, WIDTH},
};

thread_local! {
    /// The numbers between the kernels of a text.
    static BUFFER: Kept<f32> = const { Kept::new() };
}

/// Runs the kernels of one text.
pub struct Runner<'a> {
    /// The threads that run tasks.
    pub threads: usize,
    pub cancel: &'a CancelToken,
}

impl Runner<'_> {
    /// Embeds a text with the exact model.
    pub fn embed(&self, weights: &Weights, ids: &[i64]) -> Result<Embedding> {
        let (narrow, all) = (ids.len() * WIDTH, ids.len() * (3 * WIDTH + FFN));
        let mut buffer = BUFFER.with(|kept| kept.take(all));
        let (x, rest) = buffer[..all].split_at_mut(narrow);
        let (h, rest) = rest.split_at_mut(narrow);
        let (sum, wide) = rest.split_at_mut(narrow);
        embed_tokens(ids, &weights.words, &weights.positions, 0, sum);
        self.run(LayerNorm::new(&weights.norm, sum, x))?;
        for Layer { qkv, output, attention_norm, up, down, ffn_norm } in &weights.layers {
            let projected = &mut wide[..3 * narrow];
            self.run(Linear::new(qkv, x, None, false, projected).by_head())?;
            self.run(SelfAttention::new(projected, h))?;
            self.run(Linear::new(output, h, Some(x), false, sum))?;
            self.run(LayerNorm::new(attention_norm, sum, h))?;
            self.run(Linear::new(up, h, None, true, wide))?;
            self.run(Linear::new(down, wide, Some(h), false, sum))?;
            self.run(LayerNorm::new(ffn_norm, sum, x))?;
        }
        let embedding = pool(x, WIDTH);
        BUFFER.with(|kept| kept.put(buffer));
        Ok(embedding)
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

//! Self-attention of one text: softmax(q·kᵀ / √32)·v for each head.
//!
//! The lanes of a register are queries. So keys and values are read in place, one number at a time, their count
//! needs no padding, and no sum runs across lanes. The keys are processed in chunks; when a chunk has a greater
//! score than those before, the sums so far are scaled down.
//!
//! Finite inputs give finite results, unless a score or a sum of the values overflows.

mod block;
#[cfg(test)]
mod tests;

use pulp::Simd;

use crate::{
    kernels::{buffers::SplitSlice, kernel::Kernel},
    shape::{HEAD, HEADS, WIDTH},
};
use block::{Block, QUERIES, Scratch};

/// The attention of one text.
pub struct SelfAttention<'a> {
    /// \[3, heads, tokens\]
    projected: &'a [[f32; HEAD]],
    output: SplitSlice<'a, f32>,
}

impl<'a> SelfAttention<'a> {
    /// Makes the attention of `projected` \[3, 12, tokens, 32\], the queries, keys and values of each head, into `output`
    /// \[tokens, 384\]. Panics if the shapes do not fit.
    pub fn new(projected: &'a [f32], output: &'a mut [f32]) -> Self {
        assert!(projected.len() == 3 * output.len() && output.len().is_multiple_of(WIDTH));
        Self { projected: projected.as_chunks().0, output: SplitSlice::new(output) }
    }

    fn tokens(&self) -> usize {
        self.output.len() / WIDTH
    }

    fn blocks(&self) -> usize {
        self.tokens().div_ceil(QUERIES)
    }
}

impl Kernel for SelfAttention<'_> {
    /// One for each head and each 48 queries.
    fn tasks(&self) -> usize {
        HEADS * self.blocks()
    }

    #[inline(always)]
    unsafe fn run_task<S: Simd>(&self, simd: S, task: usize) {
        assert!(task < self.tasks(), "task {task} of {}", self.tasks());
        // One head after another, so that its keys and values stay in the cache.
        let (head, block) = (task / self.blocks(), task % self.blocks());
        let tokens = self.tokens();
        let queries = &self.projected[head * tokens..][..tokens];
        let keys = &self.projected[(HEADS + head) * tokens..][..tokens];
        let values = &self.projected[(2 * HEADS + head) * tokens..][..tokens];
        let mut start = block * QUERIES;
        let end = tokens.min(start + QUERIES);
        let mut scratch = Scratch::EMPTY;
        while start < end {
            let registers = match (end - start).div_ceil(S::F32_LANES) {
                // Two and two, because a single register leaves arithmetic units idle.
                4 => 2,
                registers => registers.min(3),
            };
            let next = end.min(start + registers * S::F32_LANES);
            let queries = &queries[start..next];
            let at = start * WIDTH + head * HEAD;
            let block = Block { queries, keys, values, output: &self.output, at };
            start = next;
            // `match` on a constant, so that only the tiles of these registers are compiled.
            match S::REGISTER_COUNT {
                32 => match registers {
                    1 => block.attend::<S, 8, 1>(simd, &mut scratch),
                    2 => block.attend::<S, 8, 2>(simd, &mut scratch),
                    _ => block.attend::<S, 8, 3>(simd, &mut scratch),
                },
                _ => match registers {
                    1 => block.attend::<S, 8, 1>(simd, &mut scratch),
                    2 => block.attend::<S, 4, 2>(simd, &mut scratch),
                    _ => block.attend::<S, 4, 3>(simd, &mut scratch),
                },
            }
        }
    }
}

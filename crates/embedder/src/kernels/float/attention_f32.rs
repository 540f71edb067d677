//! Self-attention of one text: softmax(q·kᵀ / √32)·v for each head.
//!
//! The lanes of a register are queries. So the keys and the values are read where they lie, a
//! number at a time, their count needs no padding, and no sum runs across lanes. The keys come in
//! chunks; what was summed under the greatest score so far shrinks when a greater one shows up.
//!
//! Of finite numbers come finite ones, unless a score or a sum of the values is beyond `f32`.

mod block;
#[cfg(test)]
mod tests;

use pulp::Simd;

use crate::kernels::{Kernel, SharedSlice};
use block::{Block, Scratch};

/// How many numbers a token has, before and after.
const WIDTH: usize = 384;

/// How many numbers of a token's query, key and value, which lie side by side.
const PROJECTED: usize = 3 * WIDTH;

const HEADS: usize = 12;

/// How many numbers of a token a head sees.
const HEAD: usize = WIDTH / HEADS;

/// The queries of a task: what three of the widest registers hold.
const QUERIES: usize = 48;

/// The attention of one text, in tasks that may run in any order on any threads. What they find
/// does not depend on either.
pub struct SelfAttention<'a> {
    projected: &'a [[f32; PROJECTED]],
    output: SharedSlice<'a, f32>,
}

impl<'a> SelfAttention<'a> {
    /// Returns the attention where `projected` has a token's query, key and value in a row, and
    /// `output` \[tokens, 384\] as many rows; `None` if they have not.
    pub fn new(projected: &'a [f32], output: SharedSlice<'a, f32>) -> Option<Self> {
        let (projected, rest) = projected.as_chunks();
        let fits = rest.is_empty() && output.len() == projected.len() * WIDTH;
        fits.then_some(Self { projected, output })
    }

    fn blocks(&self) -> usize {
        self.projected.len().div_ceil(QUERIES)
    }
}

impl Kernel for SelfAttention<'_> {
    /// One for each head and 48 queries.
    fn tasks(&self) -> usize {
        HEADS * self.blocks()
    }

    fn operations(&self) -> usize {
        self.projected.len() * self.projected.len() * PROJECTED / 8
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        assert!(task < self.tasks(), "task {task} of {}", self.tasks());
        // One head after another, so that its keys and values stay in the cache.
        let (head, block) = (task / self.blocks(), task % self.blocks());
        let mut start = block * QUERIES;
        let end = self.projected.len().min(start + QUERIES);
        let (wide, mut scratch) = (S::REGISTER_COUNT >= 32, Scratch::EMPTY);
        while start < end {
            let registers = match (end - start).div_ceil(S::F32_LANES) {
                // Not three and one, because one alone leaves arithmetic units idle.
                4 => 2,
                registers => registers.min(3),
            };
            let queries = start..end.min(start + registers * S::F32_LANES);
            start = queries.end;
            let Self { projected, output } = self;
            let block = Block { projected, output, queries, at: head * HEAD };
            match registers {
                1 => block.run::<S, 8, 1>(simd, &mut scratch),
                2 if wide => block.run::<S, 8, 2>(simd, &mut scratch),
                2 => block.run::<S, 4, 2>(simd, &mut scratch),
                _ if wide => block.run::<S, 8, 3>(simd, &mut scratch),
                _ => block.run::<S, 4, 3>(simd, &mut scratch),
            }
        }
    }
}

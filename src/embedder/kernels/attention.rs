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

use std::sync::atomic::AtomicU32;

use pulp::{Simd, WithSimd};

use super::dispatch;
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
    /// Atomic, because the tasks share it: a token's row belongs to one task per head.
    output: &'a [[AtomicU32; WIDTH]],
}

impl<'a> SelfAttention<'a> {
    /// `projected` has a token's query, key and value in a row, and `output` has as many rows;
    /// `None` if they have not.
    pub fn new(projected: &'a [f32], output: &'a mut [f32]) -> Option<Self> {
        let (projected, rest) = projected.as_chunks();
        if !rest.is_empty() || output.len() != projected.len() * WIDTH {
            return None;
        }
        let numbers: *mut [f32] = output;
        // SAFETY: both types have the same size and alignment and admit all bits; the numbers are
        // borrowed exclusively for as long as the atomics live.
        let atomics = unsafe { &*(numbers as *const [AtomicU32]) };
        Some(Self { projected, output: atomics.as_chunks().0 })
    }

    /// How many tasks there are: one for each head and 48 queries.
    pub fn tasks(&self) -> usize {
        HEADS * self.blocks()
    }

    /// Runs a task.
    ///
    /// # Panics
    ///
    /// When there is no such task.
    pub fn run(&self, task: usize) {
        dispatch(self.task(task));
    }

    fn task(&self, task: usize) -> Task<'a> {
        assert!(task < self.tasks(), "task {task} of {}", self.tasks());
        // One head after another, so that its keys and values stay in the cache.
        let (head, block) = (task / self.blocks(), task % self.blocks());
        let queries = block * QUERIES..self.projected.len().min((block + 1) * QUERIES);
        Task(Block {
            projected: self.projected,
            queries: &self.projected[queries.clone()],
            output: &self.output[queries],
            at: head * HEAD,
        })
    }

    fn blocks(&self) -> usize {
        self.projected.len().div_ceil(QUERIES)
    }
}

/// The attention of up to 48 queries in one head.
struct Task<'a>(Block<'a>);

impl WithSimd for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (wide, mut scratch) = (S::REGISTER_COUNT >= 32, Scratch::EMPTY);
        let (mut queries, mut output) = (self.0.queries, self.0.output);
        while !queries.is_empty() {
            let registers = match queries.len().div_ceil(S::F32_LANES) {
                // Not three and one, because one alone leaves arithmetic units idle.
                4 => 2,
                registers => registers.min(3),
            };
            let block;
            let lanes = queries.len().min(registers * S::F32_LANES);
            (block, queries) = queries.split_at(lanes);
            let block = Block { queries: block, output: &output[..lanes], ..self.0 };
            output = &output[lanes..];
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

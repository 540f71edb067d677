//! Self-attention of one text: softmax(q·kᵀ / √32)·v for each head.
//!
//! The lanes of a register are queries. So keys and values are read in place, one number at a time, their count
//! needs no padding, and no sum runs across lanes. The keys are processed in chunks; when a chunk has a greater
//! score than those before, the sums so far are scaled down.
//!
//! Finite inputs give finite results, unless a score or a sum of the values overflows.

use pulp::Simd;

use super::functions_f32::exp2;
use crate::{
    kernels::{arch::in_order, buffers::SplitSlice, kernel::Kernel},
    shape::{HEAD, HEADS, WIDTH},
};

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

/// The queries of a task: the lanes of three of the widest registers.
const QUERIES: usize = 48;

/// The keys of a chunk: few enough that their scores stay in the first-level cache.
const KEYS: usize = 64;

/// The unrolling of the inner loops, whose ends processors then predict.
const STEPS: usize = 4;

/// Buffers for three of the widest registers.
#[repr(align(64))]
struct Scratch {
    queries: [f32; HEAD * QUERIES],
    scores: [f32; KEYS * QUERIES],
    mixed: [f32; HEAD * QUERIES],
}

impl Scratch {
    const EMPTY: Self = Self {
        queries: [0.0; HEAD * QUERIES],
        scores: [0.0; KEYS * QUERIES],
        mixed: [0.0; HEAD * QUERIES],
    };
}

/// One head of some queries.
struct Block<'a> {
    queries: &'a [[f32; HEAD]],
    /// Those of all tokens.
    keys: &'a [[f32; HEAD]],
    values: &'a [[f32; HEAD]],
    /// \[tokens, `WIDTH`\]
    output: &'a SplitSlice<'a, f32>,
    /// Where the first query has its output.
    at: usize,
}

impl Block<'_> {
    /// Computes the attention in tiles of `R` keys, or numbers of a value, and `V` registers of queries.
    #[inline(always)]
    fn attend<S: Simd, const R: usize, const V: usize>(&self, simd: S, scratch: &mut Scratch) {
        let lanes = V * S::F32_LANES;
        let (packed, _) = scratch.queries.as_chunks_mut::<4>();
        for (lane, query) in self.queries.iter().enumerate() {
            for (group, four) in query.as_chunks::<4>().0.iter().enumerate() {
                packed[group * lanes + lane] = *four;
            }
        }

        let queries = registers::<S, V>(&mut scratch.queries).first_chunk_mut().expect("a head");
        deinterleave(simd, queries);
        let scores = registers::<S, V>(&mut scratch.scores);
        let mixed = &mut registers::<S, V>(&mut scratch.mixed)[..HEAD];
        mixed.fill([simd.splat_f32s(0.0); V]);
        let mut greatest = [simd.splat_f32s(f32::MIN); V];
        let mut sums = [simd.splat_f32s(0.0); V];
        for (keys, values) in self.keys.chunks(KEYS).zip(self.values.chunks(KEYS)) {
            let before = greatest;
            score::<S, R, V>(simd, keys, queries, scores, &mut greatest);
            let scores = &mut scores[..keys.len()];
            let mut shrink = before;
            for v in 0..V {
                shrink[v] = exp2(simd, simd.sub_f32s(before[v], greatest[v]));
                sums[v] = simd.mul_f32s(sums[v], shrink[v]);
            }
            for score in scores.iter_mut() {
                for v in 0..V {
                    score[v] = exp2(simd, simd.sub_f32s(score[v], greatest[v]));
                    sums[v] = simd.add_f32s(sums[v], score[v]);
                }
            }
            mix::<S, R, V>(simd, values, scores, shrink, mixed);
        }
        for sum in &mut sums {
            *sum = simd.div_f32s(simd.splat_f32s(1.0), *sum);
        }
        interleave(simd, mixed, sums);

        let (mixed, _) = scratch.mixed.as_chunks::<4>();
        for lane in 0..self.queries.len() {
            let at = self.at + lane * WIDTH;
            // SAFETY: no other task has these queries in this head.
            let output = unsafe { self.output.part(at..at + HEAD) };
            for (group, four) in output.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *four = mixed[group * lanes + lane];
            }
        }
    }
}

/// Computes the products of `queries` with `keys`, and the maximum so far.
#[inline(always)]
fn score<S: Simd, const R: usize, const V: usize>(
    simd: S,
    keys: &[[f32; HEAD]],
    queries: &[[S::f32s; V]; HEAD],
    scores: &mut [[S::f32s; V]],
    greatest: &mut [S::f32s; V],
) {
    for (tile, scores) in scores.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        if tile * R >= keys.len() {
            break;
        }
        let mut rows = [&[0.0; HEAD]; R];
        for row in 0..R {
            // The last tile repeats the last key, which changes no maximum.
            rows[row] = &keys[(tile * R + row).min(keys.len() - 1)];
        }
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (step, queries) in queries.as_chunks::<STEPS>().0.iter().enumerate() {
            for (number, query) in queries.iter().enumerate() {
                for row in 0..R {
                    let key = &rows[row][step * STEPS + number];
                    add_products(simd, key, query, &mut sums[row]);
                }
            }
        }
        for sums in &sums {
            for v in 0..V {
                greatest[v] = simd.max_f32s(greatest[v], sums[v]);
            }
        }
        *scores = sums;
    }
}

/// Scales the sums so far by `shrink`, and adds the weighted `values`.
#[inline(always)]
fn mix<S: Simd, const R: usize, const V: usize>(
    simd: S,
    values: &[[f32; HEAD]],
    weights: &[[S::f32s; V]],
    shrink: [S::f32s; V],
    mixed: &mut [[S::f32s; V]],
) {
    for (tile, mixed) in mixed.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        let mut sums = *mixed;
        for sums in &mut sums {
            for v in 0..V {
                sums[v] = simd.mul_f32s(sums[v], shrink[v]);
            }
        }
        let (values, last_values) = values.as_chunks::<STEPS>();
        let (weights, last_weights) = weights.as_chunks::<STEPS>();
        for (values, weights) in values.iter().zip(weights) {
            for (value, weights) in values.iter().zip(weights) {
                add_value(simd, &value.as_chunks().0[tile], weights, &mut sums);
            }
        }
        for (value, weights) in last_values.iter().zip(last_weights) {
            add_value(simd, &value.as_chunks().0[tile], weights, &mut sums);
        }
        *mixed = sums;
    }
}

#[inline(always)]
fn add_value<S: Simd, const R: usize, const V: usize>(
    simd: S,
    value: &[f32; R],
    weights: &[S::f32s; V],
    sums: &mut [[S::f32s; V]; R],
) {
    for row in 0..R {
        add_products(simd, &value[row], weights, &mut sums[row]);
    }
}

#[inline(always)]
fn add_products<S: Simd, const V: usize>(
    simd: S,
    factor: &f32,
    numbers: &[S::f32s; V],
    sums: &mut [S::f32s; V],
) {
    if S::REGISTER_COUNT < 32 {
        in_order();
    }
    let factor = simd.splat_f32s(*factor);
    for v in 0..V {
        sums[v] = simd.mul_add_e_f32s(factor, numbers[v], sums[v]);
    }
}

#[inline(always)]
fn registers<S: Simd, const V: usize>(numbers: &mut [f32]) -> &mut [[S::f32s; V]] {
    S::as_mut_simd_f32s(numbers).0.as_chunks_mut().0
}

/// Transposes groups of four numbers of each query into four registers with one number of each query, and scales
/// them. The order of the lanes depends on the machine; [`interleave`] reverses it.
#[inline(always)]
fn deinterleave<S: Simd, const V: usize>(simd: S, numbers: &mut [[S::f32s; V]; HEAD]) {
    let scale = simd.splat_f32s(std::f32::consts::LOG2_E / (HEAD as f32).sqrt());
    for group in numbers.as_chunks_mut::<4>().0 {
        let joined = *group;
        let joined = joined.as_flattened();
        for v in 0..V {
            let four = [joined[4 * v], joined[4 * v + 1], joined[4 * v + 2], joined[4 * v + 3]];
            let four = simd.deinterleave_shfl_f32s(four);
            for number in 0..4 {
                group[number][v] = simd.mul_f32s(four[number], scale);
            }
        }
    }
}

/// The inverse of [`deinterleave`], with a scale for each lane.
#[inline(always)]
fn interleave<S: Simd, const V: usize>(simd: S, numbers: &mut [[S::f32s; V]], scale: [S::f32s; V]) {
    for group in numbers.as_chunks_mut::<4>().0 {
        let parted = *group;
        let group = group.as_flattened_mut();
        for v in 0..V {
            let mut four = [scale[v]; 4];
            for number in 0..4 {
                four[number] = simd.mul_f32s(parted[number][v], scale[v]);
            }
            group[4 * v..][..4].copy_from_slice(&simd.interleave_shfl_f32s(four));
        }
    }
}

#[cfg(test)]
mod tests;

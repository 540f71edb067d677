//! The attention of the queries in the lanes of a few registers.

use std::ops::Range;

use pulp::Simd;

use crate::{
    kernels::{float::functions_f32::exp2, split_slice::SplitSlice},
    shape::{HEAD, WIDTH},
};

/// The numbers of the query, key and value of a token, which are stored side by side.
pub const PROJECTED: usize = 3 * WIDTH;

/// The queries of a task: the lanes of three of the widest registers.
pub const QUERIES: usize = 48;

/// The keys of a chunk: few enough that their scores stay in the first-level cache.
const KEYS: usize = 64;

/// The unrolling of the inner loops. Without it, the compiler keeps a sum in memory.
const STEPS: usize = 4;

/// Buffers for three of the widest registers.
#[repr(align(64))]
pub struct Scratch {
    queries: [f32; HEAD * QUERIES],
    scores: [f32; KEYS * QUERIES],
    mixed: [f32; HEAD * QUERIES],
}

impl Scratch {
    pub const EMPTY: Self = Self {
        queries: [0.0; HEAD * QUERIES],
        scores: [0.0; KEYS * QUERIES],
        mixed: [0.0; HEAD * QUERIES],
    };
}

pub struct Block<'a> {
    pub projected: &'a [[f32; PROJECTED]],
    /// \[tokens, `WIDTH`\]
    pub output: &'a SplitSlice<'a, f32>,
    /// The tokens of the queries.
    pub queries: Range<usize>,
    /// The first number of the head in a row.
    pub at: usize,
}

impl Block<'_> {
    /// Computes the attention in tiles of `R` keys, or numbers of a value, and `V` registers of queries.
    #[inline(always)]
    pub fn attend<S: Simd, const R: usize, const V: usize>(&self, simd: S, scratch: &mut Scratch) {
        let lanes = V * S::F32_LANES;
        let (packed, _) = scratch.queries.as_chunks_mut::<4>();
        for (lane, query) in self.projected[self.queries.clone()].iter().enumerate() {
            let query: &[f32; HEAD] = query[self.at..].first_chunk().expect("a head");
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
        for tokens in self.projected.chunks(KEYS) {
            let before = greatest;
            self.score::<S, R, V>(simd, tokens, queries, scores, &mut greatest);
            let scores = &mut scores[..tokens.len()];
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
            self.mix::<S, R, V>(simd, tokens, scores, shrink, mixed);
        }
        for sum in &mut sums {
            *sum = simd.div_f32s(simd.splat_f32s(1.0), *sum);
        }
        interleave(simd, mixed, sums);

        let (mixed, _) = scratch.mixed.as_chunks::<4>();
        for (lane, token) in self.queries.clone().enumerate() {
            let at = token * WIDTH + self.at;
            // SAFETY: no other task has these queries in this head.
            let output = unsafe { self.output.part(at..at + HEAD) };
            for (group, four) in output.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                *four = mixed[group * lanes + lane];
            }
        }
    }

    /// Computes the products of the queries with the keys of `tokens`, and the maximum so far.
    #[inline(always)]
    fn score<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        tokens: &[[f32; PROJECTED]],
        queries: &[[S::f32s; V]; HEAD],
        scores: &mut [[S::f32s; V]],
        greatest: &mut [S::f32s; V],
    ) {
        let at = WIDTH + self.at;
        for (tile, scores) in scores.as_chunks_mut::<R>().0.iter_mut().enumerate() {
            if tile * R >= tokens.len() {
                break;
            }
            let mut keys = [&[0.0; HEAD]; R];
            for row in 0..R {
                // The last tile repeats the last key, which changes no maximum.
                let token = &tokens[(tile * R + row).min(tokens.len() - 1)];
                keys[row] = token[at..].first_chunk().expect("a head");
            }
            let mut sums = [[simd.splat_f32s(0.0); V]; R];
            for (step, queries) in queries.as_chunks::<STEPS>().0.iter().enumerate() {
                for (number, query) in queries.iter().enumerate() {
                    let mut factors = [0.0; R];
                    for row in 0..R {
                        factors[row] = keys[row][step * STEPS + number];
                    }
                    add_products(simd, &factors, query, &mut sums);
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

    /// Scales the sums so far by `shrink`, and adds the weighted values of `tokens`.
    #[inline(always)]
    fn mix<S: Simd, const R: usize, const V: usize>(
        &self,
        simd: S,
        tokens: &[[f32; PROJECTED]],
        weights: &[[S::f32s; V]],
        shrink: [S::f32s; V],
        mixed: &mut [[S::f32s; V]],
    ) {
        for (tile, mixed) in mixed.as_chunks_mut::<R>().0.iter_mut().enumerate() {
            let at = 2 * WIDTH + self.at + tile * R;
            let mut sums = *mixed;
            for sums in &mut sums {
                for v in 0..V {
                    sums[v] = simd.mul_f32s(sums[v], shrink[v]);
                }
            }
            let (tokens, last_tokens) = tokens.as_chunks::<STEPS>();
            let (weights, last_weights) = weights.as_chunks::<STEPS>();
            for (tokens, weights) in tokens.iter().zip(weights) {
                for (token, weights) in tokens.iter().zip(weights) {
                    let values = token[at..].first_chunk().expect("a head");
                    add_products(simd, values, weights, &mut sums);
                }
            }
            for (token, weights) in last_tokens.iter().zip(last_weights) {
                let values = token[at..].first_chunk().expect("a head");
                add_products(simd, values, weights, &mut sums);
            }
            *mixed = sums;
        }
    }
}

#[inline(always)]
fn add_products<S: Simd, const R: usize, const V: usize>(
    simd: S,
    factors: &[f32; R],
    registers: &[S::f32s; V],
    sums: &mut [[S::f32s; V]; R],
) {
    for row in 0..R {
        let factor = simd.splat_f32s(factors[row]);
        for v in 0..V {
            sums[row][v] = simd.mul_add_e_f32s(factor, registers[v], sums[row][v]);
        }
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

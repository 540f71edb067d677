//! Self-attention of one text in integers: softmax(q·kᵀ / √32)·v for each head.
//!
//! The weight of a key is 2^(score + log₂(scale of its value) - the maximum of these sums). It includes the scale of
//! the value, so that weights are multiplied with the integers of the values. The integer of the weight 1 is 255.

use std::{hint::black_box, sync::LazyLock};

use pulp::Simd;

use super::{
    functions_i8::{exp2, log2},
    quantize::{LANES, Lanes, Quantized, quantize},
    tile::{Tile, Tiles, registers_of, sums},
};
use crate::{
    kernels::{
        arch::{Floats, Integers, Registers, WithRegisters},
        buffers::{Aligned, SplitSlice},
        float::PANEL,
    },
    shape::{HEAD, HEADS, MAX_TOKENS, WIDTH},
};

/// The queries that are processed together: their scores stay in the first-level cache.
const QUERIES: usize = 8;

/// The integer of the weight 1 before dither. With any number of [`PATTERN`] it rounds to at most 255.
const LARGEST_WEIGHT: f32 = 254.9;

/// The logarithm of the scale of the values after the last token: their weights are 0.
const NO_VALUE: f32 = -1e4;

/// Dither: numbers within ±½, less 128, which are added to weights before rounding. Without them, many small weights of a query
/// would all become 0. The keys take consecutive numbers; each query and head starts at another place.
static PATTERN: LazyLock<Aligned<f32>> = LazyLock::new(|| {
    let mut pattern = Aligned::zeros(MAX_TOKENS + STARTS * PANEL);
    for (at, number) in pattern.iter_mut().enumerate() {
        // The fractional parts of multiples of the golden ratio.
        let bits = (at as u32).wrapping_mul(0x9E37_79B9) >> 8;
        // Minus 128, because weights are stored as signed bytes.
        *number = bits as f32 / 16_777_216.0 - 0.5 - 128.0;
    }
    pattern
});

/// The number of places, 16 numbers apart, where the pattern may start.
const STARTS: usize = 64;

/// The keys and values of all tokens of a text.
pub struct Keys {
    tokens: usize,
    /// \[heads, keys / 16, 8, 16\]: panels of the keys
    keys: Aligned<u32>,
    /// \[heads, 2, tokens / 4, 16\]: panels of the values
    values: Aligned<u32>,
    /// \[heads, keys\]: the initial sums of scores, from [`Registers::column`]
    start: Aligned<i32>,
    /// \[keys\]: the scale of a key, times log₂ e / √32
    scale: Aligned<f32>,
    /// \[keys\]: log₂ of the scale of a value
    log: Aligned<f32>,
    /// \[keys\]: 1 / the scale of a value
    inverse: Aligned<f32>,
}

impl Keys {
    /// Returns zeros for the keys and values of `tokens` tokens. Panics if there are more than 512.
    pub fn new(tokens: usize) -> Self {
        assert!(tokens <= MAX_TOKENS);
        let keys = tokens.next_multiple_of(LANES);
        let mut log = Aligned::zeros(keys);
        log.fill(NO_VALUE);
        Self {
            tokens,
            keys: Aligned::zeros(keys * WIDTH / 4),
            values: Aligned::zeros(tokens.div_ceil(4) * WIDTH),
            start: Aligned::zeros(HEADS * keys),
            scale: Aligned::zeros(keys),
            log,
            inverse: Aligned::zeros(keys),
        }
    }

    /// Returns the buffers, to be filled by several threads.
    pub fn split(&mut self) -> KeysMut<'_> {
        KeysMut {
            keys: SplitSlice::new(&mut self.keys),
            values: SplitSlice::new(bytemuck::cast_slice_mut(&mut self.values)),
            start: SplitSlice::new(&mut self.start),
            scale: SplitSlice::new(&mut self.scale),
            log: SplitSlice::new(&mut self.log),
            inverse: SplitSlice::new(&mut self.inverse),
        }
    }

    fn padded(&self) -> usize {
        self.scale.len()
    }
}

/// [`Keys`], to be filled by several threads.
pub struct KeysMut<'a> {
    keys: SplitSlice<'a, u32>,
    values: SplitSlice<'a, u8>,
    start: SplitSlice<'a, i32>,
    scale: SplitSlice<'a, f32>,
    log: SplitSlice<'a, f32>,
    inverse: SplitSlice<'a, f32>,
}

/// Quantizes the queries, keys and values of some tokens.
pub struct Projection<'a> {
    projected: &'a [f32],
    first: usize,
    queries: Quantized<'a>,
    keys: &'a KeysMut<'a>,
}

impl<'a> Projection<'a> {
    /// Returns the computation of `projected` \[rows, 3 * 384\] to `queries` \[rows, 384\] and `keys`, for the tokens from
    /// `first`. Only code that is marked as unsafe can have several write the same keys:
    ///
    /// ```compile_fail,E0133
    /// use knowledgepulse_embedder::kernels::int8::{KeysMut, Projection, Quantized};
    ///
    /// fn second<'a>(queries: Quantized<'a>, keys: &'a KeysMut<'a>) -> Projection<'a> {
    ///     Projection::new(&[0.0; 3 * 384], 0, queries, keys)
    /// }
    /// ```
    ///
    /// # Safety
    ///
    /// While it runs, no other thread may write the keys of these tokens.
    pub unsafe fn new(
        projected: &'a [f32],
        first: usize,
        queries: Quantized<'a>,
        keys: &'a KeysMut<'a>,
    ) -> Self {
        Self { projected, first, queries, keys }
    }
}

impl WithRegisters for Projection<'_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let Self { projected, first, queries, keys } = self;
        let (padded, groups) = (keys.scale.len(), keys.values.len() / (4 * WIDTH));
        let KeysMut { keys, values, start, scale, log, inverse } = keys;
        // SAFETY: whoever made this promises that no other thread has the elements of these tokens.
        let (keys, values, start, scale, log, inverse) = unsafe {
            let (keys, values, start) = (keys.cells(), values.cells(), start.cells());
            (keys, values, start, scale.cells(), log.cells(), inverse.cells())
        };
        let (mut key_bytes, mut value_bytes) = ([0; WIDTH], [0; WIDTH]);
        for (row, numbers) in projected.chunks_exact(3 * WIDTH).enumerate() {
            let (query, rest) = numbers.split_at(WIDTH);
            let (key, value) = rest.split_at(WIDTH);
            let token = first + row;
            queries.scale[row] =
                quantize(registers, query, &mut queries.bytes[row * WIDTH..(row + 1) * WIDTH]);
            let key_scale = quantize(registers, key, &mut key_bytes);
            let value_scale = quantize(registers, value, &mut value_bytes);
            scale[token].set(key_scale * (std::f32::consts::LOG2_E / 32_f32.sqrt()));
            log[token].set(log2(value_scale));
            inverse[token].set(1.0 / value_scale);
            for (head, bytes) in key_bytes.as_chunks_mut::<HEAD>().0.iter_mut().enumerate() {
                start[head * padded + token].set(R::column(bytes));
                let panel = head * padded / PANEL + token / PANEL;
                let column = panel * (HEAD / 4) * PANEL + token % PANEL;
                for (four, word) in bytes.as_chunks().0.iter().enumerate() {
                    keys[column + four * PANEL].set(u32::from_ne_bytes(*word));
                }
            }
            R::column(&mut value_bytes);
            for (panel, bytes) in value_bytes.as_chunks::<PANEL>().0.iter().enumerate() {
                let line = (panel * groups + token / 4) * 4 * PANEL;
                let words = values[line..line + 4 * PANEL].as_chunks::<4>().0;
                for (word, byte) in words.iter().zip(bytes) {
                    word[token % 4].set(*byte);
                }
            }
        }
    }
}

/// Writes the attention of the queries of some tokens, the first of which is `first`, to `y` \[rows, 384\]. Works in
/// `scores` and `weights`, which have room for 8 queries with all keys, rounded up to 64. Panics if the shapes do not
/// fit.
pub fn attend<R: Registers>(
    registers: R,
    queries: &Quantized,
    first: usize,
    keys: &Keys,
    scores: &mut [f32],
    weights: &mut [u8],
    y: &mut [f32],
) {
    assert!(queries.bytes.len() == queries.scale.len() * WIDTH && y.len() == queries.bytes.len());
    let mut start = [0; WIDTH];
    if R::ZERO == 0 {
        let product = MixStart { keys, start: &mut start };
        registers.call(Tiles { rows: 1, panels: WIDTH / PANEL, product });
    }
    for (chunk, scales) in queries.scale.chunks(QUERIES).enumerate() {
        let row = chunk * QUERIES;
        let (rows, padded) = (scales.len(), keys.padded());
        let (scores, weights) = (&mut scores[..rows * padded], &mut weights[..rows * padded]);
        for head in 0..HEADS {
            let bytes = &queries.bytes[row * WIDTH..(row + rows) * WIDTH];
            let product = Score { bytes, scales, head, keys, scores };
            registers.call(Tiles { rows, panels: padded / PANEL, product });
            let mut factors = [0.0; QUERIES];
            let query = first + row;
            registers.call(Weigh { query, head, keys, scores, weights, factors: &mut factors });
            let y = &mut y[row * WIDTH..(row + rows) * WIDTH];
            let product = Mix { weights, factors: &factors, head, keys, start: &start, y };
            registers.call(Tiles { rows, panels: HEAD / PANEL, product });
        }
    }
}

/// Computes the scores of some queries in a head, plus log₂ of the scales of the values.
struct Score<'a> {
    bytes: &'a [u8],
    scales: &'a [f32],
    head: usize,
    keys: &'a Keys,
    scores: &'a mut [f32],
}

impl Tile for Score<'_> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    ) {
        let (simd, keys) = (registers.simd(), self.keys);
        let (padded, width) = (keys.padded(), V * B::Simd::F32_LANES);
        let first = panel * PANEL;
        let at = self.head * padded + first;
        let rows = (&self.bytes[row * WIDTH + self.head * HEAD..], WIDTH);
        // Hidden from the compiler, which would otherwise unroll the loop and run out of registers.
        let depth = black_box(HEAD);
        let start = registers_of::<Integers<B>, _, V>(&keys.start[at..at + width]);
        let columns = &keys.keys[at * HEAD / 4..];
        let sums = sums::<B, R, V, 0>(registers, rows, columns, depth, start);
        let scale = registers_of::<Floats<B>, _, V>(&keys.scale[first..first + width]);
        let log = registers_of::<Floats<B>, _, V>(&keys.log[first..first + width]);
        for (r, sums) in sums.into_iter().enumerate() {
            let query = simd.splat_f32s(self.scales[row + r]);
            let at = (row + r) * padded + first;
            let (scores, _) = B::Simd::as_mut_simd_f32s(&mut self.scores[at..at + width]);
            for v in 0..V {
                let number = registers.numbers(sums[v]);
                scores[v] = simd.mul_add_f32s(number, simd.mul_f32s(query, scale[v]), log[v]);
            }
        }
    }
}

/// Computes the integer weights of the keys for some queries in a head, and the factors of the weighted sums.
struct Weigh<'a> {
    query: usize,
    head: usize,
    keys: &'a Keys,
    scores: &'a [f32],
    weights: &'a mut [u8],
    factors: &'a mut [f32],
}

impl WithRegisters for Weigh<'_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let Self { query, head, keys, scores, weights, factors } = self;
        let (simd, padded) = (registers.simd(), keys.padded());
        let (inverse, _) = R::Simd::as_simd_f32s(&keys.inverse);
        let (largest, pattern) = (simd.splat_f32s(LARGEST_WEIGHT), &**PATTERN);
        let mut greatest = [simd.splat_f32s(0.0); QUERIES];
        for (scores, greatest) in scores.chunks_exact(padded).zip(&mut greatest) {
            let mut most = [simd.splat_f32s(f32::MIN); 4];
            for four in R::Simd::as_simd_f32s(scores).0.as_chunks::<4>().0 {
                for i in 0..4 {
                    most[i] = simd.max_f32s(most[i], four[i]);
                }
            }
            let [a, b, c, d] = most;
            let most = simd.max_f32s(simd.max_f32s(a, b), simd.max_f32s(c, d));
            *greatest = simd.splat_f32s(simd.reduce_max_f32s(most));
        }
        let rows = scores.chunks_exact(padded).zip(weights.chunks_exact_mut(padded));
        for (row, (scores, weights)) in rows.enumerate() {
            let begin = (23 * (query + row) + 37 * head) % STARTS * PANEL;
            let (pattern, _) = R::Simd::as_simd_f32s(&pattern[begin..begin + padded]);
            let (scores, _) = R::Simd::as_simd_f32s(scores);
            let mut lanes = Lanes([0.0; LANES]);
            let sums = lanes.registers::<R>();
            let count = sums.len();
            for (group, weights) in weights.chunks_exact_mut(LANES).enumerate() {
                for first in (0..count).step_by(4) {
                    let at = group * count + first;
                    let mut numbers = [largest; 4];
                    for i in 0..4 {
                        numbers[i] = simd.sub_f32s(scores[at + i], greatest[row]);
                    }
                    let mut numbers = exp2(registers, numbers);
                    for i in 0..4 {
                        sums[first + i] =
                            simd.mul_add_f32s(numbers[i], inverse[at + i], sums[first + i]);
                        numbers[i] = simd.mul_add_f32s(numbers[i], largest, pattern[at + i]);
                    }
                    registers.store(numbers, &mut weights[first * R::Simd::F32_LANES..]);
                }
            }
            factors[row] = 1.0 / (lanes.sum(registers) * LARGEST_WEIGHT);
        }
    }
}

/// Computes the initial sums of weighted values. A weight of 0 is stored as another byte, whose products they subtract.
struct MixStart<'a> {
    keys: &'a Keys,
    start: &'a mut [i32; WIDTH],
}

impl Tile for MixStart<'_> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        _: usize,
        panel: usize,
    ) {
        let (simd, depth) = (registers.simd(), self.keys.tokens.next_multiple_of(4));
        let first = panel * PANEL;
        // The byte of the weight 0.
        let row = (&[B::ZERO ^ 128; MAX_TOKENS][..], 0);
        let columns = &self.keys.values[first * depth / 4..];
        let zero = [simd.splat_i32s(0); V];
        let [sums] = sums::<B, 1, V, 0>(registers, row, columns, depth, zero);
        for (v, sums) in sums.into_iter().enumerate() {
            let (start, _) = B::Simd::as_mut_simd_i32s(&mut self.start[first..]);
            start[v] = simd.sub_i32s(zero[0], sums);
        }
    }
}

/// Computes the weighted means of the values for some queries in a head.
struct Mix<'a> {
    weights: &'a [u8],
    factors: &'a [f32],
    head: usize,
    keys: &'a Keys,
    /// \[384\]: the initial sums
    start: &'a [i32; WIDTH],
    y: &'a mut [f32],
}

impl Tile for Mix<'_> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    ) {
        let (simd, keys) = (registers.simd(), self.keys);
        let (padded, depth) = (keys.padded(), keys.tokens.next_multiple_of(4));
        let first = self.head * HEAD + panel * PANEL;
        let columns = &keys.values[first * depth / 4..];
        let width = V * B::Simd::F32_LANES;
        let start = registers_of::<Integers<B>, _, V>(&self.start[first..first + width]);
        let weights = (&self.weights[row * padded..], padded);
        let sums = sums::<B, R, V, 0>(registers, weights, columns, depth, start);
        for (r, sums) in sums.into_iter().enumerate() {
            let factor = simd.splat_f32s(self.factors[row + r]);
            let at = (row + r) * WIDTH + first;
            let (y, _) = B::Simd::as_mut_simd_f32s(&mut self.y[at..at + width]);
            for v in 0..V {
                y[v] = simd.mul_f32s(registers.numbers(sums[v]), factor);
            }
        }
    }
}

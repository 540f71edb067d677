//! Self-attention of one text in integers: softmax(q·kᵀ / √32)·v for each head.
//!
//! The weight of a key is 2^(score + log₂(scale of its value) - the greatest such sum), so that the
//! weights of a query are multiplied with the integers of all values. As an integer it has 255 for 1.

use std::{hint::black_box, sync::LazyLock};

use pulp::Simd;

use super::{
    Aligned, Rows, RowsMut,
    functions_i8::{exp2, log2},
    rounding::{LANES, Lanes, first_lane, round},
    tile::{Tile, registers_of, sums, tiles},
};
use crate::kernels::{
    PANEL, SharedSlice,
    arch::{Floats, Integers, Registers, Work},
};

/// How many numbers a token has, before and after.
const WIDTH: usize = 384;
const HEADS: usize = 12;
/// How many numbers of a token a head sees.
const HEAD: usize = WIDTH / HEADS;

/// The queries that are done at once: their scores stay in the first cache.
const QUERIES: usize = 8;

/// What a weight of 1 is multiplied with: the greatest number that is 255 with any addend of the
/// pattern.
const LARGEST_WEIGHT: f32 = 254.9;

/// The logarithm of the scale of a value that is of no token: its weight is 0.
const NO_VALUE: f32 = -1e4;

/// What is added to weights before they are rounded, so that many small ones of a query do not all become
/// 0: numbers within ±½, spread evenly, by key; each query and head begins at another one.
static PATTERN: LazyLock<Aligned<f32>> = LazyLock::new(|| {
    let mut pattern = Aligned::zeros(512 + BEGINNINGS * PANEL);
    for (at, number) in pattern.iter_mut().enumerate() {
        // Multiples of the golden ratio, without their whole part.
        let bits = (at as u32).wrapping_mul(0x9E37_79B9) >> 8;
        // About -128, because the bytes of a row are.
        *number = bits as f32 / 16_777_216.0 - 0.5 - 128.0;
    }
    pattern
});

/// Where the pattern may begin: whole registers apart.
const BEGINNINGS: usize = 64;

/// The keys and values of all tokens of a text.
pub struct Keys {
    tokens: usize,
    /// \[heads, keys / 16, 8, 16\] words of four bytes
    keys: Aligned<u32>,
    /// \[heads, 2, tokens / 4, 16\] words of the bytes of four tokens
    values: Aligned<u32>,
    /// \[heads, keys\]: what a score begins with
    start: Aligned<i32>,
    /// \[keys\]: of a score
    scale: Aligned<f32>,
    /// \[keys\]: log₂ of the scale of a value
    log: Aligned<f32>,
    /// \[keys\]: 1 by the scale of a value
    inverse: Aligned<f32>,
}

impl Keys {
    /// Returns room for the keys and values of so many tokens, at most 512.
    pub fn new(tokens: usize) -> Self {
        // The last ones may be of no token.
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

    /// Returns it, to be filled by several threads.
    pub fn shared(&mut self) -> KeysMut<'_> {
        KeysMut {
            keys: SharedSlice::new(&mut self.keys),
            values: SharedSlice::new(&mut self.values),
            start: SharedSlice::new(&mut self.start),
            scale: SharedSlice::new(&mut self.scale),
            log: SharedSlice::new(&mut self.log),
            inverse: SharedSlice::new(&mut self.inverse),
        }
    }

    fn padded(&self) -> usize {
        self.scale.len()
    }
}

/// [`Keys`], to be filled by several threads.
pub struct KeysMut<'a> {
    keys: SharedSlice<'a, u32>,
    values: SharedSlice<'a, u32>,
    start: SharedSlice<'a, i32>,
    scale: SharedSlice<'a, f32>,
    log: SharedSlice<'a, f32>,
    inverse: SharedSlice<'a, f32>,
}

/// Rounds the queries, keys and values of some tokens, side by side as a product has them.
pub struct Projection<'a> {
    /// \[rows, 3 * 384\]
    pub projected: &'a [f32],
    /// The first of the tokens, a multiple of 4. No other thread fills the keys of these meanwhile.
    pub first: usize,
    /// Where the queries go.
    pub queries: RowsMut<'a>,
    /// Where the keys and values go.
    pub keys: &'a KeysMut<'a>,
}

impl Work for Projection<'_> {
    #[inline(always)]
    fn run<R: Registers>(self, registers: R) {
        let Self { projected, first, queries, keys } = self;
        assert!(first.is_multiple_of(4));
        let padded = keys.scale.len();
        // From bytes of rows to those of columns, which are signed.
        let signed = u32::from_ne_bytes([R::ZERO; 4]);
        let mut bytes = [0; WIDTH];
        for (group, rows) in projected.chunks(4 * 3 * WIDTH).enumerate() {
            let mut values = [[R::ZERO; WIDTH]; 4];
            for (at, row) in rows.chunks_exact(3 * WIDTH).enumerate() {
                let (query, rest) = row.split_at(WIDTH);
                let (key, value) = rest.split_at(WIDTH);
                let row = 4 * group + at;
                let token = first + row;
                queries.scale[row] =
                    round(registers, query, &mut queries.bytes[row * WIDTH..(row + 1) * WIDTH]);
                let key_scale = round(registers, key, &mut bytes);
                let value_scale = round(registers, value, &mut values[at]);
                // SAFETY: what belongs to a token is written by the one task that has it.
                unsafe {
                    keys.scale.part(token..token + 1)[0] =
                        key_scale * (std::f32::consts::LOG2_E / 32_f32.sqrt());
                    keys.log.part(token..token + 1)[0] = log2(value_scale);
                    keys.inverse.part(token..token + 1)[0] = 1.0 / value_scale;
                }
                for (head, bytes) in bytes.as_chunks::<HEAD>().0.iter().enumerate() {
                    let mut sum = 0;
                    for byte in bytes {
                        sum += i32::from((byte ^ R::ZERO).cast_signed());
                    }
                    let panel = head * padded / PANEL + token / PANEL;
                    let start = panel * (HEAD / 4) * PANEL + token % PANEL;
                    let at = head * padded + token;
                    // SAFETY: as above.
                    unsafe { keys.start.part(at..at + 1)[0] = -i32::from(R::ZERO) * sum };
                    for (four, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                        let at = start + four * PANEL;
                        let word = u32::from_ne_bytes(*word) ^ signed;
                        // SAFETY: as above.
                        unsafe { keys.keys.part(at..at + 1)[0] = word };
                    }
                }
            }
            let groups = keys.values.len() / WIDTH;
            let [a, b, c, d] = values.each_ref().map(|row| row.as_chunks::<PANEL>().0);
            for panel in 0..WIDTH / PANEL {
                let at = (panel * groups + first / 4 + group) * PANEL;
                // SAFETY: as above.
                let words = unsafe { keys.values.part(at..at + PANEL) };
                for i in 0..PANEL {
                    let four = [a[panel][i], b[panel][i], c[panel][i], d[panel][i]];
                    words[i] = u32::from_ne_bytes(four) ^ signed;
                }
            }
        }
    }
}

/// The memory for the attention of a few queries.
pub struct Scratch {
    scores: Aligned<f32>,
    weights: Aligned<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { scores: Aligned::zeros(QUERIES * 512), weights: Aligned::zeros(QUERIES * 512) }
    }
}

/// Attends from the queries of some tokens to all keys.
pub fn attend<R: Registers>(
    registers: R,
    queries: Rows,
    first: usize,
    keys: &Keys,
    scratch: &mut Scratch,
    y: &mut [f32],
) {
    assert!(queries.bytes.len() == queries.scale.len() * WIDTH && y.len() == queries.bytes.len());
    let Scratch { scores, weights } = scratch;
    for (chunk, scales) in queries.scale.chunks(QUERIES).enumerate() {
        let row = chunk * QUERIES;
        let (rows, padded) = (scales.len(), keys.padded());
        let (scores, weights) = (&mut scores[..rows * padded], &mut weights[..rows * padded]);
        for head in 0..HEADS {
            let bytes = &queries.bytes[row * WIDTH..(row + rows) * WIDTH];
            registers.call(Score { bytes, scales, head, keys, scores });
            let mut factors = [0.0; QUERIES];
            let query = first + row;
            registers.call(Weigh { query, head, keys, scores, weights, factors: &mut factors });
            let y = &mut y[row * WIDTH..(row + rows) * WIDTH];
            registers.call(Mix { weights, factors: &factors[..rows], head, keys, y });
        }
    }
}

/// The scores of some queries in a head, with log₂ of the scales of the values.
struct Score<'a> {
    bytes: &'a [u8],
    scales: &'a [f32],
    head: usize,
    keys: &'a Keys,
    scores: &'a mut [f32],
}

impl Work for Score<'_> {
    #[inline(always)]
    fn run<R: Registers>(mut self, registers: R) {
        tiles(registers, self.scales.len(), self.keys.padded() / PANEL, &mut self);
    }
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
        let bytes = &self.bytes[row * WIDTH + self.head * HEAD..];
        let columns =
            &bytemuck::cast_slice::<_, u8>(&keys.keys)[(self.head * padded + first) * HEAD..];
        let columns = columns.as_ptr();
        // Unknown to the compiler, which would unroll the loop and run out of registers.
        let depth = black_box(HEAD);
        let start = &keys.start[self.head * padded + first..][..width];
        let start = registers_of::<Integers<B>, _, V>(start);
        // SAFETY: as many rows and keys are there.
        let sums = unsafe {
            sums::<B, R, V, 0>(registers, (bytes.as_ptr(), WIDTH), columns, depth, start)
        };
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

/// The weights of the keys for some queries in a head, and what their mean is multiplied with.
struct Weigh<'a> {
    query: usize,
    head: usize,
    keys: &'a Keys,
    scores: &'a [f32],
    weights: &'a mut [u8],
    factors: &'a mut [f32],
}

impl Work for Weigh<'_> {
    #[inline(always)]
    fn run<R: Registers>(self, registers: R) {
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
            let begin = (23 * (query + row) + 37 * head) % BEGINNINGS * PANEL;
            let (pattern, _) = R::Simd::as_simd_f32s(&pattern[begin..begin + padded]);
            let (scores, _) = R::Simd::as_simd_f32s(scores);
            let mut lanes = Lanes::default();
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
            let sum = simd.mul_f32s(lanes.sum(registers), largest);
            factors[row] = first_lane::<R>(simd.div_f32s(simd.splat_f32s(1.0), sum));
        }
    }
}

/// The means of the values by the weights of some queries in a head.
struct Mix<'a> {
    weights: &'a [u8],
    factors: &'a [f32],
    head: usize,
    keys: &'a Keys,
    y: &'a mut [f32],
}

impl Work for Mix<'_> {
    #[inline(always)]
    fn run<R: Registers>(mut self, registers: R) {
        tiles(registers, self.factors.len(), HEAD / PANEL, &mut self);
    }
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
        let columns = &bytemuck::cast_slice::<_, u8>(&keys.values)[first * depth..];
        let mut start = [simd.splat_i32s(0); V];
        if B::ZERO == 0 {
            // The bytes of weights are 128 less than they: twice 64 times the sum of the values.
            let row = [64_u8; 512];
            for _ in 0..2 {
                let row = (row.as_ptr(), 0);
                // SAFETY: there are at most 512 tokens, and as many values.
                [start] =
                    unsafe { sums::<B, 1, V, 0>(registers, row, columns.as_ptr(), depth, start) };
            }
        }
        let weights = &self.weights[row * padded..];
        // SAFETY: as many rows and values are there.
        let sums = unsafe {
            sums::<B, R, V, 0>(
                registers,
                (weights.as_ptr(), padded),
                columns.as_ptr(),
                depth,
                start,
            )
        };
        for (r, sums) in sums.into_iter().enumerate() {
            let factor = simd.splat_f32s(self.factors[row + r]);
            let at = (row + r) * WIDTH + first;
            let (y, _) = B::Simd::as_mut_simd_f32s(&mut self.y[at..at + V * B::Simd::F32_LANES]);
            for v in 0..V {
                y[v] = simd.mul_f32s(registers.numbers(sums[v]), factor);
            }
        }
    }
}

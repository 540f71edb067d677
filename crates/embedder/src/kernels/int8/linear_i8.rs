//! Linear layers: quantized rows times quantized weights.

use pulp::Simd;

use super::{
    Aligned, Quantized,
    functions_i8::gelu,
    quantize::{LARGEST, block},
    tile::{Tile, registers_of, sums, tiles},
};
use crate::kernels::{
    LinearWeights, PANEL,
    arch::{Floats, Integers, ROUNDING, Registers, Work},
};

/// The weights of a linear layer in integers, rotated like the rows that they are multiplied with.
pub struct Int8Weights {
    /// \[columns / 16, depth / 4, 16\]: words of four bytes
    panels: Aligned<u32>,
    /// \[columns\]: the initial sums, which cancel [`Registers::ZERO`] out
    start: Aligned<i32>,
    /// \[columns\]
    scale: Aligned<f32>,
    /// \[columns\]
    bias: Aligned<f32>,
    depth: usize,
}

impl Int8Weights {
    /// Rotates the weights of a layer in blocks of its inputs, and rounds them for the registers `R`.
    ///
    /// # Panics
    ///
    /// If the shapes do not fit, or the depth is not a multiple of the size of a block.
    pub fn new<R: Registers>(registers: R, weights: LinearWeights) -> Self {
        let (columns, depth) = (weights.columns(), weights.depth());
        let block = block(depth);
        assert!(depth.is_multiple_of(block));
        assert!(weights.values.len() == depth * columns && columns.is_multiple_of(PANEL));
        let mut quantized = Self {
            panels: Aligned::zeros(depth * columns / 4),
            start: Aligned::zeros(columns),
            scale: Aligned::zeros(columns),
            bias: Aligned::copy(weights.bias),
            depth,
        };
        registers.call(QuantizeWeights { weights, block, quantized: &mut quantized });
        quantized
    }

    fn columns(&self) -> usize {
        self.scale.len()
    }
}

struct QuantizeWeights<'a> {
    weights: LinearWeights<'a>,
    block: usize,
    quantized: &'a mut Int8Weights,
}

impl Work for QuantizeWeights<'_> {
    #[inline(always)]
    fn run<R: Registers>(self, registers: R) {
        let simd = registers.simd();
        let rounding = simd.splat_f32s(ROUNDING);
        let (byte_bits, low_byte) = (simd.splat_u32s(u8::BITS), simd.splat_u32s(0xff));
        let Int8Weights { panels, start, scale, depth, .. } = self.quantized;
        let mut rotated = vec![[0.0_f32; PANEL]; *depth];
        let values = self.weights.values.chunks_exact(*depth * PANEL);
        for ((panel, values), words) in
            values.enumerate().zip(panels.chunks_exact_mut(*depth * PANEL / 4))
        {
            let mut greatest = [0.0_f32; PANEL];
            let blocks = values.as_chunks::<PANEL>().0.chunks_exact(self.block);
            for (rotated, values) in rotated.chunks_exact_mut(self.block).zip(blocks) {
                for (to, from) in rotated.as_flattened_mut().iter_mut().zip(values.as_flattened()) {
                    *to = f32::from(*from);
                }
                rotate(rotated);
                for row in rotated {
                    for (greatest, x) in greatest.iter_mut().zip(row) {
                        let size = x.abs();
                        *greatest = if size > *greatest { size } else { *greatest };
                    }
                }
            }
            let mut inverse = [0.0; PANEL];
            let first = panel * PANEL;
            for i in 0..PANEL {
                inverse[i] = if greatest[i] > 0.0 { LARGEST / greatest[i] } else { 0.0 };
                // The product of rotated factors is `block` times that of the factors.
                let mean = greatest[i] / self.block as f32;
                scale[first + i] = self.weights.scale[first + i] * mean / LARGEST;
            }
            let (inverse, _) = R::Simd::as_simd_f32s(&inverse);
            // Integers below 2²⁴, so exact.
            let mut sums = [0.0; PANEL];
            let (register_sums, _) = R::Simd::as_mut_simd_f32s(&mut sums);
            for (words, rows) in words.chunks_exact_mut(PANEL).zip(rotated.chunks_exact(4)) {
                let (words, _) = R::Simd::as_mut_simd_u32s(words);
                for i in 0..words.len() {
                    let mut word = simd.splat_u32s(0);
                    // Little-endian: the last row is the high byte.
                    for row in rows.iter().rev() {
                        let (row, _) = R::Simd::as_simd_f32s(row);
                        // The low bits of `shifted` are the integer, within ±127.
                        let shifted = simd.add_f32s(simd.mul_f32s(row[i], inverse[i]), rounding);
                        let integer = simd.sub_f32s(shifted, rounding);
                        register_sums[i] = simd.add_f32s(register_sums[i], integer);
                        let byte = simd.and_u32s(simd.transmute_u32s_f32s(shifted), low_byte);
                        word = simd.or_u32s(simd.wrapping_dyn_shl_u32s(word, byte_bits), byte);
                    }
                    words[i] = word;
                }
            }
            for i in 0..PANEL {
                start[first + i] = -i32::from(R::ZERO) * sums[i] as i32;
            }
        }
    }
}

/// Hadamard transform of each column of a block, unnormalised. Exact in float32, because the sums are of up to 512
/// integers of 16 bits.
#[inline(always)]
fn rotate(block: &mut [[f32; PANEL]]) {
    let mut half = block.len() / 2;
    while half > 0 {
        for pair in block.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            for k in 0..half {
                for i in 0..PANEL {
                    (a[k][i], b[k][i]) = (a[k][i] + b[k][i], a[k][i] - b[k][i]);
                }
            }
        }
        half /= 2;
    }
}

/// A linear layer: `y = rows W + bias`, or `y += …` with `ADD`, or `y = gelu(…)` with `GELU`.
pub struct Multiply<'a, const ADD: bool, const GELU: bool> {
    rows: Quantized<'a>,
    weights: &'a Int8Weights,
    y: &'a mut [f32],
}

impl<'a, const ADD: bool, const GELU: bool> Multiply<'a, ADD, GELU> {
    /// Makes a layer with the output `y` \[rows, columns\].
    ///
    /// # Panics
    ///
    /// If the shapes do not fit.
    pub fn new(rows: Quantized<'a>, weights: &'a Int8Weights, y: &'a mut [f32]) -> Self {
        assert!(rows.bytes.len() == rows.scale.len() * weights.depth);
        assert!(y.len() == rows.scale.len() * weights.columns());
        Self { rows, weights, y }
    }
}

impl<const ADD: bool, const GELU: bool> Work for Multiply<'_, ADD, GELU> {
    #[inline(always)]
    fn run<R: Registers>(mut self, registers: R) {
        tiles(registers, self.rows.scale.len(), self.weights.columns() / PANEL, &mut self);
    }
}

impl<const ADD: bool, const GELU: bool> Tile for Multiply<'_, ADD, GELU> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    ) {
        let simd = registers.simd();
        let Int8Weights { panels, start, scale, bias, depth } = self.weights;
        let width = V * B::Simd::F32_LANES;
        let (first, count) = (panel * PANEL, self.weights.columns());
        let start = registers_of::<Integers<B>, _, V>(&start[first..first + width]);
        let rows = (&self.rows.bytes[row * depth..], *depth);
        let columns = &panels[first * depth / 4..];
        let sums = sums::<B, R, V, 24>(registers, rows, columns, *depth, start);
        let scale = registers_of::<Floats<B>, _, V>(&scale[first..first + width]);
        let bias = registers_of::<Floats<B>, _, V>(&bias[first..first + width]);
        for (r, sums) in sums.into_iter().enumerate() {
            let row_scale = simd.splat_f32s(self.rows.scale[row + r]);
            let at = (row + r) * count + first;
            let (y, _) = B::Simd::as_mut_simd_f32s(&mut self.y[at..at + width]);
            let y = y.first_chunk_mut::<V>().expect("V registers");
            let mut numbers = bias;
            for v in 0..V {
                let number = registers.numbers(sums[v]);
                numbers[v] = simd.mul_add_f32s(number, simd.mul_f32s(row_scale, scale[v]), bias[v]);
            }
            if GELU {
                numbers = gelu(registers, numbers);
            }
            for v in 0..V {
                y[v] = if ADD { simd.add_f32s(numbers[v], y[v]) } else { numbers[v] };
            }
        }
    }
}

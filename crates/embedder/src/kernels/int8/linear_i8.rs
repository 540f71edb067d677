//! Linear layers: quantized rows times quantized weights.

use pulp::Simd;

use super::{
    quantize::{LARGEST, Quantized, block, rotate, round},
    tile::{Tile, Tiles, registers_of, sums},
};
use crate::kernels::{
    arch::{Floats, Integers, Registers, WithRegisters},
    buffers::Aligned,
    float::{LinearWeights, PANEL},
};

/// Rotated integer weights of a linear layer. The rows that they multiply are rotated likewise. `scale` and `bias` are
/// \[columns\].
pub struct Int8Weights {
    /// \[columns / 16, depth / 4, 16\]: words of four bytes
    panels: Aligned<u32>,
    /// \[columns\]: the initial sums, from [`Registers::column`]
    start: Aligned<i32>,
    scale: Aligned<f32>,
    bias: Aligned<f32>,
    depth: usize,
}

impl Int8Weights {
    /// Rotates the weights of a layer in blocks of its inputs, and rounds them for the registers `R`. Panics if the
    /// shapes do not fit, or the depth is not a multiple of the size of a block.
    pub fn new<R: Registers>(registers: R, weights: &LinearWeights) -> Self {
        let (columns, depth) = (weights.columns(), weights.depth());
        assert!(depth.is_multiple_of(block(depth)));
        assert!(weights.values.len() == depth * columns && columns.is_multiple_of(PANEL));
        let mut quantized = Self {
            panels: Aligned::zeros(depth * columns / 4),
            start: Aligned::zeros(columns),
            scale: Aligned::zeros(columns),
            bias: Aligned::copy(&weights.bias),
            depth,
        };
        registers.call(QuantizeWeights { weights, quantized: &mut quantized });
        quantized
    }

    fn columns(&self) -> usize {
        self.scale.len()
    }
}

struct QuantizeWeights<'a> {
    weights: &'a LinearWeights<'a>,
    quantized: &'a mut Int8Weights,
}

impl WithRegisters for QuantizeWeights<'_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let Int8Weights { panels, start, scale, depth, .. } = self.quantized;
        let (depth, block) = (*depth, block(*depth));
        let (mut column, mut bytes) = (Aligned::zeros(depth), Aligned::<u8>::zeros(depth));
        let values = self.weights.values.chunks_exact(depth * PANEL);
        let panels = panels.chunks_exact_mut(depth * PANEL / 4).zip(values);
        for (panel, (words, values)) in panels.enumerate() {
            for lane in 0..PANEL {
                for (x, line) in column.iter_mut().zip(values.as_chunks::<PANEL>().0) {
                    *x = f32::from(line[lane]);
                }
                // Exact, because the sums are of up to 512 integers of 16 bits.
                rotate(registers, &mut column);
                let greatest = round(registers, &column, &mut bytes);
                let at = panel * PANEL + lane;
                start[at] = R::column(&mut bytes);
                for (word, four) in words.chunks_exact_mut(PANEL).zip(bytes.as_chunks().0) {
                    word[lane] = u32::from_ne_bytes(*four);
                }
                // The product of rotated factors is `block` times that of the factors.
                scale[at] = self.weights.scale[at] * (greatest / block as f32) / LARGEST;
            }
        }
    }
}

/// A linear layer: `y = rows W + bias`, or `y += …` with `ADD`.
pub struct Multiply<'a, const ADD: bool> {
    rows: &'a Quantized<'a>,
    weights: &'a Int8Weights,
    y: &'a mut [f32],
}

impl<'a, const ADD: bool> Multiply<'a, ADD> {
    /// Makes a layer with the output `y` \[rows, columns\]. Panics if the shapes do not fit.
    pub fn new(rows: &'a Quantized<'a>, weights: &'a Int8Weights, y: &'a mut [f32]) -> Tiles<Self> {
        let (count, columns) = (rows.scale.len(), weights.columns());
        assert!(rows.bytes.len() == count * weights.depth && y.len() == count * columns);
        Tiles { rows: count, panels: columns / PANEL, product: Self { rows, weights, y } }
    }
}

impl<const ADD: bool> Tile for Multiply<'_, ADD> {
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
            for v in 0..V {
                y[v] = if ADD { simd.add_f32s(numbers[v], y[v]) } else { numbers[v] };
            }
        }
    }
}

//! Quantization of rows to bytes, and the operations before it: normalisation and rotation.

use pulp::Simd;

use super::functions_i8::gelu;
use crate::{
    kernels::{
        arch::{Floats, Registers, WithRegisters},
        float::{Norm, PANEL},
    },
    shape::{EPSILON, WIDTH},
};

/// The largest quantized integer.
pub const LARGEST: f32 = 127.0;

/// 2⁻¹⁰⁰. A row with a smaller maximum is quantized as if that were its maximum, because `LARGEST` divided by a much smaller
/// number overflows.
const LEAST: f32 = 7.888_609e-31;

/// The numbers that are rotated in registers.
const BLOCK: usize = 128;

/// Quantized rows, `bytes` \[rows, depth\] and `scale` \[rows\]: a byte stands for about `(byte - ZERO) * scale`.
pub struct Quantized<'a> {
    pub bytes: &'a mut [u8],
    pub scale: &'a mut [f32],
}

/// Normalises each row of `x` \[rows, 384\] in place: `(x - mean) / √(variance + 1e-12) * gamma + beta`. Also rotates and
/// quantizes the result if `quantized`, of the same shape, is given.
pub struct Normalize<'a, 'b> {
    pub x: &'a mut [f32],
    pub norm: &'a Norm<'a>,
    pub quantized: Option<&'a mut Quantized<'b>>,
}

impl WithRegisters for Normalize<'_, '_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let Self { x, norm, mut quantized } = self;
        for (row, x) in x.chunks_exact_mut(WIDTH).enumerate() {
            normalize(registers, x, norm);
            if let Some(Quantized { bytes, scale }) = &mut quantized {
                let mut rotated = [0.0; WIDTH];
                rotated.copy_from_slice(x);
                rotate(registers, &mut rotated);
                let bytes = &mut bytes[row * WIDTH..(row + 1) * WIDTH];
                scale[row] = quantize(registers, &rotated, bytes);
            }
        }
    }
}

#[inline(always)]
fn normalize<R: Registers>(registers: R, x: &mut [f32], Norm { gamma, beta }: &Norm) {
    let simd = registers.simd();
    let (x, _) = R::Simd::as_mut_simd_f32s(x);
    let (gamma, beta) = (R::Simd::as_simd_f32s(gamma).0, R::Simd::as_simd_f32s(beta).0);
    let mut lanes = Lanes([0.0; LANES]);
    let sums = lanes.registers::<R>();
    for x in x.chunks_exact(sums.len()) {
        for i in 0..sums.len() {
            sums[i] = simd.add_f32s(sums[i], x[i]);
        }
    }
    let mean = simd.splat_f32s(lanes.sum(registers) / WIDTH as f32);
    let mut lanes = Lanes([0.0; LANES]);
    let squares = lanes.registers::<R>();
    for x in x.chunks_exact_mut(squares.len()) {
        for i in 0..squares.len() {
            x[i] = simd.sub_f32s(x[i], mean);
            squares[i] = simd.mul_add_f32s(x[i], x[i], squares[i]);
        }
    }
    let variance = lanes.sum(registers) / WIDTH as f32;
    let factor = simd.splat_f32s(1.0 / (variance + EPSILON).sqrt());
    for (at, x) in x.iter_mut().enumerate() {
        *x = simd.mul_add_f32s(simd.mul_f32s(*x, factor), gamma[at], beta[at]);
    }
}

/// The partial results of a reduction: 64, whatever the width of registers. So all registers reduce in the same order.
#[repr(align(64))]
pub struct Lanes(pub [f32; LANES]);

pub const LANES: usize = 64;

impl Lanes {
    /// Returns the lanes in registers.
    #[inline(always)]
    pub fn registers<R: Registers>(&mut self) -> &mut [Floats<R>] {
        R::Simd::as_mut_simd_f32s(&mut self.0).0
    }

    #[inline(always)]
    pub fn sum<R: Registers>(&mut self, registers: R) -> f32 {
        self.reduce::<R, true>(registers)
    }

    /// Returns the sum of all or their maximum. The maximum is of numbers that are not negative, and NaN if one is NaN.
    #[inline(always)]
    fn reduce<R: Registers, const SUM: bool>(&mut self, registers: R) -> f32 {
        let numbers = self.registers::<R>();
        let mut half = numbers.len() / 2;
        while half > 0 {
            for i in 0..half {
                numbers[i] = combine::<R, SUM>(registers, numbers[i], numbers[i + half]);
            }
            half /= 2;
        }
        let mut all = numbers[0];
        if R::Simd::F32_LANES > 8 {
            all = combine::<R, SUM>(registers, all, registers.swap::<8>(all));
        }
        if R::Simd::F32_LANES > 4 {
            all = combine::<R, SUM>(registers, all, registers.swap::<4>(all));
        }
        all = combine::<R, SUM>(registers, all, registers.swap::<2>(all));
        all = combine::<R, SUM>(registers, all, registers.swap::<1>(all));
        bytemuck::cast_slice(bytemuck::bytes_of(&all))[0]
    }
}

/// Returns the sum of two registers, or the maximum of each lane, compared as integers, of which NaN is the greatest.
#[inline(always)]
fn combine<R: Registers, const SUM: bool>(registers: R, a: Floats<R>, b: Floats<R>) -> Floats<R> {
    let simd = registers.simd();
    if SUM {
        return simd.add_f32s(a, b);
    }
    let (a, b) = (simd.transmute_u32s_f32s(a), simd.transmute_u32s_f32s(b));
    simd.transmute_f32s_u32s(simd.max_u32s(a, b))
}

/// Rotates each row of `x` \[rows, depth\] in place, after GELU if `gelu`, and quantizes it into `quantized`, of the same
/// shape.
pub struct Quantize<'a, 'b> {
    pub x: &'a mut [f32],
    pub gelu: bool,
    pub quantized: &'a mut Quantized<'b>,
}

impl WithRegisters for Quantize<'_, '_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        let Self { x, gelu: has_gelu, quantized: Quantized { bytes, scale } } = self;
        let depth = x.len() / scale.len();
        let rows = x.chunks_exact_mut(depth).zip(bytes.chunks_exact_mut(depth));
        for ((x, bytes), scale) in rows.zip(scale.iter_mut()) {
            if has_gelu {
                for four in R::Simd::as_mut_simd_f32s(x).0.as_chunks_mut::<4>().0 {
                    *four = gelu(registers, *four);
                }
            }
            rotate(registers, x);
            *scale = quantize(registers, x, bytes);
        }
    }
}

/// Returns the size of the blocks in which rows of this length are rotated: 512 if it divides the length, or 128.
pub const fn block(depth: usize) -> usize {
    if depth.is_multiple_of(4 * BLOCK) { 4 * BLOCK } else { BLOCK }
}

/// Hadamard transform of each block of a row.
#[inline(always)]
pub fn rotate<R: Registers>(registers: R, row: &mut [f32]) {
    let simd = registers.simd();
    for x in row.chunks_exact_mut(block(row.len())) {
        if x.len() > BLOCK {
            let (x, _) = R::Simd::as_mut_simd_f32s(x);
            let quarter = x.len() / 4;
            for i in 0..quarter {
                let four = [x[i], x[i + quarter], x[i + 2 * quarter], x[i + 3 * quarter]];
                let four = butterflies(simd, four);
                for (part, number) in four.into_iter().enumerate() {
                    x[i + part * quarter] = number;
                }
            }
        }
        for x in x.chunks_exact_mut(BLOCK) {
            rotate_block(registers, x);
        }
    }
}

/// Hadamard transform of 128 numbers: eight lines of sixteen first, then within the lines.
#[inline(always)]
fn rotate_block<R: Registers>(registers: R, x: &mut [f32]) {
    let simd = registers.simd();
    let (x, _) = R::Simd::as_mut_simd_f32s(x);
    let line = PANEL / R::Simd::F32_LANES;
    for i in 0..line {
        let mut eight = [simd.splat_f32s(0.0); 8];
        for part in 0..8 {
            eight[part] = x[part * line + i];
        }
        eight = butterflies(simd, eight);
        if line == 1 {
            eight = lanes::<R, 8, 8>(registers, eight);
            eight = lanes::<R, 4, 8>(registers, eight);
            eight = lanes::<R, 2, 8>(registers, eight);
            eight = lanes::<R, 1, 8>(registers, eight);
        }
        for part in 0..8 {
            x[part * line + i] = eight[part];
        }
    }
    if line > 1 {
        for four in x.as_chunks_mut::<4>().0 {
            *four = match line {
                4 => butterflies(simd, *four),
                _ => {
                    let [a, b, c, d] = *four;
                    let ([a, b], [c, d]) = (butterflies(simd, [a, b]), butterflies(simd, [c, d]));
                    lanes::<R, 4, 4>(registers, [a, b, c, d])
                }
            };
            *four = lanes::<R, 2, 4>(registers, *four);
            *four = lanes::<R, 1, 4>(registers, *four);
        }
    }
}

/// Hadamard transform of `N` registers, largest stride first.
#[inline(always)]
fn butterflies<S: Simd, const N: usize>(simd: S, mut x: [S::f32s; N]) -> [S::f32s; N] {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..N {
            if i & half == 0 {
                let (a, b) = (x[i], x[i + half]);
                (x[i], x[i + half]) = (simd.add_f32s(a, b), simd.sub_f32s(a, b));
            }
        }
        half /= 2;
    }
    x
}

/// Replaces the lanes that are `DISTANCE` apart by their sums and differences.
#[inline(always)]
fn lanes<R: Registers, const DISTANCE: usize, const N: usize>(
    registers: R,
    mut x: [Floats<R>; N],
) -> [Floats<R>; N] {
    const fn signs(distance: usize) -> [f32; PANEL] {
        let mut signs = [1.0; PANEL];
        let mut lane = 0;
        while lane < PANEL {
            if lane & distance != 0 {
                signs[lane] = -1.0;
            }
            lane += 1;
        }
        signs
    }
    let signs = const { signs(DISTANCE) };
    let (signs, _) = R::Simd::as_simd_f32s(&signs);
    for x in &mut x {
        *x = registers.simd().mul_add_f32s(*x, signs[0], registers.swap::<DISTANCE>(*x));
    }
    x
}

/// Quantizes a row to bytes within 127 of [`Registers::ZERO`]. Returns the scale, which is finite only if all numbers
/// are.
#[inline(always)]
pub fn quantize<R: Registers>(registers: R, row: &[f32], bytes: &mut [u8]) -> f32 {
    round(registers, row, bytes) / LARGEST
}

/// As [`quantize`], but returns the number that 127 stands for.
#[inline(always)]
pub fn round<R: Registers>(registers: R, row: &[f32], bytes: &mut [u8]) -> f32 {
    let simd = registers.simd();
    let (numbers, _) = R::Simd::as_simd_f32s(row);
    let mut lanes = Lanes([LEAST; LANES]);
    let most = lanes.registers::<R>();
    for x in numbers.chunks_exact(most.len()) {
        for i in 0..most.len() {
            most[i] = combine::<R, false>(registers, most[i], simd.abs_f32s(x[i]));
        }
    }
    let greatest = lanes.reduce::<R, false>(registers);
    let inverse = simd.splat_f32s(LARGEST / greatest);
    let (fours, _) = numbers.as_chunks::<4>();
    for (x, bytes) in fours.iter().zip(bytes.chunks_exact_mut(4 * R::Simd::F32_LANES)) {
        let mut four = *x;
        for x in &mut four {
            *x = simd.mul_f32s(*x, inverse);
        }
        registers.store(four, bytes);
    }
    greatest
}

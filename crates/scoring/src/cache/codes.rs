//! The rows of a large cache as 8-bit codes, so that a search reads few rows in float32.
//!
//! A row `x` is about `step · (16h + l − 136)`, with an `h` and an `l` of 4 bits each for every number. A search reads
//! the `h` of all rows, an eighth of their float32, then the `l` of those that can still be the nearest, then the
//! float32 of those that remain.
//!
//! # Why nothing is missed
//!
//! Let `c` be the decoded codes of a row `x`, and `z` those of the query `y`. Then `x·y = c·z + (x − c)·y + c·(y − z)`,
//! and since `|c| ≤ |x| + |x − c|`, by Cauchy–Schwarz
//!
//! ```text
//! x·y ≤ c·z + |x − c| (|y| + |y − z|) + |x| |y − z|
//! ```
//!
//! What the float32 search finds for `x·y`, in whatever order it adds `n` products and whether it rounds
//! them or not, is off by at most `γ |x| |y|`, where `γ = nu / (1 − nu) ≤ 2nu` and `u = 2⁻²⁴` (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, 3.1), and by `n · 2⁻¹⁴⁹` for underflow. Here
//!
//! - `|x|` and `|y|` are at most [`LONGEST`];
//! - `|x − c|` and `|y − z|` are *measured*, in float64, where their relative error is below `n · 2⁻⁵²`,
//!   which [`length`] compensates. So the quality of the codes affects how much is read, not what is found;
//! - `c·z` is a sum of integers, exact in every kernel, times two steps. The rounding of this and of
//!   the bound, all in float64 and of numbers below 1000, is below [`SLACK`].
//!
//! So a row is passed over only if its bound is less than the least of the best so far, or than the minimum that is asked
//! for. The result is that of a full search, the first of equals included. The search clamps values to ±1, which keeps
//! their order, and the bound to at least −1.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::_MM_HINT_T0;
use std::{convert::Infallible, ops::Range};

use knowledgepulse_workers::share_out;
use memmap2::MmapMut;
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};
#[cfg(target_arch = "x86_64")]
use pulp::{
    bytemuck::cast_slice_mut,
    cast,
    core_arch::x86::Sse,
    i8x32, i8x64, u8x32, u8x64, u32x8, u32x16,
    x86::{V3, V4},
};

use super::similarity::{Best, TOLERANCE};

/// The maximum number of numbers in a row: a query has 8 bits or more, and the sum of its products with codes 32.
pub const MOST_NUMBERS: usize = 1 << 20;

/// No row is longer: they have length 1 up to rounding, or up to the tolerance of a snapshot.
const LONGEST: f64 = 1.0 + 1.01 * TOLERANCE;

/// Independent sums. The length of a row is a multiple of this.
const LANES: usize = 16;

/// Rows that a thread encodes at a time.
const SHARE: usize = 256;

/// More than float64 rounds off, and more than underflows.
const SLACK: f64 = 1e-12;

/// Allocates zeros; returns `None` if there is not enough memory. Uses large pages where the system has them, because with
/// small ones a search spends as long on address translation as on reading.
fn mapped(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    // A refusal only costs time.
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

/// The rows of a ring as codes, slot by slot.
#[derive(Debug)]
pub struct Codes {
    /// Bytes of a row in either plane.
    row: usize,
    /// The `h` of all rows, and the `l`: those of the first half of a row are in the lower halves of its
    /// bytes, those of the second half in the upper ones.
    planes: [MmapMut; 2],
    /// The step of each row, and upper bounds of `|x − c|`: without `l`, and with it.
    errors: Vec<[f32; 3]>,
}

impl Codes {
    /// Returns codes for `slots` rows of `numbers` numbers, an even number of at most [`MOST_NUMBERS`]; `None` if there
    /// is not enough memory. The first rows are `rows`, of length 1 or zero. Uses two threads.
    pub fn new(slots: usize, numbers: usize, rows: &[f32]) -> Option<Self> {
        let row = numbers / 2;
        let [mut high, mut low] = [mapped(slots * row)?, mapped(slots * row)?];
        let mut errors = Vec::new();
        errors.try_reserve_exact(slots).ok()?;
        errors.resize(slots, [0.0; 3]);
        let shares = rows
            .chunks(SHARE * numbers)
            .zip(high.chunks_mut(SHARE * row))
            .zip(low.chunks_mut(SHARE * row))
            .zip(errors.chunks_mut(SHARE));
        let Ok(()) = share_out(shares, |(((rows, high), low), errors)| {
            let planes = high.chunks_mut(row).zip(low.chunks_mut(row));
            for ((row, (high, low)), errors) in rows.chunks(numbers).zip(planes).zip(errors) {
                *errors = Arch::new().dispatch(Encode { row, planes: [high, low] });
            }
            Ok::<_, Infallible>(())
        });
        Some(Self { row, planes: [high, low], errors })
    }

    /// Returns the size in bytes.
    pub fn memory(&self) -> usize {
        2 * self.planes[0].len() + size_of_val(&self.errors[..])
    }

    /// Writes a row, of length 1 or zero, to a slot.
    pub fn set(&mut self, slot: usize, row: &[f32]) {
        let planes = self.planes.each_mut().map(|plane| &mut plane[slot * self.row..][..self.row]);
        self.errors[slot] = Arch::new().dispatch(Encode { row, planes });
    }

    /// Copies the row of a slot to another.
    pub fn copy(&mut self, from: usize, to: usize) {
        for plane in &mut self.planes {
            plane.copy_within(from * self.row..(from + 1) * self.row, to * self.row);
        }
        self.errors[to] = self.errors[from];
    }

    /// Offers every slot that can be among the `best`. `slots` are in order of age, the oldest first.
    ///
    /// `value` must return the float32 dot product of the row of a slot with `query`, clamped to ±1. The length of the
    /// query must be 1 or 0.
    pub fn search(
        &self,
        query: &[f32],
        slots: [Range<usize>; 2],
        best: &mut Best,
        value: impl Fn(usize) -> f32,
    ) {
        let query = &Query::new(query);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(kernel) = V4::try_new() {
                return kernel.vectorize(Search { kernel, codes: self, query, slots, best, value });
            }
            if let Some(kernel) = V3::try_new() {
                return kernel.vectorize(Search { kernel, codes: self, query, slots, best, value });
            }
        }
        Search { kernel: Plain, codes: self, query, slots, best, value }.call();
    }
}

#[inline(always)]
fn greatest_magnitude(row: &[f32]) -> f32 {
    let mut greatest = [0.0_f32; LANES];
    for numbers in row.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            greatest[lane] = greatest[lane].max(numbers[lane].abs());
        }
    }
    greatest.into_iter().fold(0.0, f32::max)
}

/// Returns an upper bound of a vector's length, from its rounded squared length.
fn length(square: f64) -> f64 {
    square.sqrt() * (1.0 + 1.0 / f64::from(1 << 20))
}

/// Writes the codes of a row. Returns the step size, and the errors of the upper plane alone and of both planes.
struct Encode<'a> {
    row: &'a [f32],
    planes: [&'a mut [u8]; 2],
}

impl WithSimd for Encode<'_> {
    type Output = [f32; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; 3] {
        let Self { row, planes: [high, low] } = self;
        // Codes are 136 ± 119: 0 is exact, with its `h` alone as well, and no `h` exceeds 4 bits.
        let step = greatest_magnitude(row) / 119.0;
        let steps = 1.0 / step;
        let mut codes = vec![0; row.len()];
        for (code, number) in codes.iter_mut().zip(row) {
            // The low bits of a float32 of 2²³ or more are those of the integer. If the step is 0 this is NaN, and any
            // code is right.
            *code = (number * steps + ((1 << 23) as f32 + 136.0)).to_bits() as u8;
        }
        let (first, second) = codes.split_at(row.len() / 2);
        for (((high, low), first), second) in high.iter_mut().zip(low).zip(first).zip(second) {
            *high = first >> 4 | second & 0xF0;
            *low = first & 0x0F | second << 4;
        }
        [step, missing(row, &codes, step, 0xF0, 128), missing(row, &codes, step, 0xFF, 136)]
    }
}

/// Returns an upper bound of the distance between a row and the decoded `bits` of its codes; `zero` is the code of 0.
#[inline(always)]
fn missing(row: &[f32], codes: &[u8], step: f32, bits: u8, zero: i32) -> f32 {
    let mut squares = [0.0; LANES];
    for (numbers, codes) in row.as_chunks::<LANES>().0.iter().zip(codes.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let code = f64::from(step) * f64::from(i32::from(codes[lane] & bits) - zero);
            let missing = f64::from(numbers[lane]) - code;
            squares[lane] += missing * missing;
        }
    }
    length(squares.iter().sum()) as f32
}

/// A query in 8 bits.
struct Query {
    numbers: Vec<i8>,
    sum: f64,
    step: f64,
    /// An upper bound of `|y − z|`.
    missing: f64,
    /// An upper bound of the rounding of the float32 search and of this one.
    rounding: f64,
}

impl Query {
    fn new(query: &[f32]) -> Self {
        let step = greatest_magnitude(query) / 127.0;
        let numbers: Vec<_> = query.iter().map(|number| (number / step).round() as i8).collect();
        let sum = numbers.iter().copied().map(f64::from).sum();
        let step = f64::from(step);
        let missing = query
            .iter()
            .zip(&numbers)
            .map(|(number, code)| (f64::from(*number) - step * f64::from(*code)).powi(2));
        let missing = length(missing.sum());
        let rounding = query.len() as f64 / f64::from(1 << 23) * LONGEST * LONGEST + SLACK;
        Self { numbers, sum, step, missing, rounding }
    }

    /// Returns an upper bound of the value of a row, from its step, its error, and the sum of the products of its codes
    /// with those of the query.
    #[inline(always)]
    fn bound(&self, step: f32, missing: f32, products: f64) -> f64 {
        let missing = f64::from(missing) * (LONGEST + self.missing) + LONGEST * self.missing;
        (f64::from(step) * self.step * products + missing + self.rounding).max(-1.0)
    }
}

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// A search with the kernel of one processor.
struct Search<'a, 'b, K, V> {
    kernel: K,
    codes: &'a Codes,
    query: &'a Query,
    slots: [Range<usize>; 2],
    best: &'a mut Best<'b>,
    value: V,
}

impl<K: Kernel, V: Fn(usize) -> f32> Search<'_, '_, K, V> {
    /// The sum of the products of one plane of a row with the query.
    #[inline(always)]
    fn products(&self, plane: usize, slot: usize) -> f64 {
        let row = &self.codes.planes[plane][slot * self.codes.row..][..self.codes.row];
        self.kernel.dot(row, self.query.numbers.split_at(self.codes.row)).into()
    }

    /// Returns whether the row of a slot can have a value of at least `least`: by its `h`, then by all of its codes.
    #[inline(always)]
    fn reaches(&self, slot: usize, least: f64) -> bool {
        let (Query { sum, .. }, [step, most, missing]) = (self.query, self.codes.errors[slot]);
        let high = 16.0 * self.products(0, slot);
        self.query.bound(step, most, high - 128.0 * sum) >= least && {
            let all = high + self.products(1, slot) - 136.0 * sum;
            self.query.bound(step, missing, all) >= least
        }
    }
}

impl<K: Kernel, V: Fn(usize) -> f32> NullaryFnOnce for Search<'_, '_, K, V> {
    type Output = ();

    // Loops instead of closures; see `similarity`.
    #[inline(always)]
    fn call(self) {
        let row = self.codes.row;
        let mut least = self.best.least();
        for slots in &self.slots {
            for slot in slots.clone() {
                // The processor's own prefetching stops at the end of a page.
                for at in (slot * row..(slot + 1) * row).step_by(64) {
                    prefetch(self.codes.planes[0].as_ptr().wrapping_add(at + PAGE));
                }
                if self.reaches(slot, least) {
                    self.best.offer(slot, (self.value)(slot));
                    least = self.best.least();
                }
            }
        }
    }
}

/// Sums of products in the registers of one processor.
trait Kernel: Copy {
    /// The sum of the products of 4-bit codes with the factors for the lower and the upper halves of the bytes. It must
    /// fit in 32 bits.
    fn dot(self, codes: &[u8], factors: (&[i8], &[i8])) -> i32;
}

/// Prefetches a cache line, where the processor supports it.
#[inline(always)]
fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = Sse::try_new() {
        sse._mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// A plain loop, which the compiler vectorises with NEON on arm64.
#[derive(Clone, Copy)]
struct Plain;

impl Kernel for Plain {
    #[inline(always)]
    fn dot(self, codes: &[u8], (lower, upper): (&[i8], &[i8])) -> i32 {
        let mut sum = 0;
        for ((code, lower), upper) in codes.iter().zip(lower).zip(upper) {
            // 16 bits are enough, and fit more numbers into a register.
            let products = i16::from(code & 15) * i16::from(*lower);
            sum += i32::from(products + i16::from(code >> 4) * i16::from(*upper));
        }
        sum
    }
}

/// Registers that multiply codes with factors.
#[cfg(target_arch = "x86_64")]
trait Products: Simd {
    /// Returns sums of four products of each pair, without saturation.
    fn products(self, codes: [Self::u8s; 2], factors: [Self::i8s; 2]) -> Self::u32s;
}

#[cfg(target_arch = "x86_64")]
impl<S: Products> Kernel for S {
    #[inline(always)]
    fn dot(self, codes: &[u8], (lower, upper): (&[i8], &[i8])) -> i32 {
        let (codes, codes_rest) = S::as_simd_u8s(codes);
        let (lower, lower_rest) = S::as_simd_i8s(lower);
        let (upper, upper_rest) = S::as_simd_i8s(upper);
        let nibbles = self.splat_u8s(15);
        let mut sums = self.splat_u32s(0);
        for ((codes, lower), upper) in codes.iter().zip(lower).zip(upper) {
            let shifted = self.wrapping_dyn_shr_u32s(cast(*codes), self.splat_u32s(4));
            let codes = [self.and_u8s(*codes, nibbles), self.and_u8s(cast(shifted), nibbles)];
            sums = self.add_u32s(sums, self.products(codes, [*lower, *upper]));
        }
        // In halves, which the compiler vectorises best.
        let mut sums = [sums];
        let sums: &mut [i32] = cast_slice_mut(&mut sums);
        let mut width = sums.len();
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
        }
        sums[0] + Plain.dot(codes_rest, (lower_rest, upper_rest))
    }
}

#[cfg(target_arch = "x86_64")]
impl Products for V4 {
    #[inline(always)]
    fn products(self, codes: [u8x64; 2], factors: [i8x64; 2]) -> u32x16 {
        let lower = self.multiply_saturating_add_adjacent_i8x64(cast(codes[0]), factors[0]);
        let upper = self.multiply_saturating_add_adjacent_i8x64(cast(codes[1]), factors[1]);
        let pairs = self.wrapping_add_i16x32(lower, upper);
        cast(self.multiply_wrapping_add_adjacent_i16x32(pairs, self.splat_i16x32(1)))
    }
}

#[cfg(target_arch = "x86_64")]
impl Products for V3 {
    #[inline(always)]
    fn products(self, codes: [u8x32; 2], factors: [i8x32; 2]) -> u32x8 {
        let lower = self.multiply_saturating_add_adjacent_i8x32(cast(codes[0]), factors[0]);
        let upper = self.multiply_saturating_add_adjacent_i8x32(cast(codes[1]), factors[1]);
        let pairs = self.wrapping_add_i16x16(lower, upper);
        cast(self.multiply_wrapping_add_adjacent_i16x16(pairs, self.splat_i16x16(1)))
    }
}

#[cfg(test)]
mod tests;

//! What registers can do.

use std::arch::asm;

use pulp::Simd;

/// A register of float32 numbers.
pub type Floats<R> = <<R as Registers>::Simd as Simd>::f32s;

/// A register of 32-bit integers or of words of four bytes.
pub type Integers<R> = <<R as Registers>::Simd as Simd>::i32s;

/// Added to a number within ±2²², it leaves the nearest integer in the low bits.
const ROUNDING: f32 = 12_582_912.0;

/// Registers of a machine. A value proves that the machine has them.
pub trait Registers: Copy + Send + Sync {
    /// Their float32 arithmetic.
    type Simd: Simd;

    /// The byte of a row that stands for 0: 128 if [`Registers::dot`] takes unsigned rows, else 0.
    const ZERO: u8;

    /// Whether the bytes of columns that [`Registers::dot`] takes are signs and magnitudes, not signed integers.
    const MAGNITUDES: bool = false;

    /// The rows of a full tile.
    const ROWS: usize;

    /// Returns their float32 arithmetic.
    fn simd(self) -> Self::Simd;

    /// Runs `work` in a separate function that is compiled for these registers.
    fn call<W: WithRegisters>(self, work: W);

    /// Converts bytes of a row, which stand for numbers within ±127, to bytes of a column. Returns the correction to add to
    /// the sum of [`Registers::dot`] of this column with any row.
    #[inline(always)]
    fn column(bytes: &mut [u8]) -> i32 {
        let mut correction = 0;
        for byte in bytes {
            *byte ^= Self::ZERO;
            let number = byte.cast_signed();
            correction -= i32::from(Self::ZERO) * i32::from(number);
            if Self::MAGNITUDES {
                *byte = *byte & 128 | number.unsigned_abs();
                correction -= i32::from(number.min(0));
            }
        }
        correction
    }

    /// Adds to each lane of `sums` the products of the four bytes of `row` and `columns`. The final sums need the correction
    /// that [`Registers::column`] returns.
    fn dot(
        self,
        sums: Integers<Self>,
        row: Integers<Self>,
        columns: Integers<Self>,
    ) -> Integers<Self>;

    /// Converts integers to float32.
    fn numbers(self, integers: Integers<Self>) -> Floats<Self>;

    /// Returns x minus the nearest integer, with ties to even. x must be within ±2²².
    #[inline(always)]
    fn rest(self, x: Floats<Self>) -> Floats<Self> {
        let (simd, rounding) = (self.simd(), self.simd().splat_f32s(ROUNDING));
        simd.sub_f32s(x, simd.sub_f32s(simd.add_f32s(x, rounding), rounding))
    }

    /// Returns `number` times 2 to the integer nearest to x. Neither `number` nor the result may be subnormal.
    #[inline(always)]
    fn scale(self, number: Floats<Self>, x: Floats<Self>) -> Floats<Self> {
        let simd = self.simd();
        let shifted = simd.add_f32s(x, simd.splat_f32s(ROUNDING));
        let exponent = simd.wrapping_dyn_shl_u32s(
            simd.transmute_u32s_f32s(shifted),
            simd.splat_u32s(f32::MANTISSA_DIGITS - 1),
        );
        let bits = simd.add_u32s(simd.transmute_u32s_f32s(number), exponent);
        simd.transmute_f32s_u32s(bits)
    }

    /// Exchanges the lanes that are `DISTANCE` apart, a power of two below the number of lanes.
    fn swap<const DISTANCE: usize>(self, numbers: Floats<Self>) -> Floats<Self>;

    /// Rounds numbers within -128 to 127 to the nearest integers, with ties to even, and writes them plus `ZERO` to
    /// `bytes`.
    fn store(self, numbers: [Floats<Self>; 4], bytes: &mut [u8]);
}

/// Prefetches a cache line. The address need not be valid.
#[inline(always)]
pub fn prefetch<T>(_line: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect on memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(_line.cast());
    }
}

/// Keeps the compiler from reading memory earlier, which would take a register that sums need.
#[inline(always)]
pub fn in_order() {
    // SAFETY: it does nothing.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

/// A computation that is compiled for each kind of registers.
pub trait WithRegisters {
    /// Runs the computation. This and everything that it calls must be `#[inline(always)]` and have no closures, which
    /// are not compiled for the registers.
    fn with_registers<R: Registers>(self, registers: R);
}

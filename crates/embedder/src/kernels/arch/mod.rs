//! The registers of a machine, with the operations that the int8 kernels need in addition to those of `pulp`.
//!
//! The float kernels use `pulp::Simd` directly, so that they also run on the registers without a product of bytes:
//! AVX-512 without VNNI, and NEON without `dotprod`.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use pulp::{Scalar128b, Simd};

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
    fn call<W: Work>(self, work: W);

    /// Converts a row of bytes (numbers within ±127) to the layout of a column. Returns the constant by which
    /// [`Registers::dot`] of this column is too small, with any row.
    #[inline(always)]
    fn column(bytes: &mut [u8]) -> i32 {
        let mut lacking = 0;
        for byte in bytes {
            *byte ^= Self::ZERO;
            let number = byte.cast_signed();
            lacking -= i32::from(Self::ZERO) * i32::from(number);
            if Self::MAGNITUDES {
                *byte = *byte & 128 | number.unsigned_abs();
                lacking -= i32::from(number.min(0));
            }
        }
        lacking
    }

    /// Adds the products of four bytes of `row` and of `columns` to each lane of `sums`. The caller adds the constant that
    /// [`Registers::column`] returned.
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

/// A computation that is compiled for each kind of registers.
pub trait Work {
    /// Runs the computation. This and everything that it calls must be `#[inline(always)]` and have no closures, which
    /// are not compiled for the registers.
    fn run<R: Registers>(self, registers: R);
}

/// One kind of registers that this machine has.
#[derive(Clone, Copy, Debug)]
pub enum Machine {
    /// 512 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
    /// 256 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(x86::Avx2<true>),
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2<false>),
    /// 128 bits, with a product of bytes.
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    /// 128 bits in portable code, on every machine.
    Plain(Plain),
}

/// Evaluates an expression with the registers of a [`Machine`].
macro_rules! with_registers {
    ($machine:expr, $registers:ident => $body:expr) => {
        match $machine {
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::Avx512($registers) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::AvxVnni($registers) => $body,
            #[cfg(target_arch = "x86_64")]
            $crate::kernels::arch::Machine::Avx2($registers) => $body,
            #[cfg(target_arch = "aarch64")]
            $crate::kernels::arch::Machine::Neon($registers) => $body,
            $crate::kernels::arch::Machine::Plain($registers) => $body,
        }
    };
}
pub(crate) use with_registers;

impl Machine {
    /// Returns the best registers of this machine.
    pub fn detect() -> Self {
        Self::all()[0]
    }

    /// Returns all registers of this machine, the best first.
    pub fn all() -> Vec<Self> {
        [
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::new().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::new().map(Self::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            x86::Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "aarch64")]
            neon::Neon::new().map(Self::Neon),
            Some(Self::Plain(Plain)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether the int8 kernels are faster than the float ones. On x64 they are so even on plain registers, at
    /// 0.6 of the time, because the float kernels then lack fused multiply-add; on arm64 these always have it.
    pub fn is_int8_faster(self) -> bool {
        cfg!(target_arch = "x86_64") || !matches!(self, Self::Plain(_))
    }

    /// Runs `work`, which is not compiled for the registers except what it passes to [`Registers::call`].
    pub fn run<W: Work>(self, work: W) {
        with_registers!(self, registers => work.run(registers));
    }
}

/// Four lanes in portable code.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Registers for Plain {
    type Simd = Scalar128b;
    const ZERO: u8 = 128;
    const ROWS: usize = 2;

    fn simd(self) -> Scalar128b {
        Scalar128b
    }

    #[inline(never)]
    fn call<W: Work>(self, work: W) {
        work.run(self);
    }

    #[inline(always)]
    fn dot(self, sums: pulp::i32x4, row: pulp::i32x4, columns: pulp::i32x4) -> pulp::i32x4 {
        let mut sums: [i32; 4] = pulp::cast(sums);
        let (row, columns): ([u8; 16], [i8; 16]) = (pulp::cast(row), pulp::cast(columns));
        for at in 0..16 {
            sums[at / 4] += i32::from(row[at]) * i32::from(columns[at]);
        }
        pulp::cast(sums)
    }

    #[inline(always)]
    fn numbers(self, integers: pulp::i32x4) -> pulp::f32x4 {
        let integers: [i32; 4] = pulp::cast(integers);
        pulp::cast(integers.map(|x| x as f32))
    }

    #[inline(always)]
    fn swap<const DISTANCE: usize>(self, numbers: pulp::f32x4) -> pulp::f32x4 {
        let numbers: [f32; 4] = pulp::cast(numbers);
        let mut swapped = numbers;
        for lane in 0..4 {
            swapped[lane] = numbers[lane ^ DISTANCE];
        }
        pulp::cast(swapped)
    }

    #[inline(always)]
    fn store(self, numbers: [pulp::f32x4; 4], bytes: &mut [u8]) {
        let numbers: [f32; 16] = pulp::cast(numbers);
        for (byte, number) in bytes[..16].iter_mut().zip(numbers) {
            *byte = (number.round_ties_even() as i8).cast_unsigned() ^ Self::ZERO;
        }
    }
}

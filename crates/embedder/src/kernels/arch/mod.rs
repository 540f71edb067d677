//! The registers of a machine, and what the kernels need of them beside float32.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

use pulp::{Scalar128b, Simd};

/// The float32 numbers of a register.
pub type Floats<R> = <<R as Registers>::Simd as Simd>::f32s;

/// The 32-bit integers of a register, also as four bytes each.
pub type Integers<R> = <<R as Registers>::Simd as Simd>::i32s;

/// Added to a number within ±2²², it leaves the nearest integer in the low bits.
pub const ROUNDING: f32 = 12_582_912.0;

/// Registers that a machine has, which their value proves.
pub trait Registers: Copy + Send + Sync {
    /// Their float32 arithmetic.
    type Simd: Simd;

    /// What the byte of a row is for the integer 0: 128 where rows are unsigned in [`Registers::dot`], else 0.
    const ZERO: u8;

    /// The rows of a full tile of sums.
    const ROWS: usize;

    /// Returns their float32 arithmetic.
    fn simd(self) -> Self::Simd;

    /// Does `work`, compiled for them as a function of its own.
    fn call<W: Work>(self, work: W);

    /// Adds to each sum the products of four bytes of a row with four of a column.
    fn dot(
        self,
        sums: Integers<Self>,
        row: Integers<Self>,
        columns: Integers<Self>,
    ) -> Integers<Self>;

    /// Has a line of memory fetched, wherever that is.
    #[inline(always)]
    fn prefetch(self, _line: *const u8) {}

    /// Returns integers as numbers.
    fn numbers(self, integers: Integers<Self>) -> Floats<Self>;

    /// Returns what x is more than the nearest integer, that of halves being even; x is within ±2²².
    #[inline(always)]
    fn rest(self, x: Floats<Self>) -> Floats<Self> {
        let (simd, rounding) = (self.simd(), self.simd().splat_f32s(ROUNDING));
        simd.sub_f32s(x, simd.sub_f32s(simd.add_f32s(x, rounding), rounding))
    }

    /// Returns `number` times the power of two of the integer nearest to x; neither `number` nor the result is
    /// subnormal.
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

    /// Exchanges the lanes that are `DISTANCE` apart, fewer than there are.
    fn swap<const DISTANCE: usize>(self, numbers: Floats<Self>) -> Floats<Self>;

    /// Rounds numbers within -128 to 127 to the nearest integers, halves to even, and writes them as
    /// bytes of a row.
    fn store(self, numbers: [Floats<Self>; 4], bytes: &mut [u8]);
}

/// What is compiled for each kind of registers.
pub trait Work {
    /// Does it. To be inlined, with all that it calls and without closures.
    fn run<R: Registers>(self, registers: R);
}

/// The best registers of this machine.
#[derive(Clone, Copy, Debug)]
pub enum Machine {
    /// 512 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
    /// 256 bits, with a product of bytes.
    #[cfg(target_arch = "x86_64")]
    AvxVnni(x86::AvxVnni),
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    /// 128 bits, with a product of bytes.
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    /// What every machine has.
    Plain(Plain),
}

/// Does something with the registers of a [`Machine`], whatever their kind.
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
    /// Returns the best of all kinds.
    pub fn detect() -> Self {
        Self::all()[0]
    }

    /// Returns all kinds that this machine has, the best first.
    pub fn all() -> Vec<Self> {
        [
            #[cfg(target_arch = "x86_64")]
            x86::Avx512::new().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            x86::AvxVnni::new().map(Self::AvxVnni),
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

    /// Returns whether integers save time. Plain ones take 0.6 of the time of float32 on x64, which then has no
    /// fused product either; on arm64, float32 always has one.
    pub fn is_quick(self) -> bool {
        cfg!(target_arch = "x86_64") || !matches!(self, Self::Plain(_))
    }

    /// Does `work` with the registers, whatever their kind, but compiled for the processor at large: what it
    /// [calls](Registers::call) is compiled for them.
    pub fn run<W: Work>(self, work: W) {
        with_registers!(self, registers => work.run(registers));
    }
}

/// Four lanes in the language's own arithmetic.
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

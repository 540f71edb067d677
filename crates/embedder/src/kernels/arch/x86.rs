//! The registers of x86-64.

use std::arch::x86_64::*;

use bytemuck::bytes_of;
use pulp::{
    Simd, cast, f32x8, f32x16, i32x8, i32x16,
    x86::{V3, V4},
};

use super::registers::{Registers, WithRegisters};

/// AVX-512 with VNNI.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(V4);

impl Avx512 {
    /// Returns the registers if the machine has them.
    pub fn new() -> Option<Self> {
        is_x86_feature_detected!("avx512vnni").then(V4::try_new)?.map(Self)
    }
}

impl Registers for Avx512 {
    type Simd = V4;
    const ZERO: u8 = 128;
    const ROWS: usize = 8;

    #[inline(always)]
    fn simd(self) -> V4 {
        self.0
    }

    #[inline(always)]
    fn call<W: WithRegisters>(self, work: W) {
        #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni")]
        #[target_feature(enable = "fma,bmi1,bmi2,lzcnt,popcnt,fxsr")]
        #[inline(never)]
        fn compiled<W: WithRegisters>(registers: Avx512, work: W) {
            work.with_registers(registers);
        }
        // SAFETY: `new` has found the features.
        unsafe { compiled(self, work) }
    }

    #[inline(always)]
    fn dot(self, sums: i32x16, row: i32x16, columns: i32x16) -> i32x16 {
        // SAFETY: `new` has found the feature.
        unsafe { cast(_mm512_dpbusd_epi32(cast(sums), cast(row), cast(columns))) }
    }

    #[inline(always)]
    fn numbers(self, integers: i32x16) -> f32x16 {
        cast(self.0.avx512f._mm512_cvtepi32_ps(cast(integers)))
    }

    #[inline(always)]
    fn rest(self, x: f32x16) -> f32x16 {
        cast(self.0.avx512dq._mm512_reduce_ps::<_MM_FROUND_TO_NEAREST_INT>(cast(x)))
    }

    #[inline(always)]
    fn scale(self, number: f32x16, x: f32x16) -> f32x16 {
        let integer = self.0.sub_f32s(x, self.rest(x));
        cast(self.0.avx512f._mm512_scalef_ps(cast(number), cast(integer)))
    }

    #[inline(always)]
    fn swap<const DISTANCE: usize>(self, numbers: f32x16) -> f32x16 {
        let (f, numbers) = (self.0.avx512f, cast(numbers));
        cast(match DISTANCE {
            8 => f._mm512_shuffle_f32x4::<0b01_00_11_10>(numbers, numbers),
            4 => f._mm512_shuffle_f32x4::<0b10_11_00_01>(numbers, numbers),
            2 => f._mm512_permute_ps::<0b01_00_11_10>(numbers),
            _ => f._mm512_permute_ps::<0b10_11_00_01>(numbers),
        })
    }

    #[inline(always)]
    fn store(self, numbers: [f32x16; 4], bytes: &mut [u8]) {
        let V4 { avx512f: f, avx512bw: bw, .. } = self.0;
        let [a, b, c, d] = numbers.map(cast);
        let ab = bw._mm512_packs_epi32(f._mm512_cvtps_epi32(a), f._mm512_cvtps_epi32(b));
        let cd = bw._mm512_packs_epi32(f._mm512_cvtps_epi32(c), f._mm512_cvtps_epi32(d));
        let packed = f._mm512_xor_si512(bw._mm512_packs_epi16(ab, cd), f._mm512_set1_epi8(i8::MIN));
        // `packs` interleaves the quarters of registers; this restores the order.
        let order = f._mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        bytes[..64].copy_from_slice(bytes_of(&f._mm512_permutexvar_epi32(order, packed)));
    }
}

/// AVX2, with or without AVX-VNNI.
#[derive(Clone, Copy, Debug)]
pub struct Avx2<const VNNI: bool>(V3);

impl<const VNNI: bool> Avx2<VNNI> {
    /// Returns the registers if the machine has them.
    pub fn new() -> Option<Self> {
        (!VNNI || is_x86_feature_detected!("avxvnni")).then(V3::try_new)?.map(Self)
    }
}

impl<const VNNI: bool> Registers for Avx2<VNNI> {
    type Simd = V3;
    const ZERO: u8 = if VNNI { 128 } else { 0 };
    const MAGNITUDES: bool = !VNNI;
    const ROWS: usize = if VNNI { 6 } else { 4 };

    #[inline(always)]
    fn simd(self) -> V3 {
        self.0
    }

    #[inline(always)]
    fn call<W: WithRegisters>(self, work: W) {
        #[target_feature(enable = "avx2,avxvnni,fma,bmi1,bmi2,lzcnt,popcnt,fxsr")]
        #[inline(never)]
        fn with_vnni<W: WithRegisters>(registers: Avx2<true>, work: W) {
            work.with_registers(registers);
        }
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,fxsr")]
        #[inline(never)]
        fn without_vnni<W: WithRegisters>(registers: Avx2<false>, work: W) {
            work.with_registers(registers);
        }
        // SAFETY: `new` has found the features.
        unsafe {
            match VNNI {
                true => with_vnni(Avx2(self.0), work),
                false => without_vnni(Avx2(self.0), work),
            }
        }
    }

    #[inline(always)]
    fn dot(self, sums: i32x8, row: i32x8, columns: i32x8) -> i32x8 {
        let (sums, row, columns) = (cast(sums), cast(row), cast(columns));
        // SAFETY: `new` has found the features.
        cast(unsafe {
            match VNNI {
                true => _mm256_dpbusd_avx_epi32(sums, row, columns),
                false => dot_of_magnitudes(sums, row, columns),
            }
        })
    }

    #[inline(always)]
    fn numbers(self, integers: i32x8) -> f32x8 {
        cast(self.0.avx._mm256_cvtepi32_ps(cast(integers)))
    }

    #[inline(always)]
    fn swap<const DISTANCE: usize>(self, numbers: f32x8) -> f32x8 {
        let (avx, numbers) = (self.0.avx, cast(numbers));
        cast(match DISTANCE {
            4 => avx._mm256_permute2f128_ps::<1>(numbers, numbers),
            2 => avx._mm256_permute_ps::<0b01_00_11_10>(numbers),
            _ => avx._mm256_permute_ps::<0b10_11_00_01>(numbers),
        })
    }

    #[inline(always)]
    fn store(self, numbers: [f32x8; 4], bytes: &mut [u8]) {
        let V3 { avx, avx2, .. } = self.0;
        let [a, b, c, d] = numbers.map(cast);
        let ab = avx2._mm256_packs_epi32(avx._mm256_cvtps_epi32(a), avx._mm256_cvtps_epi32(b));
        let cd = avx2._mm256_packs_epi32(avx._mm256_cvtps_epi32(c), avx._mm256_cvtps_epi32(d));
        let zero = avx._mm256_set1_epi8(Self::ZERO.cast_signed());
        let packed = avx2._mm256_xor_si256(avx2._mm256_packs_epi16(ab, cd), zero);
        // `packs` interleaves the halves of registers; this restores the order.
        let order = avx._mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        bytes[..32].copy_from_slice(bytes_of(&avx2._mm256_permutevar8x32_epi32(packed, order)));
    }
}

/// Adds the products of bytes of `row` and `columns`, which are signs and magnitudes. `maddubs` takes its first factor without
/// a sign; magnitudes have 7 bits, so its 16-bit sums do not saturate. Where a column is negative, the row is complemented,
/// that is, negated less 1. [`Registers::column`] corrects the 1.
#[target_feature(enable = "avx2")]
#[inline]
fn dot_of_magnitudes(sums: __m256i, row: __m256i, columns: __m256i) -> __m256i {
    let is_negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), columns);
    let magnitudes = _mm256_and_si256(columns, _mm256_set1_epi8(i8::MAX));
    let twos = _mm256_maddubs_epi16(magnitudes, _mm256_xor_si256(row, is_negative));
    _mm256_add_epi32(sums, _mm256_madd_epi16(twos, _mm256_set1_epi16(1)))
}

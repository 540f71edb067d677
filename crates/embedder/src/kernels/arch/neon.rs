//! The registers of arm64.

use std::{
    arch::{aarch64::*, asm, is_aarch64_feature_detected},
    mem::transmute,
};

use pulp::{aarch64::Neon as Floats, f32x4, i32x4};

use super::registers::{Registers, WithRegisters};

/// NEON with `dotprod`.
#[derive(Clone, Copy, Debug)]
pub struct Neon(Floats);

impl Neon {
    /// Returns the registers if the machine has them.
    pub fn new() -> Option<Self> {
        is_aarch64_feature_detected!("dotprod").then(Floats::try_new)?.map(Self)
    }
}

impl Registers for Neon {
    type Simd = Floats;
    const ZERO: u8 = 0;
    const ROWS: usize = 6;

    #[inline(always)]
    fn simd(self) -> Floats {
        self.0
    }

    #[inline(always)]
    fn call<W: WithRegisters>(self, work: W) {
        #[target_feature(enable = "neon,dotprod")]
        #[inline(never)]
        fn compiled<W: WithRegisters>(registers: Neon, work: W) {
            work.with_registers(registers);
        }
        // SAFETY: `new` has found the features.
        unsafe { compiled(self, work) }
    }

    #[inline(always)]
    fn dot(self, sums: i32x4, row: i32x4, columns: i32x4) -> i32x4 {
        /// The unstable intrinsic `vdotq_s32`.
        #[target_feature(enable = "neon,dotprod")]
        #[inline]
        fn sdot(mut sums: int32x4_t, row: int32x4_t, columns: int32x4_t) -> int32x4_t {
            // SAFETY: the function has the feature.
            unsafe {
                asm!(
                    "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b",
                    inout(vreg) sums, in(vreg) row, in(vreg) columns,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            sums
        }
        // SAFETY: `new` has found the features; both types are four integers.
        unsafe { transmute(sdot(transmute(sums), transmute(row), transmute(columns))) }
    }

    #[inline(always)]
    fn numbers(self, integers: i32x4) -> f32x4 {
        // SAFETY: `new` has found the feature; both types are four numbers.
        unsafe { transmute(vcvtq_f32_s32(transmute(integers))) }
    }

    #[inline(always)]
    fn swap<const DISTANCE: usize>(self, numbers: f32x4) -> f32x4 {
        // SAFETY: `new` has found the feature; both types are four numbers.
        unsafe {
            let numbers = transmute(numbers);
            transmute(match DISTANCE {
                2 => vextq_f32::<2>(numbers, numbers),
                _ => vrev64q_f32(numbers),
            })
        }
    }

    #[inline(always)]
    fn store(self, numbers: [f32x4; 4], bytes: &mut [u8]) {
        let bytes: &mut [u8; 16] = bytes.first_chunk_mut().expect("four registers of bytes");
        // SAFETY: `new` has found the feature; the types have the same size; `bytes` has this length.
        unsafe {
            let [a, b, c, d]: [float32x4_t; 4] = transmute(numbers);
            let ab = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(a)), vmovn_s32(vcvtnq_s32_f32(b)));
            let cd = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(c)), vmovn_s32(vcvtnq_s32_f32(d)));
            vst1q_s8(bytes.as_mut_ptr().cast(), vcombine_s8(vmovn_s16(ab), vmovn_s16(cd)));
        }
    }
}

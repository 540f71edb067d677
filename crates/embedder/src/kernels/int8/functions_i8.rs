//! Elementary functions in registers, with the accuracy that 8-bit integers need.

use pulp::Simd;

use crate::kernels::arch::{Floats, Registers};

/// 2^x for |x| ≤ ½. The relative error is at most 7.5e-5.
const EXP2: [f32; 4] = [0.999_928_06, 0.693_260_97, 0.242_611_14, 0.055_171_672];

/// log₂ Φ(-x) for x ≥ 0, Φ being the normal distribution; the error of x·Φ(-x) is at most 5.5e-5.
const LOG2_TAIL: [f32; 4] = [-1.003_536_7, -1.129_219_8, -0.498_853_47, -0.024_873_954];

/// 2^x for x ≤ 0, with a relative error of at most 7.5e-5. Results are clamped at 2⁻¹²⁵.
///
/// Takes several registers and interleaves their operations, so that consecutive ones are independent.
#[inline(always)]
pub fn exp2<R: Registers, const N: usize>(registers: R, x: [Floats<R>; N]) -> [Floats<R>; N] {
    let simd = registers.simd();
    let (mut x, mut rest) = (x, x);
    for x in &mut x {
        *x = simd.max_f32s(simd.splat_f32s(-125.0), *x);
    }
    for i in 0..N {
        rest[i] = registers.rest(x[i]);
    }
    let mut power = polynomial(simd, rest, EXP2);
    for i in 0..N {
        power[i] = registers.scale(power[i], x[i]);
    }
    power
}

/// GELU: x·Φ(x), with an error of at most 7e-5.
#[inline(always)]
pub fn gelu<R: Registers, const N: usize>(registers: R, x: [Floats<R>; N]) -> [Floats<R>; N] {
    let simd = registers.simd();
    // x·Φ(x) = max(x, 0) - |x|·Φ(-|x|)
    let mut distance = x;
    for i in 0..N {
        distance[i] = simd.abs_f32s(x[i]);
    }
    let mut y = exp2(registers, polynomial(simd, distance, LOG2_TAIL));
    for i in 0..N {
        let positive = simd.max_f32s(x[i], simd.splat_f32s(0.0));
        y[i] = simd.negate_mul_add_f32s(distance[i], y[i], positive);
    }
    y
}

#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: [S::f32s; N], terms: [f32; 4]) -> [S::f32s; N] {
    let mut sum = [simd.splat_f32s(terms[3]); N];
    for degree in [2, 1, 0] {
        for i in 0..N {
            sum[i] = simd.mul_add_f32s(sum[i], x[i], simd.splat_f32s(terms[degree]));
        }
    }
    sum
}

/// log₂ x for a positive normal number, with an error of 2e-6 and the same bits on every machine.
pub fn log2(x: f32) -> f32 {
    // The mantissa, within √½ and √2.
    let bits = x.to_bits().wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = bits.cast_signed() >> (f32::MANTISSA_DIGITS - 1);
    let mantissa = f32::from_bits(x.to_bits().wrapping_sub((exponent << 23).cast_unsigned()));
    // log₂ x = 2/ln 2 · (t + t³/3 + t⁵/5 + …)
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let series = [2.885_39, 0.961_796_7, 0.577_078, 0.412_198_6];
    let sum = series.iter().rev().fold(0.0, |sum, term| sum * (t * t) + term);
    sum * t + exponent as f32
}

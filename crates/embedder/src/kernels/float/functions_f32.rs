//! Elementary functions in registers.

use pulp::Simd;

/// Added to a number within ±2²², it leaves the nearest integer plus 127 in the low bits: the exponent of the
/// power of two.
const ROUNDING: f32 = 12_582_912.0 + 127.0;

/// 2^x ≈ 1 + x·(…) for |x| ≤ ½. The coefficients approximate (1 - 7.2e-8)·2^x with a relative error of 7.5e-8, for
/// which the first coefficient is exactly 1.
const EXP2: [f32; 5] = [0.693_146_9, 0.240_221_18, 0.055_507_13, 0.009_675_541, 0.001_327_647_6];

/// log₂ Φ(-x) for 0 ≤ x ≤ 14, where Φ is the normal distribution. The error of x·Φ(-x) is at most 1.1e-7, and the
/// value at 14 is -128.
const LOG2_TAIL: [f32; 7] = [
    -1.000_003_7, -1.151_113_9, -0.459_010_3, -0.053_118_96, 0.007_904_269, -0.000_718_548_14,
    0.000_027_577_01,
];
const TAIL_END: f32 = 14.0;

/// 2^x for x ≤ 0, with a relative error of at most 3e-7. Subnormal results are 0.
#[inline(always)]
pub fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let rounding = simd.splat_f32s(ROUNDING);
    // The lowest exponent gives 0.
    let x = simd.max_f32s(simd.splat_f32s(-127.0), x);
    let shifted = simd.add_f32s(x, rounding);
    let rest = simd.sub_f32s(x, simd.sub_f32s(shifted, rounding));
    let exponent = simd.transmute_u32s_f32s(shifted);
    let scale = simd.wrapping_dyn_shl_u32s(exponent, simd.splat_u32s(f32::MANTISSA_DIGITS - 1));
    let scale = simd.transmute_f32s_u32s(scale);
    let power = polynomial(simd, rest, &EXP2);
    simd.mul_f32s(simd.mul_add_e_f32s(power, rest, simd.splat_f32s(1.0)), scale)
}

/// GELU: x·Φ(x), with an error of at most 4e-7·max(1, |x|).
#[inline(always)]
pub fn gelu<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    // x·Φ(x) = max(x, 0) - |x|·Φ(-|x|)
    let zero = simd.splat_f32s(0.0);
    let distance = simd.min_f32s(simd.abs_f32s(x), simd.splat_f32s(TAIL_END));
    let tail = exp2(simd, polynomial(simd, distance, &LOG2_TAIL));
    // Not `max`, which loses NaN on some machines.
    let positive = simd.select_f32s(simd.less_than_f32s(x, zero), zero, x);
    simd.negate_mul_add_e_f32s(distance, tail, positive)
}

#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: S::f32s, coefficients: &[f32; N]) -> S::f32s {
    let mut sum = simd.splat_f32s(coefficients[N - 1]);
    for degree in (0..N - 1).rev() {
        sum = simd.mul_add_e_f32s(sum, x, simd.splat_f32s(coefficients[degree]));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{
        buffers::SplitSlice,
        kernel::Kernel,
        testing::{every_width, normal_distribution},
    };

    /// Applies GELU, or `exp2`.
    struct Apply<'a> {
        gelu: bool,
        numbers: SplitSlice<'a, f32>,
    }

    impl Kernel for Apply<'_> {
        fn tasks(&self) -> usize {
            1
        }

        #[inline(always)]
        unsafe fn run_task<S: Simd>(&self, simd: S, _: usize) {
            // SAFETY: there is one task.
            let numbers = unsafe { self.numbers.part(0..self.numbers.len()) };
            let (registers, rest) = S::as_mut_simd_f32s(numbers);
            assert!(rest.is_empty());
            for x in registers {
                *x = if self.gelu { gelu(simd, *x) } else { exp2(simd, *x) };
            }
        }
    }

    fn applied(gelu: bool, input: &[f32]) -> Vec<(&'static str, Vec<f32>)> {
        every_width(|width| {
            let mut numbers = input.to_vec();
            width.run(&Apply { gelu, numbers: SplitSlice::new(&mut numbers) }, [0]);
            numbers
        })
    }

    /// Compares a function in every width with its definition; `tolerance` takes the argument and the value.
    fn check(
        gelu: bool,
        input: impl Iterator<Item = f32>,
        definition: impl Fn(f64) -> f64,
        tolerance: impl Fn(f64, f64) -> f64,
    ) {
        let mut input: Vec<_> = input.collect();
        input.resize(input.len().next_multiple_of(16), 0.0);
        for (width, found) in applied(gelu, &input) {
            for (x, found) in input.iter().map(|x| f64::from(*x)).zip(found) {
                let expected = definition(x);
                let error = (f64::from(found) - expected).abs();
                assert!(error <= tolerance(x, expected), "{width}, {x:e}: {found:e}, {expected:e}");
            }
        }
    }

    /// One of the functions in every width, at one point.
    fn at(gelu: bool, x: f32) -> Vec<f32> {
        applied(gelu, &[x; 16]).iter().map(|(_, found)| found[3]).collect()
    }

    #[test]
    fn exp2_is_relatively_exact() {
        let steps = (0..=20_000).map(|step| -126.0 * step as f32 / 20_000.0);
        let small = (0..150).map(|power| -(0.5_f32.powi(power)));
        check(false, steps.chain(small), f64::exp2, |_, expected| 3e-7 * expected);
    }

    #[test]
    fn exp2_is_zero_where_that_is_not_a_normal_number() {
        for x in [-127.0, -128.5, -1e9, f32::MIN, f32::NEG_INFINITY] {
            assert!(at(false, x).iter().all(|found| *found == 0.0), "{x}");
        }
        assert!(at(false, -0.0).iter().all(|found| *found == 1.0));
    }

    #[test]
    fn gelu_is_exact_to_a_rounding() {
        // A sample of all finite numbers, and a dense one of those where the function bends.
        let bits = (0..u32::MAX).step_by(1_048_573).map(f32::from_bits).filter(|x| x.is_finite());
        let input = bits.chain((-6000..6000).map(|step| step as f32 / 1000.0));
        let definition = |x| x * normal_distribution(x);
        check(true, input, definition, |x, _| 4e-7 * x.abs().max(1.0));
    }

    #[test]
    fn gelu_is_exact_at_the_ends() {
        for x in [14.0, 1e9, f32::MAX, f32::INFINITY] {
            assert!(at(true, x).iter().all(|found| *found == x), "{x}");
            assert!(at(true, -x).iter().all(|found| *found == 0.0), "{x}");
        }
        for x in [f32::NAN, -f32::NAN] {
            assert!(at(true, x).iter().all(|found| found.is_nan()), "{x}");
        }
    }
}

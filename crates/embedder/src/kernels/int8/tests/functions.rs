//! Elementary functions.

use pulp::Simd;

use super::{
    super::functions_i8::{exp2, gelu, log2},
    *,
};

struct Apply<'a> {
    gelu: bool,
    numbers: &'a mut [f32],
}

impl WithRegisters for Apply<'_> {
    #[inline(always)]
    fn with_registers<R: Registers>(self, registers: R) {
        for two in R::Simd::as_mut_simd_f32s(self.numbers).0.as_chunks_mut::<2>().0 {
            *two = if self.gelu { gelu(registers, *two) } else { exp2(registers, *two) };
        }
    }
}

/// Returns 2^x or GELU of some numbers.
pub fn apply(gelu: bool, numbers: &[f32]) -> Vec<f32> {
    let mut padded = numbers.to_vec();
    padded.resize(numbers.len().next_multiple_of(32), 0.0);
    let mut found = same_bits("elementary functions", |machine| {
        let mut numbers = padded.clone();
        with_registers!(machine, registers => registers.call(Apply { gelu, numbers: &mut numbers }));
        numbers
    });
    found.truncate(numbers.len());
    found
}

#[test]
fn exp2_is_as_accurate_as_it_says() {
    let input: Vec<f32> = (0..=25_000).map(|step| step as f32 / -200.0).collect();
    for (x, found) in input.iter().zip(apply(false, &input)) {
        let expected = f64::from(*x).exp2();
        assert!((f64::from(found) - expected).abs() <= 7.6e-5 * expected, "{x}: {found:e}");
    }
    for found in apply(false, &[-125.5, -1e4, -1e30, f32::NEG_INFINITY]) {
        assert!(found < 2.4e-38, "{found:e}");
    }
}

#[test]
fn gelu_is_as_accurate_as_it_says() {
    let input: Vec<f32> = (-12_000..12_000).map(|step| step as f32 / 1000.0).collect();
    for (x, found) in input.iter().zip(apply(true, &input)) {
        let expected = f64::from(*x) * normal_distribution(f64::from(*x));
        assert!((f64::from(found) - expected).abs() <= 7e-5, "{x}: {found} for {expected}");
    }
    assert_eq!(apply(true, &[1e9, 0.0]), [1e9, 0.0]);
    assert!(apply(true, &[-1e9])[0].abs() < 1e-25);
    assert!(apply(true, &[f32::NAN])[0].is_nan());
}

#[test]
fn log2_is_as_accurate_as_it_says() {
    for exponent in -120..=120 {
        for step in 0..100 {
            let x = (1.0 + step as f32 / 100.0) * 2.0_f32.powi(exponent);
            let error = f64::from(log2(x)) - f64::from(x).log2();
            assert!(error.abs() <= 2e-6 + 1e-7 * f64::from(exponent.abs()), "{x:e}: {error:e}");
        }
    }
    assert_eq!([log2(1.0), log2(2.0), log2(0.125)], [0.0, 1.0, -3.0]);
}

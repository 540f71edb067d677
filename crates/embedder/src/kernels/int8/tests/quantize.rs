//! Normalisation, rotation and quantization of rows.

use super::{functions, *};
use crate::kernels::{Norm, testing::is_normalized};

/// Returns the integers and scales of rows that are quantized on a machine, after GELU if `gelu`.
fn quantized_on(machine: Machine, x: &[f32], depth: usize, gelu: bool) -> (Vec<i8>, Vec<f32>) {
    let mut x = x.to_vec();
    let (mut bytes, mut scale) = (vec![1; x.len()], vec![1.0; x.len() / depth]);
    let quantized = &mut Quantized { bytes: &mut bytes, scale: &mut scale };
    with_registers!(machine, registers => registers.call(Quantize { x: &mut x, gelu, quantized }));
    (integers(machine, &bytes), scale)
}

/// Returns the integers and scales of quantized rows. Fails if registers give different ones.
fn quantized(x: &[f32], depth: usize) -> (Vec<i8>, Vec<f32>) {
    let mut found = every_machine(|machine| quantized_on(machine, x, depth, false));
    assert_equal(&found, &format!("{} numbers in rows of {depth}", x.len()));
    found.swap_remove(0).1
}

fn integers(machine: Machine, bytes: &[u8]) -> Vec<i8> {
    bytes.iter().map(|byte| byte.wrapping_sub(zero(machine)).cast_signed()).collect()
}

fn check(x: &[f32], depth: usize) {
    let (found, scale) = quantized(x, depth);
    for (row, found) in found.chunks(depth).enumerate() {
        let expected = hadamard(&wide(&x[row * depth..(row + 1) * depth]), block(depth));
        let step = f64::from(scale[row]);
        let greatest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        assert!(step > 0.0 && step <= greatest.max(1e-30) / 127.0 * 1.000_01, "{row}: {step:e}");
        for (found, x) in found.iter().zip(expected) {
            let error = (f64::from(*found) * step - x).abs();
            assert!(
                *found > i8::MIN && error <= HALF * step + 2e-6 * greatest,
                "{row}: {found} for {x:e}"
            );
        }
    }
}

#[test]
fn quantize_rotates_and_rounds_to_half_a_step() {
    for rows in (1..=9).chain([64]) {
        check(&numbers(rows, rows * 384, 3.0), 384);
    }
    for depth in [128, 256, 512, 1536] {
        check(&numbers(depth, 3 * depth, 3.0), depth);
    }
}

#[test]
fn quantize_computes_gelu_first() {
    let x = numbers(2, 2 * 384, 3.0);
    let expected = quantized(&functions::apply(true, &x), 384);
    for (name, found) in every_machine(|machine| quantized_on(machine, &x, 384, true)) {
        assert!(found == expected, "{name}");
    }
}

#[test]
fn quantize_accepts_outliers_and_zeros() {
    for outlier in [0.0, 1e4, -1e30] {
        let mut x = numbers(7, 3 * 384, 1.0);
        x[384..768].fill(0.0);
        x[384 + 77] = outlier;
        x[5] = outlier;
        check(&x, 384);
    }
    let (found, scale) = quantized(&[0.0; 384], 384);
    assert!(found.iter().all(|x| *x == 0) && scale[0] < 1e-30);
}

#[test]
fn quantize_returns_a_scale_that_is_not_finite_for_such_a_row() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = numbers(3, 3 * 384, 1.0);
        let (whole, whole_scale) = quantized(&x, 384);
        x[384 + 200] = bad;
        for machine in Machine::all() {
            let (found, scale) = quantized_on(machine, &x, 384, false);
            assert!(!scale[1].is_finite(), "{machine:?}, {bad}");
            assert_eq!((&found[..384], &found[768..]), (&whole[..384], &whole[768..]));
            assert_eq!([scale[0], scale[2]], [whole_scale[0], whole_scale[2]]);
        }
    }
}

#[test]
fn normalize_agrees_with_the_definition_and_quantizes() {
    let (gamma, beta) = (numbers(1, 384, 2.0), numbers(2, 384, 1.0));
    for rows in (1..=9).chain([64]) {
        let input = numbers(rows, rows * 384, 3.0);
        let found = every_machine(|machine| {
            let mut x = input.clone();
            let (mut bytes, mut scale) = (vec![1; x.len()], vec![f32::NAN; rows]);
            let quantized = Some(&mut Quantized { bytes: &mut bytes, scale: &mut scale });
            let norm = &Norm { gamma: (&gamma).into(), beta: (&beta).into() };
            let normalize = Normalize { x: &mut x, norm, quantized };
            with_registers!(machine, registers => registers.call(normalize));
            (bits(&x), integers(machine, &bytes), bits(&scale))
        });
        assert_equal(&found, &format!("{rows} rows"));
        let (x, bytes, scale) = &found[0].1;
        let x: Vec<f32> = x.iter().copied().map(f32::from_bits).collect();
        for (input, x) in input.chunks(384).zip(x.chunks(384)) {
            assert!(is_normalized(input, &gamma, &beta, x), "{rows}");
        }
        let (quantized, quantized_scale) = quantized(&x, 384);
        assert!(quantized == *bytes && bits(&quantized_scale) == *scale, "{rows} rows");
    }
}

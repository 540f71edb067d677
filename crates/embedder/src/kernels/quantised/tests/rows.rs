//! Rounding of rows.

use super::*;

fn check_rows(x: &[f32], rows: usize, rotation: usize) {
    let expected = rotated_rows(x, rows, rotation);
    for (width, (q, scale)) in every_width(Rows { x, rows, rotation }) {
        for (row, (q, expected)) in q.chunks(x.len() / rows).zip(&expected).enumerate() {
            let step = f64::from(scale[row]);
            let least = f64::from(LEAST) * rotation as f64;
            let widest = greatest(expected).max(least) / 127.0 * 1.000_01;
            assert!(step > 0.0 && step <= widest, "{width}, {row} of {rows}: {step:e}");
            for (q, x) in q.iter().zip(expected) {
                let found = f64::from(i16::from(*q) - 128) * step;
                let close = *q > 0 && (found - x).abs() <= HALF * step;
                assert!(close, "{width}, {row} of {rows}, {rotation}: {found:e} for {x:e}");
            }
        }
    }
}

#[test]
fn quantize_rows_rounds_to_half_a_step() {
    for rows in (1..=40).chain(511..=513) {
        check_rows(&numbers(rows * 16, 3.0), rows, 16);
    }
    for depth in [16, 48, 384, 1536] {
        for rotation in SIZES.into_iter().filter(|size| depth % size == 0) {
            check_rows(&numbers(3 * depth, 3.0), 3, rotation);
        }
    }
}

#[test]
fn quantize_rows_rounds_outliers_and_zeros_to_half_a_step() {
    for rotation in SIZES {
        for outlier in [0.0, 1e4, -1e30, f32::MAX] {
            let mut x = numbers(3 * 384, 1.0);
            x[384..768].fill(0.0);
            x[384 + 77] = outlier;
            x[5] = outlier;
            check_rows(&x, 3, rotation);
            let (q, _) = pulp::Arch::new().dispatch(Rows { x: &[0.0; 384], rows: 1, rotation });
            assert!(q.iter().all(|q| *q == ZERO_POINT));
        }
    }
}

#[test]
fn quantize_rows_rounds_all_magnitudes_to_half_a_step() {
    for rotation in SIZES {
        for exponent in (-149..=127).step_by(3) {
            check_rows(&numbers(128, 2.0_f32.powi(exponent)), 1, rotation);
        }
        for x in [f32::from_bits(1), f32::MIN_POSITIVE, LEAST, f32::MAX, f32::MIN] {
            check_rows(&[x; 128], 1, rotation);
        }
    }
}

#[test]
fn quantize_rows_gives_a_scale_that_is_not_finite_for_such_a_row() {
    for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for (rotation, at) in SIZES.into_iter().zip([0, 17, 64, 127]) {
            let mut x = numbers(3 * 128, 1.0);
            let whole = every_width(Rows { x: &x, rows: 3, rotation });
            x[128 + at] = bad;
            let found = every_width(Rows { x: &x, rows: 3, rotation });
            for ((width, (whole_q, whole)), (_, (q, scale))) in whole.iter().zip(&found) {
                assert!(!scale[1].is_finite(), "{width}, {bad}, {rotation}: {}", scale[1]);
                assert!(scale[1].is_nan() == bad.is_nan(), "{width}, {bad}, {rotation}");
                assert_eq!((scale[0], scale[2]), (whole[0], whole[2]), "{width}");
                assert_eq!((&q[..128], &q[256..]), (&whole_q[..128], &whole_q[256..]), "{width}");
            }
        }
    }
}

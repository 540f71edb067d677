//! Rounding of weights.

use super::*;

fn check_weights(weight: &[i16], scale: &[f32], rotation: usize) {
    let (columns, expected) = (scale.len(), rotated_columns(weight, scale, rotation));
    for (width, (q, q_scale)) in every_width(Weights { weight, scale, rotation }) {
        for (column, expected) in expected.iter().enumerate() {
            let step = f64::from(q_scale[column]) * rotation as f64;
            let widest = greatest(expected) / 127.0 * 1.000_01;
            assert!(step.abs() <= widest, "{width}, {column}: {step:e}, {widest:e}");
            for (q, x) in q[column..].iter().step_by(columns).zip(expected) {
                let found = f64::from(*q) * step;
                let close = *q > i8::MIN && (found - x).abs() <= HALF * step.abs();
                assert!(close, "{width}, {column}, {rotation}: {found:e} for {x:e}");
            }
        }
    }
}

#[test]
fn quantize_weights_rounds_to_half_a_step() {
    for (depth, columns) in [(1, 16), (16, 96), (64, 1152), (384, 32), (1536, 16)] {
        for rotation in SIZES.into_iter().chain([512]).filter(|size| depth % size == 0) {
            check_weights(&weights(depth * columns), &numbers(columns, 1e-4), rotation);
        }
    }
}

#[test]
fn quantize_weights_rounds_extremes_to_half_a_step() {
    for rotation in [1, 2, 16, 64, 512] {
        for extreme in [i16::MAX, i16::MIN, 1, 0] {
            check_weights(&[extreme; 512 * 16], &[1e-4; 16], rotation);
            // As large as weights may be, and all but one column empty.
            let mut weight = weights(512 * 16);
            for row in weight.chunks_mut(16) {
                row[1..].fill(0);
                row[9] = extreme;
            }
            check_weights(&weight, &[f32::MAX / 32_768.0; 16], rotation);
            let (q, scale) = pulp::Arch::new().dispatch(Weights {
                weight: &weight,
                scale: &[1.0; 16],
                rotation,
            });
            let is_empty = |q: &[i8]| (1..9).chain(10..16).all(|column| q[column] == 0);
            assert!(q.chunks(16).all(is_empty) && scale[1] == 0.0);
        }
    }
}

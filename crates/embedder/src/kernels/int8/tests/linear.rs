//! Linear layers.

use super::*;
use crate::kernels::{PANEL, testing::Layer};

impl Layer {
    /// Returns the product. Fails if registers give different bits.
    fn multiply<const ADD: bool>(&self) -> Vec<f32> {
        same_bits(&format!("{} × {}", self.rows, self.depth), |machine| {
            let (mut x, mut y) = (self.x.clone(), self.residual.clone());
            let (mut bytes, mut scale) = (vec![1; x.len()], vec![f32::NAN; self.rows]);
            let mut rows = Quantized { bytes: &mut bytes, scale: &mut scale };
            with_registers!(machine, registers => {
                let weights = Int8Weights::new(registers, &self.weights);
                registers.call(Quantize { x: &mut x, gelu: false, quantized: &mut rows });
                registers.call(Multiply::<ADD>::new(&rows, &weights, &mut y));
            });
            y
        })
    }

    /// Returns the products by their definition, each with the error that quantization may add.
    fn expected(&self) -> Vec<(f64, f64)> {
        let (columns, block) = (self.columns(), block(self.depth));
        let rotated = |row: Vec<f64>| {
            let row = hadamard(&row, block);
            let step = HALF / 127.0 * row.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            (row, step)
        };
        let column = |at| {
            let scale = f64::from(self.weights.scale[at]);
            rotated(self.column(at).map(|weight| weight * scale).collect())
        };
        let rows: Vec<_> = self.x.chunks(self.depth).map(|x| rotated(wide(x))).collect();
        let weights: Vec<_> = (0..columns).map(column).collect();
        let product = |at: usize| {
            let ((x, x_step), (weight, weight_step)) =
                (&rows[at / columns], &weights[at % columns]);
            let (mut sum, mut error) = (0.0, 0.0);
            for (x, weight) in x.iter().zip(weight) {
                sum += x * weight;
                error += x.abs() * weight_step + weight.abs() * x_step + x_step * weight_step;
            }
            // Errors of both signs cancel out, hence the root; the strict bound would hide too much.
            (sum / block as f64, 4.0 * error / block as f64 / (self.depth as f64).sqrt() + 1e-5)
        };
        (0..self.rows * columns).map(product).collect()
    }

    fn check_multiply<const ADD: bool>(
        &self,
        expected: &[(f64, f64)],
        after: impl Fn(f64, f64) -> f64,
    ) {
        let found = self.multiply::<ADD>();
        assert_eq!(found.len(), expected.len());
        for (at, (found, (product, tolerance))) in found.into_iter().zip(expected).enumerate() {
            let number = product + f64::from(self.weights.bias[at % self.columns()]);
            let expected = after(number, f64::from(self.residual[at]));
            let error = (f64::from(found) - expected).abs();
            assert!(error <= 1.2 * tolerance, "{at}: {found} for {expected} ± {tolerance}");
        }
    }
}

#[test]
fn multiply_approximates_the_definition() {
    for (rows, depth, columns) in [(1, 128, 16), (9, 384, 48), (3, 1536, 64), (17, 128, 32)] {
        let case = Layer::new(rows, depth, columns);
        let expected = case.expected();
        case.check_multiply::<false>(&expected, |number, _| number);
        case.check_multiply::<true>(&expected, |number, before| number + before);
    }
}

#[test]
fn multiply_accepts_extreme_weights_and_empty_columns() {
    let mut case = Layer::new(2, 512, 16);
    for (at, weight) in case.weights.values.to_mut().iter_mut().enumerate() {
        *weight = [i16::MIN, i16::MAX, 0, 1][at % PANEL % 4];
    }
    case.check_multiply::<false>(&case.expected(), |number, _| number);
}

#[test]
fn multiply_keeps_what_is_not_finite_in_its_row() {
    let mut case = Layer::new(9, 128, 48);
    let whole = case.multiply::<true>();
    case.x[128 + 3] = f32::NAN;
    let rest = |y: Vec<f32>| [&y[..48], &y[96..]].concat();
    assert!(case.multiply::<false>()[48..96].iter().all(|y| y.is_nan()));
    assert_eq!(bits(&rest(case.multiply::<true>())), bits(&rest(whole)));
}

//! Linear layers.

use super::*;
use crate::kernels::{PANEL, testing::Layer};

impl Layer {
    /// Returns the product. Fails if registers give different bits.
    fn multiply<const ADD: bool, const GELU: bool>(&self) -> Vec<f32> {
        let found = every_machine(|machine| {
            let (mut x, mut y) = (self.x.clone(), self.residual.clone());
            let (mut bytes, mut scale) = (vec![1; x.len()], vec![f32::NAN; self.rows]);
            let quantized = QuantizedMut { bytes: &mut bytes, scale: &mut scale };
            with_registers!(machine, registers => {
                let weights = Int8Weights::new(registers, self.weights());
                registers.call(Quantize { x: &mut x, quantized });
                let rows = Quantized { bytes: &bytes, scale: &scale };
                registers.call(Multiply::<ADD, GELU>::new(rows, &weights, &mut y));
            });
            bits(&y)
        });
        assert_equal(&found, &format!("{} × {}", self.rows, self.depth));
        found[0].1.iter().copied().map(f32::from_bits).collect()
    }

    /// Returns the product by its definition, and the error that quantization may add.
    fn expected(&self, at: usize) -> (f64, f64) {
        let (columns, block) = (self.columns(), block(self.depth));
        let (row, column) = (at / columns, at % columns);
        let x = hadamard(&wide(&self.x[row * self.depth..(row + 1) * self.depth]), block);
        let scale = f64::from(self.scale[column]);
        let weight: Vec<f64> = self.column(column).map(|weight| weight * scale).collect();
        let weight = hadamard(&weight, block);
        let step =
            |row: &[f64]| HALF / 127.0 * row.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let (x_step, weight_step) = (step(&x), step(&weight));
        let (mut sum, mut error) = (0.0, 0.0);
        for (x, weight) in x.iter().zip(&weight) {
            sum += x * weight;
            error += x.abs() * weight_step + weight.abs() * x_step + x_step * weight_step;
        }
        // Errors of all signs: the bound holds without the root, but would hide much.
        (sum / block as f64, 4.0 * error / block as f64 / (self.depth as f64).sqrt() + 1e-5)
    }

    fn check_multiply<const ADD: bool, const GELU: bool>(&self, after: impl Fn(f64, f64) -> f64) {
        for (at, found) in self.multiply::<ADD, GELU>().into_iter().enumerate() {
            let (product, tolerance) = self.expected(at);
            let number = product + f64::from(self.bias[at % self.columns()]);
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
        case.check_multiply::<false, false>(|number, _| number);
        case.check_multiply::<true, false>(|number, before| number + before);
        case.check_multiply::<false, true>(|number, _| number * normal_distribution(number));
    }
}

#[test]
fn multiply_accepts_extreme_weights_and_empty_columns() {
    let mut case = Layer::new(2, 512, 16);
    for (at, weight) in case.weight.iter_mut().enumerate() {
        *weight = [i16::MIN, i16::MAX, 0, 1][at % PANEL % 4];
    }
    case.check_multiply::<false, false>(|number, _| number);
}

#[test]
fn multiply_keeps_what_is_not_finite_in_its_row() {
    let mut case = Layer::new(9, 128, 48);
    let whole = case.multiply::<true, false>();
    case.x[128 + 3] = f32::NAN;
    let rest = |y: Vec<f32>| [&y[..48], &y[96..]].concat();
    for machine_independent in [case.multiply::<false, false>(), case.multiply::<false, true>()] {
        assert!(machine_independent[48..96].iter().all(|y| y.is_nan()));
    }
    assert_eq!(bits(&rest(case.multiply::<true, false>())), bits(&rest(whole)));
}

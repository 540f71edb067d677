//! Linear layers against their definition in `f64`.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::*;
use crate::kernels::testing::{Layer, bits, every_width, normal_distribution, run_on_threads};

impl Layer {
    fn linear<'a>(&'a self, residual: bool, gelu: bool, y: &'a mut [f32]) -> Linear<'a> {
        let residual = residual.then_some(&self.residual[..]);
        Linear::new(&self.weights, &self.x, residual, gelu, y)
    }

    /// Computes some tasks in every width. Numbers of other tasks are left NaN.
    fn computed(
        &self,
        residual: bool,
        gelu: bool,
        tasks: &[usize],
    ) -> Vec<(&'static str, Vec<f32>)> {
        every_width(|width| {
            let mut y = vec![f32::NAN; self.residual.len()];
            width.run(&self.linear(residual, gelu, &mut y), tasks.iter().copied());
            y
        })
    }

    /// The products by the definition, before bias, with the maximum rounding error of each.
    fn products(&self) -> Vec<(f64, f64)> {
        let product = |at| {
            let (row, column) = (at / self.columns(), at % self.columns());
            let (mut sum, mut size) = (0.0, 0.0);
            for (x, weight) in self.x[row * self.depth..].iter().zip(self.column(column)) {
                let term = f64::from(*x) * weight;
                sum += term;
                size += term.abs();
            }
            let scale = f64::from(self.weights.scale[column]);
            (sum * scale, (self.depth + 4) as f64 * 6e-8 * size * scale.abs())
        };
        (0..self.rows * self.columns()).map(product).collect()
    }

    /// Runs `tasks` in every width and with all operations after the product. Compares their
    /// numbers with the definition, and all others with NaN.
    fn check(&self, tasks: &[usize]) {
        let products = self.products();
        for (residual, gelu) in [(false, false), (false, true), (true, false), (true, true)] {
            let finish = |(at, (product, tolerance)): (usize, &(f64, f64))| {
                let bias = f64::from(self.weights.bias[at % self.columns()]);
                let residual = if residual { f64::from(self.residual[at]) } else { 0.0 };
                let z = product + bias + residual;
                let tolerance = tolerance + 2e-7 * (product.abs() + bias.abs() + residual.abs());
                if gelu {
                    (z * normal_distribution(z), 1.2 * tolerance + 4e-7 * z.abs().max(1.0))
                } else {
                    (z, tolerance)
                }
            };
            let expected = products.iter().enumerate().map(finish).collect::<Vec<_>>();
            for (width, found) in self.computed(residual, gelu, tasks) {
                for (at, (found, (expected, tolerance))) in found.iter().zip(&expected).enumerate()
                {
                    let (row, column) = (at / self.columns(), at % self.columns());
                    let close = if tasks.contains(&(column / STRIP)) {
                        (f64::from(*found) - expected).abs() <= *tolerance
                    } else {
                        found.is_nan()
                    };
                    assert!(
                        close,
                        "{width}, {residual}, {gelu}, {row} of {}, {column} of {}: \
                         {found} for {expected} ± {tolerance}",
                        self.rows,
                        self.columns(),
                    );
                }
            }
        }
    }
}

#[test]
fn linear_agrees_with_the_definition_at_every_small_number_of_rows() {
    for rows in 0..=40 {
        // A full tile of the widest registers, and one more panel.
        Layer::new(rows, 3, 64).check(&[0, 1]);
    }
}

#[test]
fn linear_agrees_with_the_definition_at_every_depth() {
    for depth in [1, 16, 384, 1536] {
        // Tiles of 8 and 1, of 6, 2 and 1, of 4 and 2, of 2 and 1.
        for rows in [9, 6, 3] {
            Layer::new(rows, depth, 16).check(&[0]);
        }
        Layer::new(9, depth, 48).check(&[0]);
    }
    Layer::new(1, 384, 1152).check(&[0, 12, 23]);
}

#[test]
fn linear_writes_the_columns_of_a_task_and_no_others() {
    for (columns, tasks) in [
        (16, &[0][..]),
        (32, &[0]),
        (48, &[0]),
        (64, &[1]),
        (96, &[0]),
        (96, &[1]),
        (1152, &[0, 7, 23]),
        (1152, &[]),
    ] {
        Layer::new(3, 16, columns).check(tasks);
    }
}

#[test]
fn linear_accepts_extreme_weights_and_empty_columns() {
    let mut case = Layer::new(9, 384, 48);
    for (at, weight) in case.weights.values.to_mut().iter_mut().enumerate() {
        *weight = [i16::MIN, i16::MAX, 0][at % PANEL % 3];
    }
    case.check(&[0]);
    case.x.fill(0.0);
    case.check(&[0]);
}

#[test]
fn linear_keeps_what_is_not_finite_in_its_row() {
    let mut case = Layer::new(17, 16, 64);
    let whole = case.computed(true, true, &[0, 1]);
    for (row, bad) in [(0, f32::NAN), (7, f32::INFINITY), (16, f32::NEG_INFINITY)] {
        case.x[row * 16 + row % 16] = bad;
    }
    for ((width, whole), (_, found)) in whole.iter().zip(&case.computed(true, true, &[0, 1])) {
        for (row, (whole, found)) in whole.chunks(64).zip(found.chunks(64)).enumerate() {
            if row == 0 {
                assert!(found.iter().all(|found| found.is_nan()), "{width}");
            } else if ![7, 16].contains(&row) {
                assert_eq!(bits(whole), bits(found), "{width}, {row}");
            }
        }
    }
}

#[test]
fn linear_by_head_moves_the_numbers_of_a_head_side_by_side() {
    for (rows, columns) in [(1, 32), (9, 96), (17, 192)] {
        let case = Layer::new(rows, 16, columns);
        let tasks = (0..columns.div_ceil(STRIP)).collect::<Vec<_>>();
        let moved = every_width(|width| {
            let mut y = vec![f32::NAN; rows * columns];
            width.run(&case.linear(false, true, &mut y).by_head(), tasks.iter().copied());
            y
        });
        for ((width, found), (_, moved)) in case.computed(false, true, &tasks).iter().zip(moved) {
            let heads = (0..columns / HEAD).flat_map(|head| {
                found.chunks(columns).flat_map(move |row| &row[head * HEAD..][..HEAD])
            });
            assert_eq!(bits(&heads.copied().collect::<Vec<_>>()), bits(&moved), "{width}");
        }
    }
}

#[test]
fn linear_has_the_same_bits_on_any_threads_in_any_order() {
    // The second is smaller, so that it finds the numbers of the first in memory.
    let cases = [Layer::new(23, 64, 304), Layer::new(14, 16, 208)];
    for residual in [false, true] {
        let found = cases.each_ref().map(|case| {
            let tasks = (0..case.columns().div_ceil(STRIP)).collect::<Vec<_>>();
            case.computed(residual, true, &tasks)
        });
        for workers in 1..=4 {
            for (case, found) in cases.iter().zip(&found) {
                let mut output = vec![f32::NAN; case.residual.len()];
                let linear = case.linear(residual, true, &mut output);
                assert_eq!(linear.tasks(), case.columns().div_ceil(STRIP));
                run_on_threads(&linear, workers);
                for (width, found) in found.iter().filter(|(width, _)| *width != "scalar") {
                    assert_eq!(bits(found), bits(&output), "{width}, {workers}");
                }
            }
        }
    }
}

#[test]
fn new_panics_if_shapes_do_not_fit() {
    let case = Layer::new(2, 3, 32);
    let Layer { weights, residual, x, .. } = &case;
    let new = |weights: &LinearWeights, x, residual, rows: usize| {
        let mut y = vec![0.0; rows * 32];
        let new = || _ = Linear::new(weights, x, residual, false, &mut y);
        catch_unwind(AssertUnwindSafe(new)).is_ok()
    };
    assert!(new(weights, x, Some(residual), 2));
    let part = |values: Range<usize>, scale: Range<usize>, bias: Range<usize>| LinearWeights {
        values: weights.values[values].into(),
        scale: weights.scale[scale].into(),
        bias: weights.bias[bias].into(),
    };
    for (at, weights) in [
        part(0..0, 0..32, 0..32),
        part(1..96, 0..32, 0..32),
        part(0..96, 0..0, 0..32),
        part(0..96, 1..32, 0..32),
        part(0..96, 0..24, 0..24),
        part(0..96, 0..32, 1..32),
    ]
    .iter()
    .enumerate()
    {
        assert!(!new(weights, x, Some(residual), 2), "{at}");
    }
    assert!(!new(weights, x, Some(&residual[1..]), 2));
    assert!(!new(weights, x, Some(&[]), 2));
    assert!(!new(weights, &x[1..], Some(residual), 2));
    assert!(!new(weights, x, None, 3));
}

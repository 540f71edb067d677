//! Rounding to integers against the definition of the rotation in `f64`.

mod rows;
mod weights;

use pulp::WithSimd;

use super::{
    super::{
        run_task,
        testing::{bits, every_width, noise, run_on_threads, run_tasks},
    },
    *,
};

/// How far from a number an integer times the step may be: half a step and some rounding.
const HALF: f64 = 0.5005;

#[derive(Clone, Copy)]
struct Rows<'a> {
    x: &'a [f32],
    rows: usize,
    rotation: usize,
}

impl WithSimd for Rows<'_> {
    type Output = (Vec<u8>, Vec<f32>);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let (mut q, mut scale) = (vec![0; self.x.len()], vec![f32::NAN; self.rows]);
        let (q_part, scale_part) = (SharedSlice::new(&mut q), SharedSlice::new(&mut scale));
        let all = QuantizeRows::new(self.x, self.rows, self.rotation, q_part, scale_part).unwrap();
        run_tasks(simd, &all, 0..all.tasks());
        (q, scale)
    }
}

#[derive(Clone, Copy)]
struct Weights<'a> {
    weight: &'a [i16],
    scale: &'a [f32],
    rotation: usize,
}

impl WithSimd for Weights<'_> {
    type Output = (Vec<i8>, Vec<f32>);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { weight, scale, rotation } = self;
        let (mut q, mut q_scale) = (vec![i8::MIN; weight.len()], vec![f32::NAN; scale.len()]);
        let (q_part, scale_part) = (SharedSlice::new(&mut q), SharedSlice::new(&mut q_scale));
        let all = QuantizeWeights::new(weight, scale, rotation, q_part, scale_part).unwrap();
        run_tasks(simd, &all, 0..all.tasks());
        (q, q_scale)
    }
}

/// Numbers a block's part of the row apart, with the signs of the Hadamard matrix.
fn hadamard(row: &[f64], size: usize) -> Vec<f64> {
    let stride = row.len() / size;
    let number = |at: usize| {
        let term = |from: usize| {
            let is_negative = ((at / stride) & from).count_ones() % 2 == 1;
            let x = row[from * stride + at % stride];
            if is_negative { -x } else { x }
        };
        (0..size).map(term).sum()
    };
    (0..row.len()).map(number).collect()
}

fn greatest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |greatest, x| x.abs().max(greatest))
}

fn rotated_rows(x: &[f32], rows: usize, rotation: usize) -> Vec<Vec<f64>> {
    let row =
        |row: &[f32]| hadamard(&row.iter().copied().map(f64::from).collect::<Vec<_>>(), rotation);
    x.chunks(x.len() / rows).map(row).collect()
}

/// The columns of the weight by the definition.
fn rotated_columns(weight: &[i16], scale: &[f32], rotation: usize) -> Vec<Vec<f64>> {
    let depth = weight.len() / scale.len();
    let column = |column: usize| {
        let at = column / PANEL * depth * PANEL + column % PANEL;
        let numbers = weight[at..].iter().step_by(PANEL).take(depth);
        let numbers = numbers.map(|x| f64::from(*x) * f64::from(scale[column]));
        hadamard(&numbers.collect::<Vec<_>>(), rotation)
    };
    (0..scale.len()).map(column).collect()
}

fn numbers(count: usize, size: f32) -> Vec<f32> {
    noise(count).take(count).map(|x| x * size).collect()
}

fn weights(count: usize) -> Vec<i16> {
    noise(count + 1).take(count).map(|x| (x * 40_000.0) as i16).collect()
}

const SIZES: [usize; 4] = [1, 2, 16, 64];

#[test]
fn rotation_is_its_definition_and_keeps_the_product() {
    #[derive(Clone, Copy)]
    struct Rotate<'a>(&'a [f32], usize);

    impl WithSimd for Rotate<'_> {
        type Output = Vec<f64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
            let mut row = self.0.to_vec();
            rotate(simd, &mut row, self.1);
            row.into_iter().map(f64::from).collect()
        }
    }

    fn product(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    let sizes = [(1, 1), (2, 2), (48, 16), (64, 64), (96, 32), (1536, 512)];
    let common = [16, 384, 1536].into_iter().flat_map(|depth| SIZES.map(|size| (depth, size)));
    for (depth, size) in sizes.into_iter().chain(common).filter(|(depth, size)| depth >= size) {
        // Whole numbers, of which all sums are exact.
        let [a, b] = [1, 2].map(|seed| {
            noise(depth + seed).take(depth).map(|x| (x * 100.0).round()).collect::<Vec<_>>()
        });
        let plain = [&a, &b].map(|x| x.iter().copied().map(f64::from).collect::<Vec<_>>());
        let rotated = every_width(Rotate(&a, size)).into_iter().zip(every_width(Rotate(&b, size)));
        for ((width, a), (_, b)) in rotated {
            assert_eq!(a, hadamard(&plain[0], size), "{width}, {depth}, {size}");
            let expected = product(&plain[0], &plain[1]) * size as f64;
            assert_eq!(product(&a, &b), expected, "{width}, {depth}, {size}");
        }
    }
}

#[test]
fn product_of_integers_is_about_that_of_numbers() {
    let (rows, columns) = (3, 32);
    for (depth, rotation) in [(16, 1), (16, 16), (384, 1), (384, 2), (384, 64), (1536, 64)] {
        let (x, weight) = (numbers(rows * depth, 3.0), weights(depth * columns));
        let scale = numbers(columns, 1e-4);
        let rotated = rotated_rows(&x, rows, rotation);
        let weights = rotated_columns(&weight, &scale, rotation);
        let (by_row, by_column) = (
            every_width(Rows { x: &x, rows, rotation }),
            every_width(Weights { weight: &weight, scale: &scale, rotation }),
        );
        for ((width, (q, row_scale)), (_, (w, q_scale))) in by_row.iter().zip(&by_column) {
            let mut product = vec![0; rows * columns];
            for (at, sum) in product.iter_mut().enumerate() {
                for k in 0..depth {
                    let q = i32::from(q[at / columns * depth + k]) - i32::from(ZERO_POINT);
                    *sum += q * i32::from(w[k * columns + at % columns]);
                }
            }
            let (mut y, bias) = (vec![f32::NAN; rows * columns], vec![0.0; columns]);
            let rescale = Rescale {
                product: &product,
                row_scale,
                scale: q_scale,
                bias: &bias,
                residual: None,
                gelu: false,
                y: SharedSlice::new(&mut y),
            };
            assert!(rescale.fits());
            // SAFETY: there is no other thread.
            unsafe { run_task(&rescale, 0) };
            for (at, found) in y.into_iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let x_error = HALF * f64::from(row_scale[row]);
                let w_error = HALF * f64::from(q_scale[column]).abs() * rotation as f64;
                let (mut expected, mut error) = (0.0, 0.0);
                for (x, w) in rotated[row].iter().zip(&weights[column]) {
                    expected += x * w / rotation as f64;
                    error += x.abs() * w_error + w.abs() * x_error + x_error * w_error;
                }
                // Errors of all signs: the bound holds without the root, but would hide much.
                let bound = 4.0 * error / rotation as f64 / (depth as f64).sqrt();
                let close = (f64::from(found) - expected).abs() <= bound;
                assert!(close, "{width}, {depth}, {rotation}: {found} for {expected} ± {bound}");
            }
        }
    }
}

#[test]
fn quantize_has_the_same_bits_on_any_threads_in_any_order() {
    let (x, weight, scale) = (numbers(100 * 384, 3.0), weights(384 * 96), numbers(96, 1e-4));
    let (mut q, mut row_scale) = (vec![0; x.len()], vec![f32::NAN; 100]);
    let (mut w, mut q_scale) = (vec![0; weight.len()], vec![f32::NAN; 96]);
    let (q_part, scale_part) = (SharedSlice::new(&mut q), SharedSlice::new(&mut row_scale));
    let rows = QuantizeRows::new(&x, 100, 64, q_part, scale_part).unwrap();
    let (w_part, scale_part) = (SharedSlice::new(&mut w), SharedSlice::new(&mut q_scale));
    let columns = QuantizeWeights::new(&weight, &scale, 64, w_part, scale_part).unwrap();
    assert_eq!((rows.tasks(), columns.tasks()), (7, 6));
    run_on_threads(&rows, 3);
    run_on_threads(&columns, 3);
    for (width, (found, scale)) in every_width(Rows { x: &x, rows: 100, rotation: 64 }) {
        assert!((width == "scalar" || found == q) && bits(&scale) == bits(&row_scale), "{width}");
    }
    for (width, (found, scale)) in
        every_width(Weights { weight: &weight, scale: &scale, rotation: 64 })
    {
        assert!(found == w && bits(&scale) == bits(&q_scale), "{width}");
    }
}

#[test]
fn new_refuses_shapes_that_do_not_fit() {
    let rows = |x, rows, rotation, q, scale| {
        let (x, mut q, mut scale) = (vec![0.0; x], vec![0; q], vec![0.0; scale]);
        let (q, scale) = (SharedSlice::new(&mut q), SharedSlice::new(&mut scale));
        QuantizeRows::new(&x, rows, rotation, q, scale).is_some()
    };
    assert!(rows(96, 2, 16, 96, 2));
    assert!(rows(3072, 2, 64, 3072, 2));
    for (x, count, rotation, q, scale) in [
        (96, 0, 1, 96, 0),
        (0, 2, 1, 0, 2),
        (2, 2, 1, 2, 2),
        (97, 2, 1, 97, 2),
        (47, 2, 1, 47, 2),
        (3104, 2, 1, 3104, 2),
        (96, 2, 0, 96, 2),
        (96, 2, 3, 96, 2),
        (96, 2, 32, 96, 2),
        (96, 2, 16, 95, 2),
        (96, 2, 16, 96, 1),
        (96, 2, 16, 96, 3),
    ] {
        assert!(!rows(x, count, rotation, q, scale), "{x}, {count}, {rotation}, {q}, {scale}");
    }

    let weights = |weight, scale, rotation, q, q_scale| {
        let (weight, scale) = (vec![0; weight], vec![0.0; scale]);
        let (mut q, mut q_scale) = (vec![0; q], vec![0.0; q_scale]);
        let (q, q_scale) = (SharedSlice::new(&mut q), SharedSlice::new(&mut q_scale));
        QuantizeWeights::new(&weight, &scale, rotation, q, q_scale).is_some()
    };
    assert!(weights(1536, 32, 16, 1536, 32));
    assert!(weights(16384, 16, 512, 16384, 16));
    for (weight, scale, rotation, q, q_scale) in [
        (0, 0, 1, 0, 0),
        (0, 16, 2, 0, 16),
        (1537, 32, 16, 1537, 32),
        (1536, 24, 1, 1536, 24),
        (1536, 32, 0, 1536, 32),
        (1536, 32, 3, 1536, 32),
        (1536, 32, 32, 1536, 32),
        (16384, 16, 1024, 16384, 16),
        (1536, 32, 16, 1535, 32),
        (1536, 32, 16, 1536, 31),
    ] {
        let fits = weights(weight, scale, rotation, q, q_scale);
        assert!(!fits, "{weight}, {scale}, {rotation}, {q}, {q_scale}");
    }
}

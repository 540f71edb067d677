//! From products of integers back to numbers.

use pulp::Simd;

use super::{
    super::{Kernel, ROWS, SharedSlice, gelu, rows_of},
    PANEL,
};

/// Products of integers to numbers: `gelu?(product * row_scale * scale + bias + residual)`.
pub struct Rescale<'a> {
    /// \[rows, columns\]
    pub product: &'a [i32],
    /// \[rows\]
    pub row_scale: &'a [f32],
    /// \[columns\]
    pub scale: &'a [f32],
    /// \[columns\]
    pub bias: &'a [f32],
    /// \[rows, columns\]
    pub residual: Option<&'a [f32]>,
    /// Whether GELU follows.
    pub gelu: bool,
    /// \[rows, columns\]
    pub y: SharedSlice<'a, f32>,
}

impl Rescale<'_> {
    /// Returns whether the shapes fit.
    pub fn fits(&self) -> bool {
        let (rows, columns) = (self.row_scale.len(), self.scale.len());
        rows * columns == self.product.len()
            && self.bias.len() == columns
            && self.residual.is_none_or(|residual| residual.len() == self.product.len())
            && self.y.len() == self.product.len()
            && columns.is_multiple_of(PANEL)
    }
}

impl Kernel for Rescale<'_> {
    fn tasks(&self) -> usize {
        self.row_scale.len().div_ceil(ROWS)
    }

    fn operations(&self) -> usize {
        self.product.len() * if self.gelu { 4 } else { 1 }
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        let Self { product, row_scale, scale, bias, residual, y, gelu: is_gelu } = self;
        let columns = scale.len();
        for row in rows_of(task, row_scale.len()) {
            let range = row * columns..(row + 1) * columns;
            // SAFETY: the rows of a task are its own.
            let y = unsafe { y.part(range.clone()) };
            let product = &product[range.clone()];
            let (scale, bias) = (&scale[..columns], &bias[..columns]);
            let row_scale = row_scale[row];
            for i in 0..columns {
                y[i] = product[i] as f32 * (row_scale * scale[i]) + bias[i];
            }
            if let Some(residual) = residual {
                for (y, residual) in y.iter_mut().zip(&residual[range]) {
                    *y += residual;
                }
            }
            if *is_gelu {
                let (registers, _) = S::as_mut_simd_f32s(y);
                for y in registers {
                    *y = gelu(simd, *y);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::{
        super::super::testing::{
            bits, every_width, noise, normal_distribution, run_on_threads, run_tasks,
        },
        *,
    };

    /// Some tasks, each output number that is not theirs left NaN.
    #[derive(Clone, Copy)]
    struct Run<'a> {
        case: &'a Case,
        residual: bool,
        gelu: bool,
        tasks: &'a [usize],
    }

    impl WithSimd for Run<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let mut y = vec![f32::NAN; self.case.product.len()];
            let all = self.case.rescale(self.residual, self.gelu, &mut y);
            run_tasks(simd, &all, self.tasks.iter().copied());
            y
        }
    }

    struct Case {
        product: Vec<i32>,
        row_scale: Vec<f32>,
        scale: Vec<f32>,
        bias: Vec<f32>,
        residual: Vec<f32>,
    }

    impl Case {
        fn new(rows: usize, columns: usize) -> Self {
            let mut noise = noise(rows + columns);
            let mut numbers =
                |count, size: f32| noise.by_ref().take(count).map(|x| x * size).collect::<Vec<_>>();
            let mut product: Vec<i32> =
                numbers(rows * columns, 1e6).iter().map(|x| *x as i32).collect();
            // The greatest that 1536 products of 127 by 127 make.
            product[0] = -24_774_144;
            let (row_scale, scale) = (numbers(rows, 1e-2), numbers(columns, 3e-4));
            let (bias, residual) = (numbers(columns, 2.0), numbers(rows * columns, 2.0));
            Self { product, row_scale, scale, bias, residual }
        }

        fn rescale<'a>(&'a self, residual: bool, gelu: bool, y: &'a mut [f32]) -> Rescale<'a> {
            let Self { product, row_scale, scale, bias, .. } = self;
            let (residual, y) = (residual.then_some(&*self.residual), SharedSlice::new(y));
            let rescale = Rescale { product, row_scale, scale, bias, residual, gelu, y };
            assert!(rescale.fits());
            assert_eq!(rescale.tasks(), row_scale.len().div_ceil(ROWS));
            rescale
        }

        /// What a number shall be, and what rounding may add.
        fn expected(&self, at: usize, residual: bool, gelu: bool) -> (f64, f64) {
            let (row, column) = (at / self.scale.len(), at % self.scale.len());
            let scale = f64::from(self.row_scale[row]) * f64::from(self.scale[column]);
            let product = f64::from(self.product[at]) * scale;
            let bias = f64::from(self.bias[column]);
            let residual = if residual { f64::from(self.residual[at]) } else { 0.0 };
            let z = product + bias + residual;
            let tolerance = 3e-7 * (product.abs() + bias.abs() + residual.abs());
            if gelu {
                (z * normal_distribution(z), 1.2 * tolerance + 4e-7 * z.abs().max(1.0))
            } else {
                (z, tolerance)
            }
        }

        fn check(&self, tasks: &[usize]) {
            for (residual, gelu) in [(false, false), (false, true), (true, false), (true, true)] {
                for (width, found) in every_width(Run { case: self, residual, gelu, tasks }) {
                    for (at, found) in found.into_iter().enumerate() {
                        let row = at / self.scale.len();
                        let (expected, tolerance) = self.expected(at, residual, gelu);
                        let close = if tasks.contains(&(row / ROWS)) {
                            (f64::from(found) - expected).abs() <= tolerance
                        } else {
                            found.is_nan()
                        };
                        assert!(close, "{width}, {residual}, {gelu}, {at}: {found}, {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn rescale_agrees_with_the_definition() {
        for rows in (1..=40_usize).chain(511..=513) {
            Case::new(rows, 16).check(&[rows.div_ceil(ROWS) - 1]);
        }
        for columns in [32, 48, 64, 96, 1152] {
            Case::new(3, columns).check(&[0]);
        }
        Case::new(33, 16).check(&[0, 2]);
    }

    #[test]
    fn rescale_has_the_same_bits_on_any_threads_in_any_order() {
        let case = Case::new(100, 48);
        let mut y = vec![f32::NAN; case.product.len()];
        run_on_threads(&case.rescale(true, true, &mut y), 3);
        let run = Run { case: &case, residual: true, gelu: true, tasks: &[0, 1, 2, 3, 4, 5, 6] };
        for (width, found) in every_width(run).iter().filter(|(width, _)| *width != "scalar") {
            assert_eq!(bits(found), bits(&y), "{width}");
        }
    }

    #[test]
    fn fits_is_false_for_shapes_that_do_not_fit() {
        let case = Case::new(2, 16);
        let misfits: [fn(&mut Rescale); 7] = [
            |it| it.product = &it.product[1..],
            |it| it.row_scale = &it.row_scale[1..],
            |it| it.scale = &it.scale[1..],
            |it| it.bias = &it.bias[1..],
            |it| it.residual = Some(&[]),
            |it| it.y = SharedSlice::new(&mut []),
            // Half a panel, of twice the rows.
            |it| {
                it.row_scale = &[1.0; 4];
                (it.scale, it.bias) = (&it.scale[..8], &it.bias[..8]);
            },
        ];
        for (at, misfit) in misfits.iter().enumerate() {
            let mut y = [0.0; 32];
            let mut rescale = case.rescale(true, false, &mut y);
            misfit(&mut rescale);
            assert!(!rescale.fits(), "{at}");
        }
    }
}

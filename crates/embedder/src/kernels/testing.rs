//! Helpers for the tests of kernels.

use std::thread;

use pulp::{Arch, Scalar128b, Simd};

use super::{
    float::{LinearWeights, PANEL},
    kernel::{Kernel, Task},
};
use crate::shape::{HEAD, WIDTH};

/// The registers in which a test runs a kernel.
#[derive(Clone, Copy)]
pub enum Width {
    Native(Arch),
    FourLanes,
}

impl Width {
    /// Runs some tasks of a kernel on this thread.
    pub fn run(self, kernel: &impl Kernel, tasks: impl IntoIterator<Item = usize>) {
        for index in tasks {
            // No other thread runs the same task meanwhile.
            let task = Task { kernel, index };
            match self {
                Self::Native(arch) => arch.dispatch(task),
                Self::FourLanes => Simd::vectorize(Scalar128b, task),
            }
        }
    }
}

/// Returns the results of a function for all registers of this machine and for two portable ones. Only "scalar" has
/// no fused multiply-add.
pub fn every_width<T>(compute: impl Fn(Width) -> T) -> Vec<(&'static str, T)> {
    let mut arches = vec![("dispatched", Arch::new()), ("scalar", Arch::Scalar)];
    #[cfg(target_arch = "x86_64")]
    {
        use pulp::x86::{V3, V4};
        arches.extend(V3::try_new().map(|simd| ("AVX2", Arch::V3(simd))));
        arches.extend(V4::try_new().map(|simd| ("AVX-512", Arch::V4(simd))));
    }
    #[cfg(target_arch = "aarch64")]
    arches.extend(pulp::aarch64::Neon::try_new().map(|simd| ("NEON", Arch::Neon(simd))));
    let native = arches.into_iter().map(|(name, arch)| (name, Width::Native(arch)));
    native
        .chain([("four lanes", Width::FourLanes)])
        .map(|(name, width)| (name, compute(width)))
        .collect()
}

/// Runs all tasks of a kernel on several threads, in reverse order.
pub fn run_on_threads(kernel: &impl Kernel, threads: usize) {
    thread::scope(|scope| {
        for thread in 0..threads {
            // The threads share no task.
            let tasks = (thread..kernel.tasks()).step_by(threads).rev();
            scope.spawn(move || Width::Native(Arch::new()).run(kernel, tasks));
        }
    });
}

/// Generates pseudorandom numbers in \[-1, 1\].
pub fn noise(seed: usize) -> impl Iterator<Item = f32> {
    let mut state = seed as u32;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    })
}

/// Returns the bits of numbers, with a canonical NaN.
pub fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// A linear layer and its input.
pub struct Layer {
    pub rows: usize,
    pub depth: usize,
    pub weights: LinearWeights<'static>,
    pub residual: Vec<f32>,
    pub x: Vec<f32>,
}

impl Layer {
    /// Weights of all sizes, and sums about as large as bias and residual.
    pub fn new(rows: usize, depth: usize, columns: usize) -> Self {
        let mut noise = noise(rows + depth * columns);
        let mut numbers =
            |count, size: f32| noise.by_ref().take(count).map(|x| x * size).collect::<Vec<_>>();
        let weights = LinearWeights {
            values: numbers(depth * columns, 40_000.0).iter().map(|x| *x as i16).collect(),
            scale: numbers(columns, 1e-4 / (depth as f32).sqrt()).into(),
            bias: numbers(columns, 2.0).into(),
        };
        let residual = numbers(rows * columns, 2.0);
        Self { rows, depth, weights, residual, x: numbers(rows * depth, 2.0) }
    }

    pub fn columns(&self) -> usize {
        self.weights.columns()
    }

    /// Returns the integer weights of a column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f64> {
        let panel = &self.weights.values[column / PANEL * PANEL * self.depth..];
        (0..self.depth).map(move |k| f64::from(panel[k * PANEL + column % PANEL]))
    }
}

/// Returns the attention of a query in a head by its definition. `projected` \[tokens, 3 * 384\] has the query,
/// key and value of each token.
pub fn attention(projected: &[f32], head: usize, query: usize) -> Vec<f64> {
    let part = |token: usize, which: usize| {
        let at = (3 * token + which) * WIDTH + head * HEAD;
        projected[at..at + HEAD].iter().map(|x| f64::from(*x))
    };
    let tokens = projected.len() / (3 * WIDTH);
    let product = |key| part(query, 0).zip(part(key, 1)).map(|(x, y)| x * y).sum::<f64>();
    let scores: Vec<f64> = (0..tokens).map(|key| product(key) / (HEAD as f64).sqrt()).collect();
    let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
    let (mut mixed, mut sum) = (vec![0.0; HEAD], 0.0);
    for (token, score) in scores.iter().enumerate() {
        let weight = (score - greatest).exp();
        sum += weight;
        mixed.iter_mut().zip(part(token, 2)).for_each(|(mixed, value)| *mixed += weight * value);
    }
    mixed.iter().map(|mixed| mixed / sum).collect()
}

/// Returns whether `y` is the normalised row `x` by the definition, to 4e-6.
pub fn is_normalized(x: &[f32], gamma: &[f32], beta: &[f32], y: &[f32]) -> bool {
    let width = x.len() as f64;
    let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / width;
    let variance = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / width;
    (0..x.len()).all(|i| {
        let z = (f64::from(x[i]) - mean) / (variance + 1e-12).sqrt();
        (f64::from(y[i]) - (z * f64::from(gamma[i]) + f64::from(beta[i]))).abs() < 4e-6
    })
}

/// Φ(x), by a series whose terms all have the same sign.
pub fn normal_distribution(x: f64) -> f64 {
    if x.abs() > 9.0 {
        return f64::from(u8::from(x > 0.0));
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

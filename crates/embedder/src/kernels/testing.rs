//! Helpers for the tests of kernels.

use std::thread;

use pulp::{Arch, Scalar, Scalar128b, Simd, WithSimd};

use super::{Kernel, run_task};

/// Returns the results of a kernel in all registers of this machine and in two portable ones. Only "scalar" has no fused
/// multiply-add.
pub fn every_width<K: WithSimd + Copy>(kernel: K) -> Vec<(&'static str, K::Output)> {
    let mut found = vec![
        ("dispatched", Arch::new().dispatch(kernel)),
        ("scalar", kernel.with_simd(Scalar::new())),
        ("four lanes", Simd::vectorize(Scalar128b, kernel)),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        use pulp::x86::{V3, V4};
        found.extend(V3::try_new().map(|simd| ("AVX2", Simd::vectorize(simd, kernel))));
        found.extend(V4::try_new().map(|simd| ("AVX-512", Simd::vectorize(simd, kernel))));
    }
    #[cfg(target_arch = "aarch64")]
    found
        .extend(pulp::aarch64::Neon::try_new().map(|simd| ("NEON", Simd::vectorize(simd, kernel))));
    found
}

/// Runs some tasks of a kernel on this thread.
#[inline(always)]
pub fn run_tasks<S: Simd>(simd: S, kernel: &impl Kernel, tasks: impl IntoIterator<Item = usize>) {
    for task in tasks {
        // SAFETY: no test shares a kernel with another thread meanwhile.
        unsafe { kernel.run(simd, task) };
    }
}

/// Runs all tasks of a kernel on several threads, in reverse order.
pub fn run_on_threads(kernel: &impl Kernel, threads: usize) {
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let tasks = (thread..kernel.tasks()).step_by(threads);
                // SAFETY: the threads share no task.
                tasks.rev().for_each(|task| unsafe { run_task(kernel, task) });
            });
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

pub fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
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

/// Returns the attention of a query in a head by the definition. Each token has 384 numbers of queries, keys and values,
/// 32 for a head.
pub fn attention(projected: &[f32], head: usize, query: usize) -> Vec<f64> {
    let (width, head_width) = (384, 32);
    let part = |token: usize, which: usize| {
        projected[(3 * token + which) * width + head * head_width..][..head_width]
            .iter()
            .map(|x| f64::from(*x))
    };
    let score = |key| {
        let products = part(query, 0).zip(part(key, 1)).map(|(x, y)| x * y);
        products.sum::<f64>() / (head_width as f64).sqrt()
    };
    let scores: Vec<f64> = (0..projected.len() / (3 * width)).map(score).collect();
    let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
    let (mut mixed, mut sum) = (vec![0.0; head_width], 0.0);
    for (token, score) in scores.iter().enumerate() {
        let weight = (score - greatest).exp();
        sum += weight;
        for (mixed, value) in mixed.iter_mut().zip(part(token, 2)) {
            *mixed += weight * value;
        }
    }
    mixed.iter().map(|mixed| mixed / sum).collect()
}

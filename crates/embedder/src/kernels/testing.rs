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

//! The arithmetic of the model in SIMD registers.
//!
//! A kernel is divided into tasks. [`run`] passes them to a function that distributes them over threads, so that kernels
//! do not depend on a thread pool.

mod aligned;
pub(crate) mod arch;
mod float;
pub mod int8;
mod shared_slice;
#[cfg(test)]
pub(crate) mod testing;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use knowledgepulse_workers::fault;
use pulp::{Arch, Simd, WithSimd};

pub use float::{
    LayerNorm, Linear, LinearWeights, PANEL, SelfAttention, Table, embed_tokens, pool,
};
pub use shared_slice::SharedSlice;

/// The numbers of a token in the input and the output of a layer.
const WIDTH: usize = 384;
const HEADS: usize = 12;
/// The numbers of a token in one head.
const HEAD: usize = WIDTH / HEADS;

/// What normalisation adds to the variance.
const EPSILON: f32 = 1e-12;

/// A computation in tasks, which may run in any order on any threads with the same bits.
pub trait Kernel: Sync {
    /// Returns the number of tasks.
    fn tasks(&self) -> usize;

    /// Runs a task, counted from 0, in the registers of `simd`.
    ///
    /// This and everything that it calls must be `#[inline(always)]` and have no closures, which are not compiled for the
    /// registers.
    ///
    /// # Safety
    ///
    /// No other thread may run the same task at the same time.
    unsafe fn run<S: Simd>(&self, simd: S, task: usize);
}

/// Runs all tasks of a kernel with `spread`, which must call the given function once for each number below the given
/// one. Returns whether no task has panicked.
pub fn run(
    kernel: &impl Kernel,
    spread: impl FnOnce(usize, &(dyn Fn(usize) + Send + Sync)),
) -> bool {
    let panicked = AtomicBool::new(false);
    let task = |index| {
        let task = || {
            fault::point("task");
            // SAFETY: `spread` runs each task once.
            unsafe { run_task(kernel, index) }
        };
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            panicked.store(true, Ordering::Relaxed);
        }
    };
    spread(kernel.tasks(), &task);
    !panicked.into_inner()
}

/// Runs one task of a kernel in the widest registers of the machine.
///
/// # Safety
///
/// No other thread may run the same task at the same time.
pub unsafe fn run_task(kernel: &impl Kernel, index: usize) {
    Arch::new().dispatch(Task { kernel, index });
}

/// One task of a kernel. Its maker must uphold the contract of [`Kernel::run`].
struct Task<'a, K> {
    kernel: &'a K,
    index: usize,
}

impl<K: Kernel> WithSimd for Task<'_, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: whoever made the task promises it.
        unsafe { self.kernel.run(simd, self.index) }
    }
}

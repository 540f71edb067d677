//! The arithmetic of the model, in SIMD registers of any width.
//!
//! Knows nothing of ONNX Runtime, files or threads: a kernel is cut into tasks, and [`run`] hands them
//! to whatever spreads them over threads.

pub(crate) mod arch;
mod float;
pub mod int8;
mod shared_slice;
#[cfg(test)]
mod testing;

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use knowledgepulse_workers::fault;
use pulp::{Arch, Simd, WithSimd};

pub use float::{
    LayerNorm, Linear, LinearWeights, PANEL, SelfAttention, Table, embed_tokens, pool,
};
pub use shared_slice::SharedSlice;

/// Rows of a task, where rows are what a kernel is cut into.
const ROWS: usize = 16;

/// A kernel of fewer operations than this is done sooner than another thread is woken.
const WORTH_A_THREAD: usize = 100_000;

/// Arithmetic that is cut into tasks. They may run in any order on any threads, which changes no bit.
pub trait Kernel: Sync {
    /// Returns how many tasks there are.
    fn tasks(&self) -> usize;

    /// Returns about how many operations all tasks take together.
    fn operations(&self) -> usize;

    /// Does one of the tasks, counted from 0, in registers of the width of `simd`.
    ///
    /// To be inlined, with all that it calls and without closures, so that it is compiled for them.
    ///
    /// # Safety
    ///
    /// No other thread does the same one meanwhile.
    unsafe fn run<S: Simd>(&self, simd: S, task: usize);
}

/// A task of a kernel has panicked.
#[derive(Debug)]
pub struct TaskPanicked;

/// Does all tasks of a kernel, each once: on this thread where they are little work, else by `spread`,
/// which gets their number and what does one of them.
///
/// # Errors
///
/// What `spread` reports, and [`TaskPanicked`]; the other tasks are done all the same.
pub fn run<E: From<TaskPanicked>>(
    kernel: &impl Kernel,
    spread: impl FnOnce(usize, &(dyn Fn(usize) + Send + Sync)) -> Result<(), E>,
) -> Result<(), E> {
    let panicked = AtomicBool::new(false);
    let task = |index| {
        let task = || {
            fault::point("task");
            // SAFETY: each task is done once, here or by `spread`.
            unsafe { run_task(kernel, index) }
        };
        // A panic must not unwind through the threads of ONNX Runtime.
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            panicked.store(true, Ordering::Relaxed);
        }
    };
    if kernel.operations() < WORTH_A_THREAD {
        (0..kernel.tasks()).for_each(task);
    } else {
        spread(kernel.tasks(), &task)?;
    }
    if panicked.into_inner() { Err(TaskPanicked.into()) } else { Ok(()) }
}

/// Does one task of a kernel in the widest registers that the machine has.
///
/// # Safety
///
/// No other thread does the same one meanwhile.
pub unsafe fn run_task(kernel: &impl Kernel, index: usize) {
    Arch::new().dispatch(Task { kernel, index });
}

/// One task of a kernel, made by [`run_task`] alone.
struct Task<'a, K> {
    kernel: &'a K,
    index: usize,
}

impl<K: Kernel> WithSimd for Task<'_, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: the caller of `run_task` promises it.
        unsafe { self.kernel.run(simd, self.index) }
    }
}

/// The rows of a task.
#[inline(always)]
fn rows_of(task: usize, rows: usize) -> Range<usize> {
    task * ROWS..rows.min((task + 1) * ROWS)
}

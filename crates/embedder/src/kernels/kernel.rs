//! Kernels, and the tasks that they are divided into.

use knowledgepulse_workers::fault;
use pulp::{Arch, Simd, WithSimd};

use super::text_threads::for_each;

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
    unsafe fn run_task<S: Simd>(&self, simd: S, task: usize);
}

/// Runs all tasks of a kernel in the widest registers of the machine, on all threads of the text that the calling thread
/// embeds. Returns whether no task has panicked. Takes the kernel, because two runs of it would write the same numbers:
///
/// ```compile_fail,E0382
/// use knowledgepulse_embedder::kernels::{LayerNorm, Norm, run};
///
/// let norm = Norm { gamma: vec![1.0; 16].into(), beta: vec![0.0; 16].into() };
/// let (x, mut y) = ([1.0; 16], [0.0; 16]);
/// let kernel = LayerNorm::new(&norm, &x, &mut y);
/// std::thread::scope(|scope| {
///     scope.spawn(|| run(kernel));
///     scope.spawn(|| run(kernel));
/// });
/// ```
pub fn run(kernel: impl Kernel) -> bool {
    let arch = Arch::new();
    for_each(kernel.tasks(), |index| {
        fault::point("task");
        // Each task runs once.
        arch.dispatch(Task { kernel: &kernel, index });
    })
}

/// One task of a kernel. Its maker must uphold the contract of [`Kernel::run_task`].
pub(super) struct Task<'a, K> {
    pub kernel: &'a K,
    pub index: usize,
}

impl<K: Kernel> WithSimd for Task<'_, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: whoever made the task promises it.
        unsafe { self.kernel.run_task(simd, self.index) }
    }
}

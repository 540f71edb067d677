//! The arithmetic that this crate does itself, in SIMD registers of any width.
//!
//! A leaf: it knows nothing of ONNX Runtime.

mod attention;
mod encoder;
mod linear;
mod math;
mod quantised;
mod rows;
mod shared;
#[cfg(test)]
mod testing;

use std::sync::atomic::{AtomicBool, Ordering};

use pulp::{Arch, WithSimd};

pub use attention::SelfAttention;
pub use encoder::{LayerNorm, Table, TokenEmbeddings, pool};
pub use linear::{Linear, PANEL, Parts as LinearParts};
use math::gelu;
pub use quantised::{QuantizeRows, QuantizeWeights, Rescale};
pub use shared::SharedSlice;
#[cfg(test)]
use testing::every_width;

static ONLY_AVX2: AtomicBool = AtomicBool::new(false);

/// From now on, has kernels use AVX2 where there is AVX-512, too: to see what other processors see.
pub fn limit_to_avx2() {
    ONLY_AVX2.store(true, Ordering::Relaxed);
}

/// Runs a kernel in the widest registers that may be used.
fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if ONLY_AVX2.load(Ordering::Relaxed)
        && let Some(simd) = pulp::x86::V3::try_new()
    {
        return pulp::Simd::vectorize(simd, kernel);
    }
    Arch::new().dispatch(kernel)
}

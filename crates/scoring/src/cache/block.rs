//! Zero-initialised memory.

use memmap2::MmapMut;
use pulp::bytemuck::{cast_slice, cast_slice_mut};

/// The bytes from which on memory is mapped.
pub const LARGE: usize = 1 << 22;

/// Returns zeros, in large pages where the system has them: with small ones, looking up the address of a page takes as
/// long as reading it, and allocating it several times as long as writing it. `None` if there is not enough memory.
pub fn mapped(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    // Where that is refused, it takes longer.
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

/// Numbers in mapped memory, or in a `Vec` if they are few.
#[derive(Debug)]
pub enum Block {
    /// Few.
    Small(Vec<f32>),
    /// Many.
    Large(MmapMut),
}

impl Default for Block {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl Block {
    /// Returns this many zeros, or `None` if there is not enough memory.
    pub fn zeros(numbers: usize) -> Option<Self> {
        let bytes = numbers.checked_mul(size_of::<f32>())?;
        if bytes >= LARGE {
            return mapped(bytes).map(Self::Large);
        }
        let mut few = Vec::new();
        few.try_reserve_exact(numbers).ok()?;
        few.resize(numbers, 0.0);
        Some(Self::Small(few))
    }

    /// Returns the numbers.
    pub fn numbers(&self) -> &[f32] {
        match self {
            Self::Small(few) => few,
            Self::Large(map) => cast_slice(map),
        }
    }

    /// Returns the numbers, mutably.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Small(few) => few,
            Self::Large(map) => cast_slice_mut(map),
        }
    }
}

//! Zero-initialised memory.

use memmap2::MmapMut;
use pulp::bytemuck::{cast_slice, cast_slice_mut};

/// Returns zeros, or `None` if there is not enough memory. Uses large pages where available: address translation of
/// small ones takes as long as reading them, and their allocation several times as long as writing.
pub fn mapped(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    #[cfg(target_os = "linux")]
    // A refusal only costs time.
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

/// Numbers in mapped memory, by default none.
#[derive(Debug, Default)]
pub struct Block(Option<MmapMut>);

impl Block {
    /// Returns this many zeros, or `None` if there is not enough memory.
    pub fn zeros(numbers: usize) -> Option<Self> {
        mapped(numbers.checked_mul(size_of::<f32>())?).map(Self::from)
    }

    /// Returns the numbers.
    pub fn numbers(&self) -> &[f32] {
        self.0.as_deref().map_or(&[], cast_slice)
    }

    /// Returns the numbers, mutably.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        self.0.as_deref_mut().map_or(&mut [], cast_slice_mut)
    }
}

/// The length of the memory must be a multiple of 4 bytes.
impl From<MmapMut> for Block {
    fn from(memory: MmapMut) -> Self {
        Self(Some(memory))
    }
}

//! Memory for the rows of a ring.

use memmap2::MmapMut;
use pulp::bytemuck::{cast_slice, cast_slice_mut};

/// Numbers in mapped memory, by default none. In pages of the usual size: to get large ones from the system can take
/// longer than everything else, and only small rings are read as a whole.
#[derive(Debug, Default)]
pub struct Block(Option<MmapMut>);

impl Block {
    /// Returns this many zeros, or `None` if there is not enough memory.
    pub fn zeros(numbers: usize) -> Option<Self> {
        MmapMut::map_anon(numbers.checked_mul(size_of::<f32>())?).ok().map(Self::from)
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

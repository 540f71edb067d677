//! A snapshot that arrives in pieces.

use std::ops::Deref;

use memmap2::MmapMut;

/// The bytes that have arrived so far.
#[derive(Debug)]
pub struct Pieces {
    /// Twice the size of the snapshot, so that the cache has spare slots. Untouched ones take no memory.
    map: MmapMut,
    most: usize,
    end: usize,
}

impl Pieces {
    /// Returns an empty buffer for this many bytes; `None` if there is not enough memory.
    pub fn with_room(bytes: usize) -> Option<Self> {
        // An empty mapping is impossible, and the cache needs whole float32 numbers.
        let size = bytes.max(1).checked_next_multiple_of(4)?.checked_mul(2)?;
        let map = MmapMut::map_anon(size).ok()?;
        Some(Self { map, most: bytes, end: 0 })
    }

    /// Appends bytes, up to the size of the buffer.
    pub fn push(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(self.most - self.end);
        self.map[self.end..][..length].copy_from_slice(&bytes[..length]);
        self.end += length;
    }

    /// Returns the memory of the bytes.
    pub(super) fn into_map(self) -> MmapMut {
        self.map
    }
}

impl From<&[u8]> for Pieces {
    fn from(bytes: &[u8]) -> Self {
        let mut pieces = Self::with_room(bytes.len()).expect("enough memory");
        pieces.push(bytes);
        pieces
    }
}

impl Deref for Pieces {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_appends_as_far_as_there_is_room() {
        let mut pieces = Pieces::with_room(5).unwrap();
        assert!(pieces.is_empty());
        for (piece, expected) in [("ab", "ab"), ("", "ab"), ("cdef", "abcde"), ("g", "abcde")] {
            pieces.push(piece.as_bytes());
            assert_eq!(&*pieces, expected.as_bytes());
        }
        let mut none = Pieces::with_room(0).unwrap();
        none.push(b"a");
        assert!(none.is_empty());
    }
}

//! A snapshot that arrives in pieces.

use std::ops::Deref;

use memmap2::MmapMut;

use crate::cache::mapped;

/// The bytes that have arrived so far.
#[derive(Debug, Default)]
pub struct Pieces {
    room: Option<MmapMut>,
    end: usize,
}

impl Pieces {
    /// Returns an empty buffer for this many bytes; `None` if there is not enough memory.
    pub fn with_room(bytes: usize) -> Option<Self> {
        // Nothing cannot be mapped.
        let room = if bytes == 0 { None } else { Some(mapped(bytes)?) };
        Some(Self { room, end: 0 })
    }

    /// Appends bytes, up to the size of the buffer.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.room.as_deref_mut().unwrap_or_default();
        let left = &mut room[self.end..];
        let length = bytes.len().min(left.len());
        left[..length].copy_from_slice(&bytes[..length]);
        self.end += length;
    }
}

impl Deref for Pieces {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room.as_deref().unwrap_or_default()[..self.end]
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

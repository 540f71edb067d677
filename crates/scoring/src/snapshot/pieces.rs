//! A snapshot that arrives in pieces.

use std::ops::Deref;

use memmap2::MmapMut;

use crate::cache::mapped;

/// Bytes, as far as they have arrived.
#[derive(Debug, Default)]
pub struct Pieces {
    room: Option<MmapMut>,
    end: usize,
}

impl Pieces {
    /// Returns room for so many bytes; `None` if the system has not as much memory.
    pub fn with_room(bytes: usize) -> Option<Self> {
        // Nothing cannot be mapped.
        Some(Self { room: Some(mapped(bytes.max(1))?), end: 0 })
    }

    /// Appends bytes, as far as there is room for them.
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

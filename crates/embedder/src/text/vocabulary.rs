//! The vocabulary of the built-in model, and WordPiece over it. `model/vocabulary.py` describes the file.

/// The number of slots of the hash table.
const SLOTS: usize = 1 << 16;
/// A slot without a word.
const FREE: u16 = u16::MAX;
/// A word of more characters is unknown.
const MAX_CHARS: usize = 100;
/// The beginning of pieces that continue a word.
const CONTINUES: &[u8] = b"##";

/// The pieces of words, which are found by hash.
pub struct Vocabulary {
    text: Vec<u8>,
    /// Where each piece begins in the text, and the end of the last one.
    starts: Vec<u32>,
    slots: Vec<u16>,
    /// The length of the longest piece, in bytes.
    longest: usize,
}

impl Vocabulary {
    /// Reads the bytes of the file. Returns `None` if they have another layout.
    pub fn read(file: &[u8]) -> Option<Self> {
        let (head, rest) = file.split_first_chunk::<8>()?;
        let [words, longest] = [&head[..4], &head[4..]].map(|bytes| u32_of(bytes) as usize);
        let (starts, rest) = rest.split_at_checked(words.checked_add(1)?.checked_mul(4)?)?;
        let (slots, text) = rest.split_at_checked(SLOTS * 2)?;
        let starts: Vec<u32> = starts.chunks_exact(4).map(u32_of).collect();
        let slots: Vec<u16> =
            slots.chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect();
        let is_valid = starts.is_sorted()
            && starts.last().is_some_and(|end| *end as usize == text.len())
            && slots.contains(&FREE)
            && slots.iter().all(|slot| *slot == FREE || usize::from(*slot) < words);
        is_valid.then(|| Self { text: text.to_vec(), starts, slots, longest })
    }

    /// Returns the largest id.
    pub fn largest_id(&self) -> i64 {
        self.starts.len() as i64 - 2
    }

    /// Returns the id of a whole word, or of a piece with its `##`.
    pub fn id(&self, word: &str) -> Option<i64> {
        self.find(Fnv::default().with(word.as_bytes()), &[], word.as_bytes()).map(i64::from)
    }

    /// Appends the ids of a word: those of the longest pieces from its start on, or `unknown` if there are none.
    pub fn split(&self, word: &str, unknown: i64, ids: &mut Vec<i64>) {
        let first = ids.len();
        if word.chars().nth(MAX_CHARS).is_some() {
            ids.push(unknown);
            return;
        }
        let mut rest = word;
        while !rest.is_empty() {
            let prefix = if rest.len() == word.len() { &[] } else { CONTINUES };
            let Some((id, len)) = self.longest_piece(prefix, rest) else {
                ids.truncate(first);
                ids.push(unknown);
                return;
            };
            ids.push(id.into());
            rest = &rest[len..];
        }
    }

    /// Returns the longest piece that the text begins with, after the prefix, and its length there.
    fn longest_piece(&self, prefix: &[u8], text: &str) -> Option<(u16, usize)> {
        let mut hash = Fnv::default().with(prefix);
        let mut at = 0;
        // The hash of each beginning of the text.
        let mut beginnings = [(0, Fnv(0)); MAX_CHARS];
        let mut count = 0;
        let room = self.longest.saturating_sub(prefix.len());
        for c in text.chars() {
            let end = at + c.len_utf8();
            if end > room {
                break;
            }
            hash = hash.with(&text.as_bytes()[at..end]);
            beginnings[count] = (end, hash);
            (at, count) = (end, count + 1);
        }
        beginnings[..count].iter().rev().find_map(|(end, hash)| {
            Some((self.find(*hash, prefix, &text.as_bytes()[..*end])?, *end))
        })
    }

    /// Returns the piece that consists of a prefix and a rest, whose hash is given.
    fn find(&self, hash: Fnv, prefix: &[u8], rest: &[u8]) -> Option<u16> {
        let first = hash.slot();
        let slots = self.slots[first..].iter().chain(&self.slots[..first]);
        slots.take_while(|slot| **slot != FREE).copied().find(|id| {
            let id = usize::from(*id);
            let piece = &self.text[self.starts[id] as usize..self.starts[id + 1] as usize];
            piece.strip_prefix(prefix) == Some(rest)
        })
    }
}

fn u32_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// FNV-1a of 32 bits.
#[derive(Clone, Copy)]
struct Fnv(u32);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv {
    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        Self(bytes.iter().fold(self.0, step))
    }

    fn slot(self) -> usize {
        (self.0 >> 16 ^ self.0 & 0xffff) as usize
    }
}

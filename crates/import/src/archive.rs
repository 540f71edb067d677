//! Decompresses inputs that begin as gzip or Zstandard data does.

use std::io::Write;

use flate2::write::GzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use crate::{json, limits::NO_MEMORY};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The bytes that are decompressed at once; the last block may exceed it.
const PIECE: usize = 256 << 10;

const CUT: &str = "unexpected end of file";

/// The bytes of an input until they are decompressed.
#[derive(Default)]
pub struct Archive {
    kind: Kind,
    /// Input, of which `used` bytes are decompressed.
    input: Vec<u8>,
    used: usize,
    /// Follows the bytes before it.
    error: Option<String>,
}

#[derive(Default)]
enum Kind {
    /// Too few bytes are known.
    #[default]
    Unknown,
    Plain,
    Gzip(Box<Gzip>),
    Zstandard(Box<Zstandard>),
    /// An error has ended it.
    Ended,
}

impl Archive {
    /// Returns whether all further bytes are the content itself.
    pub fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Plain)
    }

    /// Adds a piece of the input, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.input.drain(..self.used);
        self.used = 0;
        if json::grow(&mut self.input, bytes.len()) {
            self.input.extend_from_slice(bytes);
        } else {
            self.error = Some(NO_MEMORY.into());
        }
    }

    /// Returns the next bytes of the content; `None` if more input is needed, or with `is_end` if there is none.
    ///
    /// # Errors
    ///
    /// The data is damaged, or with `is_end` cut.
    pub fn next(&mut self, is_end: bool) -> Option<Result<Vec<u8>, String>> {
        let input = &self.input[self.used..];
        if matches!(self.kind, Kind::Unknown) {
            self.kind = if input.starts_with(&GZIP) {
                Kind::Gzip(Box::default())
            } else if input.starts_with(&ZSTANDARD) || is_skippable(input) {
                Kind::Zstandard(Box::new(Zstandard::new()))
            } else if input.len() < ZSTANDARD.len() && !is_end {
                return None;
            } else {
                Kind::Plain
            };
        }
        let mut content = Vec::new();
        let mut rest = input;
        let decoded = match &mut self.kind {
            Kind::Gzip(gzip) => gzip.decode(&mut rest, is_end, &mut content),
            Kind::Zstandard(zstandard) => zstandard.decode(&mut rest, is_end, &mut content),
            Kind::Plain => {
                // Not copied, as it may be a large piece.
                let content = std::mem::take(&mut self.input);
                return (!content.is_empty()).then_some(Ok(content));
            }
            Kind::Unknown | Kind::Ended => Ok(()),
        };
        self.used = self.input.len() - rest.len();
        if let Err(error) = decoded {
            let kind = if let Kind::Gzip(_) = self.kind { "gzip" } else { "Zstandard" };
            self.error = Some(format!("cannot decompress {kind} data: {error}"));
            self.kind = Kind::Ended;
        }
        if content.is_empty() { Some(Err(self.error.take()?)) } else { Some(Ok(content)) }
    }
}

/// The members of a gzip file (RFC 1952).
#[derive(Default)]
struct Gzip {
    member: Option<GzDecoder<Vec<u8>>>,
    has_member: bool,
}

impl Gzip {
    /// Takes input until there is a piece of content.
    fn decode(
        &mut self,
        input: &mut &[u8],
        is_end: bool,
        content: &mut Vec<u8>,
    ) -> Result<(), String> {
        while content.len() < PIECE {
            let member = match &mut self.member {
                Some(member) => member,
                None if input.is_empty() => break,
                // Padding.
                None if self.has_member && input[0] == 0 => {
                    *input = &input[1..];
                    continue;
                }
                None => self.member.insert(GzDecoder::new(Vec::new())),
            };
            if input.is_empty() && !is_end {
                break;
            }
            // Only a complete member takes nothing more, whatever follows.
            let taken = member.write(if input.is_empty() { &[0] } else { input });
            content.append(member.get_mut());
            match taken {
                Ok(0) => {
                    let finished = member.try_finish();
                    content.append(member.get_mut());
                    finished.map_err(|error| error.to_string())?;
                    self.member = None;
                    self.has_member = true;
                }
                _ if input.is_empty() => return Err(CUT.into()),
                Ok(length) => *input = &input[length..],
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

/// The frames of Zstandard data (RFC 8878).
struct Zstandard {
    decoder: FrameDecoder,
    state: Frame,
}

enum Frame {
    /// Between two frames.
    None,
    Open {
        has_checksum: bool,
    },
    /// A frame that is skipped, and the bytes that are left of it.
    Skipped(usize),
}

impl Zstandard {
    fn new() -> Self {
        Self { decoder: FrameDecoder::new(), state: Frame::None }
    }

    /// Takes input until there is a piece of content.
    fn decode(
        &mut self,
        input: &mut &[u8],
        is_end: bool,
        content: &mut Vec<u8>,
    ) -> Result<(), String> {
        while content.len() < PIECE && !(input.is_empty() && matches!(self.state, Frame::None)) {
            let taken = match self.state {
                Frame::None => self.begin(input),
                Frame::Open { has_checksum } => self.read_block(has_checksum, input, content),
                Frame::Skipped(left) => {
                    let length = left.min(input.len());
                    self.state = match left - length {
                        0 => Frame::None,
                        left => Frame::Skipped(left),
                    };
                    Ok((length > 0).then_some(length))
                }
            };
            match taken {
                Ok(Some(length)) => *input = &input[length..],
                Ok(None) if !is_end => break,
                failed => {
                    self.take_window(content);
                    return Err(failed.map_or_else(|error| error, |_| CUT.into()));
                }
            }
        }
        Ok(())
    }

    /// Reads the header of a frame. Returns its length; `None` if more input is needed.
    fn begin(&mut self, input: &[u8]) -> Result<Option<usize>, String> {
        let Some(length) = header_length(input).filter(|length| *length <= input.len()) else {
            return Ok(None);
        };
        self.state = match self.decoder.reset(&input[..length]) {
            Ok(()) => Frame::Open { has_checksum: input[4] & 4 != 0 },
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length: 0,
                ..
            })) => Frame::None,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => Frame::Skipped(length as usize),
            Err(error) => return Err(error.to_string()),
        };
        Ok(Some(length))
    }

    /// Decodes a block, and takes the content that no later block refers to. Returns the block's length with the
    /// checksum that may follow it; `None` if more input is needed.
    fn read_block(
        &mut self,
        has_checksum: bool,
        input: &[u8],
        content: &mut Vec<u8>,
    ) -> Result<Option<usize>, String> {
        const REPEATED: u32 = 1;

        let Some([a, b, c]) = input.first_chunk() else { return Ok(None) };
        let header = u32::from_le_bytes([*a, *b, *c, 0]);
        let (is_last, kind, size) = (header & 1 != 0, (header >> 1) & 3, header >> 3);
        let size = if kind == REPEATED { 1 } else { size as usize };
        let length = 3 + size + if is_last && has_checksum { 4 } else { 0 };
        let Some(block) = input.get(..length) else { return Ok(None) };
        let decoded = self.decoder.decode_blocks(block, BlockDecodingStrategy::UptoBlocks(1));
        decoded.map_err(|error| error.to_string())?;
        self.collect(content);
        if is_last {
            self.state = Frame::None;
            let checksum = self.decoder.get_checksum_from_data();
            if checksum.is_some() && checksum != self.decoder.get_calculated_checksum() {
                return Err("the checksum of a frame differs".into());
            }
        }
        Ok(Some(length))
    }

    fn collect(&mut self, content: &mut Vec<u8>) {
        // Writing to memory never fails.
        let _ = self.decoder.collect_to_writer(content);
    }

    /// Takes the content that the decoder has kept for later blocks, none of which can be read.
    fn take_window(&mut self, content: &mut Vec<u8>) {
        if let Frame::Open { .. } = self.state {
            const LAST_BLOCK_AND_CHECKSUM: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
            let end = BlockDecodingStrategy::UptoBlocks(1);
            let _ = self.decoder.decode_blocks(&LAST_BLOCK_AND_CHECKSUM[..], end);
            self.collect(content);
            self.state = Frame::None;
        }
    }
}

/// Returns whether a frame of Zstandard data begins that is skipped. `pzstd` writes one first.
fn is_skippable(input: &[u8]) -> bool {
    matches!(input, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Returns the length of the header of a frame, also of one that is skipped; `None` if too few bytes are known.
fn header_length(input: &[u8]) -> Option<usize> {
    if !input.starts_with(&ZSTANDARD) {
        return (input.len() >= 8).then_some(8);
    }
    let descriptor = *input.get(4)?;
    let is_segment = descriptor & 0x20 != 0;
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = [usize::from(is_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    Some(5 + usize::from(!is_segment) + dictionary_id + content_size)
}

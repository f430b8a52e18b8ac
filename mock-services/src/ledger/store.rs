//! The entries in memory: the lines themselves, one behind the other. Once there are many, older ones are kept packed, so that a
//! million entries stay small and the newest are still cheap to add.

use std::sync::Arc;

/// Lines are gathered in chunks of about this size.
const CHUNK: usize = 256 * 1024;
/// So much stays unpacked.
const UNPACKED: usize = 96 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Store {
    chunks: Vec<Chunk>,
    /// The first chunk that is still unpacked.
    unpacked_from: usize,
    unpacked_bytes: usize,
}

#[derive(Debug)]
enum Chunk {
    /// Shared with whoever packs it; only the last one grows, and nobody packs that.
    Plain(Arc<Vec<u8>>),
    Packed(Vec<u8>),
}

/// A chunk that is to be packed, and its place.
#[derive(Debug)]
pub(super) struct Packable {
    place: usize,
    plain: Arc<Vec<u8>>,
}

impl Packable {
    /// The chunk in its packed form. Takes a while: nobody should wait for it.
    pub(super) fn packed(&self) -> Vec<u8> {
        lz4_flex::block::compress_prepend_size(&self.plain)
    }
}

/// A place in the store: everything before it has been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    chunk: usize,
    offset: usize,
}

impl Store {
    /// The buffer to which the next line is added.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        let full = !matches!(self.chunks.last(), Some(Chunk::Plain(bytes)) if bytes.len() < CHUNK);
        if full {
            self.chunks.push(Chunk::Plain(Arc::new(Vec::with_capacity(CHUNK + CHUNK / 16))));
        }
        match self.chunks.last_mut() {
            Some(Chunk::Plain(bytes)) => Arc::make_mut(bytes),
            _ => unreachable!("a plain chunk was just pushed"),
        }
    }

    /// Accounts for a line of `bytes` that was added. Gives back a chunk that is to be packed, once there is too much; those at and behind
    /// `unread` are left alone: whoever streams them has not come so far.
    pub(super) fn grown(&mut self, bytes: usize, unread: Option<Position>) -> Option<Packable> {
        self.unpacked_bytes += bytes;
        let limit = unread.map_or(usize::MAX, |position| position.chunk).min(self.chunks.len().saturating_sub(1));
        if self.unpacked_bytes <= UNPACKED || self.unpacked_from >= limit {
            return None;
        }
        let place = self.unpacked_from;
        let Chunk::Plain(plain) = &self.chunks[place] else { return None };
        self.unpacked_from += 1;
        self.unpacked_bytes = self.unpacked_bytes.saturating_sub(plain.len());
        Some(Packable { place, plain: Arc::clone(plain) })
    }

    /// Puts a chunk back in its packed form.
    pub(super) fn put_back(&mut self, packable: &Packable, packed: Vec<u8>) {
        if let Some(chunk) = self.chunks.get_mut(packable.place) {
            *chunk = Chunk::Packed(packed);
        }
    }

    /// Hands over all that was added since `from`, chunk by chunk, and says where it ends.
    pub(super) fn read(&self, from: Position, mut take: impl FnMut(&[u8])) -> Position {
        let mut at = from;
        while let Some(chunk) = self.chunks.get(at.chunk) {
            let length = match chunk {
                Chunk::Plain(bytes) => {
                    take(&bytes[at.offset..]);
                    bytes.len()
                }
                Chunk::Packed(packed) => {
                    // What this process packed it can unpack.
                    let bytes = lz4_flex::block::decompress_size_prepended(packed).unwrap_or_default();
                    take(bytes.get(at.offset..).unwrap_or_default());
                    bytes.len()
                }
            };
            if at.chunk + 1 == self.chunks.len() {
                at.offset = length;
                break;
            }
            at = Position { chunk: at.chunk + 1, offset: 0 };
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_read_once_and_in_order_also_when_it_has_been_packed() {
        let mut store = Store::default();
        let line = vec![b'x'; 10_000];
        let mut position = Position::default();
        let mut seen = 0;
        for round in 0..12_000 {
            store.tail().extend_from_slice(&line);
            if let Some(packable) = store.grown(line.len(), None) {
                store.put_back(&packable, packable.packed());
            }
            if round % 1000 == 0 {
                position = store.read(position, |bytes| seen += bytes.len());
            }
        }
        assert!(store.unpacked_from > 0);
        store.read(position, |bytes| seen += bytes.len());
        assert_eq!(seen, 12_000 * line.len());
        let mut all = 0;
        store.read(Position::default(), |bytes| all += bytes.len());
        assert_eq!(all, seen);
    }
}

//! The records in memory, one behind the other, in chunks that never move.

/// Records are gathered in chunks of about this size.
const CHUNK: usize = 256 * 1024;
/// The first chunk begins so small: most trials are.
const FIRST_CHUNK: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Store {
    chunks: Vec<Vec<u8>>,
}

/// A place in the store: everything before it has been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Position {
    chunk: usize,
    offset: usize,
}

impl Store {
    /// The buffer to which the next record is added. No record lies across two of them.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        if self.chunks.last().is_none_or(|chunk| chunk.len() >= CHUNK) {
            let room = if self.chunks.is_empty() { FIRST_CHUNK } else { CHUNK + CHUNK / 16 };
            self.chunks.push(Vec::with_capacity(room));
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    /// Hands over all that was added since `from`, chunk by chunk, and says where it ends.
    pub(super) fn read(&self, from: Position, mut take: impl FnMut(&[u8])) -> Position {
        let mut at = from;
        while let Some(chunk) = self.chunks.get(at.chunk) {
            take(&chunk[at.offset..]);
            at.offset = chunk.len();
            if at.chunk + 1 == self.chunks.len() {
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
    fn what_was_added_is_read_once_and_in_order() {
        let mut store = Store::default();
        let (mut position, mut seen, mut added) = (Position::default(), Vec::new(), Vec::new());
        for round in 0..2_000u32 {
            let record = round.to_le_bytes().repeat(100);
            store.tail().extend_from_slice(&record);
            added.extend_from_slice(&record);
            if round % 300 == 0 {
                position = store.read(position, |bytes| seen.extend_from_slice(bytes));
            }
        }
        assert!(store.chunks.len() > 2);
        store.read(position, |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, added);
    }
}

//! The records in memory, one behind the other, in chunks that never move.

/// Records are gathered in chunks of about this size.
const CHUNK: usize = 256 * 1024;
/// The first chunk begins so small: most trials are.
const FIRST_CHUNK: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Store {
    full: Vec<Vec<u8>>,
    /// The chunk that is not full yet.
    last: Vec<u8>,
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
        if self.last.capacity() == 0 {
            self.last.reserve_exact(FIRST_CHUNK);
        } else if self.last.len() >= CHUNK {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK + CHUNK / 16)));
        }
        &mut self.last
    }

    /// Hands over all that was added since `from`, chunk by chunk, and says where it ends.
    pub(super) fn read(&self, from: Position, mut take: impl FnMut(&[u8])) -> Position {
        let mut offset = from.offset;
        for chunk in self.full.iter().skip(from.chunk).chain(std::iter::once(&self.last)) {
            take(&chunk[offset..]);
            offset = 0;
        }
        Position { chunk: self.full.len(), offset: self.last.len() }
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
        assert!(store.full.len() > 1);
        store.read(position, |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, added);
    }
}

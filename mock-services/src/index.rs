//! Finds rows by a text that each of them has. Only the indexes of the rows are stored, not the texts.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    indexes: HashTable<usize>,
    hasher: RandomState,
}

impl Index {
    /// The index of the row with this text.
    pub(crate) fn find<'r>(&self, text: &str, text_of: impl Fn(usize) -> &'r str) -> Option<usize> {
        self.indexes.find(self.hasher.hash_one(text), |at| text_of(*at) == text).copied()
    }

    /// Adds the row at this index, whose text no other row has.
    pub(crate) fn add<'r>(&mut self, at: usize, text_of: impl Fn(usize) -> &'r str) {
        let Index { indexes, hasher } = self;
        indexes.insert_unique(hasher.hash_one(text_of(at)), at, |at| hasher.hash_one(text_of(*at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_text() {
        let rows: Vec<String> = (0..1_000).map(|number| format!("row {number}")).collect();
        let text_of = |at: usize| rows[at].as_str();
        let mut index = Index::default();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(index.find(row, text_of), None);
            index.add(at, text_of);
        }
        assert!(rows.iter().enumerate().all(|(at, row)| index.find(row, text_of) == Some(at)));
        assert_eq!(index.find("row", text_of), None);
    }
}

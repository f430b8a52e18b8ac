//! Finds rows by a text that each of them has. Only the indexes of the rows are stored, not the texts.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

#[derive(Debug, Default)]
pub(crate) struct Index {
    places: HashTable<usize>,
    hasher: RandomState,
}

impl Index {
    /// The place of the row with this text.
    pub(crate) fn find<'r>(&self, text: &str, text_of: impl Fn(usize) -> &'r str) -> Option<usize> {
        self.places.find(self.hasher.hash_one(text), |place| text_of(*place) == text).copied()
    }

    /// Adds the row at this place, whose text no other row has.
    pub(crate) fn add<'r>(&mut self, place: usize, text_of: impl Fn(usize) -> &'r str) {
        let Index { places, hasher } = self;
        places
            .insert_unique(hasher.hash_one(text_of(place)), place, |place| hasher.hash_one(text_of(*place)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_by_its_text() {
        let rows: Vec<String> = (0..1_000).map(|number| format!("row {number}")).collect();
        let text_of = |place: usize| rows[place].as_str();
        let mut index = Index::default();
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(index.find(row, text_of), None);
            index.add(place, text_of);
        }
        assert!(rows.iter().enumerate().all(|(place, row)| index.find(row, text_of) == Some(place)));
        assert_eq!(index.find("row", text_of), None);
    }
}

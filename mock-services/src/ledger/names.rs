//! Texts that many entries share, such as names of operations and fields: each is kept once.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a shared text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NameId(u32);

#[derive(Debug, Default)]
pub(super) struct NameTable {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, NameId>,
}

impl NameTable {
    /// The number of this text, which is added if it is new. `None` if the table is full.
    pub(super) fn id(&mut self, name: &str) -> Option<NameId> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = NameId(u32::try_from(self.names.len()).ok()?);
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, id);
        Some(id)
    }

    pub(super) fn name(&self, NameId(id): NameId) -> &str {
        &self.names[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let mut names = NameTable::default();
        let ids = ["a", "b", "a", ""].map(|name| names.id(name).unwrap());
        assert!(ids[0] == ids[2] && ids[0] != ids[1]);
        assert_eq!(ids.map(|id| names.name(id)), ["a", "b", "a", ""]);
    }
}

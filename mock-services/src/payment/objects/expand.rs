//! A reference that is an id unless the caller asked for the object itself.

use std::sync::Arc;

use compact_str::CompactString;
use serde::{Serialize, Serializer};

use super::Object;

/// An id, or the object in its place.
#[derive(Debug, Clone)]
pub(crate) enum Expandable<T> {
    /// As it is stored.
    Id(CompactString),
    /// As `expand[]` asks for it.
    Whole(Arc<T>),
}

impl<T: Object> Expandable<T> {
    /// The object with this id.
    pub(crate) fn of(id: &str) -> Self {
        Expandable::Id(id.into())
    }

    /// The id, expanded or not.
    pub(crate) fn id(&self) -> &str {
        match self {
            Expandable::Id(id) => id,
            Expandable::Whole(object) => object.id(),
        }
    }
}

impl<T: Serialize> Serialize for Expandable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Expandable::Id(id) => serializer.serialize_str(id),
            Expandable::Whole(object) => object.serialize(serializer),
        }
    }
}

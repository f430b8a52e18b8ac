//! A reference: an id, or the object itself when the client asked for it.

use std::sync::Arc;

use compact_str::CompactString;
use serde::{Serialize, Serializer};

use super::Object;

/// An id, or the object in its place.
#[derive(Debug, Clone)]
pub(crate) enum Expandable<T> {
    /// The id, as stored.
    Id(CompactString),
    /// The object, as requested by `expand[]`.
    Whole(Arc<T>),
}

impl<T: Object> Expandable<T> {
    /// A reference to the object with this id.
    pub(crate) fn new(id: &str) -> Self {
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

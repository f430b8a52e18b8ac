//! Arguments that several verbs share.

pub(super) mod format;
pub(super) mod measure;
pub(super) mod quick;
pub(super) mod subject;

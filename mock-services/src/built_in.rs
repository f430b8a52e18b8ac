//! The list of the services that are written in Rust.

use std::sync::{Arc, LazyLock};

use crate::description::ServiceDescription;

/// The services that are written in Rust. A new one is added here.
const BUILT_IN: [fn() -> ServiceDescription; 7] = [
    crate::payment::description,
    crate::email::description,
    crate::deploy::description,
    crate::records::description,
    crate::web::description,
    crate::model::description,
    crate::approval::description,
];

static DESCRIPTIONS: LazyLock<Vec<Arc<ServiceDescription>>> =
    LazyLock::new(|| BUILT_IN.iter().map(|description| Arc::new(description())).collect());

/// The services that are written in Rust, in the order of the catalog.
#[must_use]
pub fn built_in() -> &'static [Arc<ServiceDescription>] {
    &DESCRIPTIONS
}

//! A product. Products that no request created are derived from their ids, like their prices.

use serde::Serialize;

use super::{Expandable, Null, Object, Price};
use crate::payment::metadata::Metadata;
use crate::payment::state::INITIAL_TIME;

/// A product.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Product {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) active: bool,
    pub(crate) created: i64,
    pub(crate) default_price: Option<Expandable<Price>>,
    pub(crate) description: Option<String>,
    pub(crate) images: Vec<String>,
    pub(crate) livemode: bool,
    pub(crate) marketing_features: Vec<MarketingFeature>,
    pub(crate) metadata: Metadata,
    pub(crate) name: String,
    pub(crate) package_dimensions: Null,
    pub(crate) shippable: Option<bool>,
    pub(crate) statement_descriptor: Option<String>,
    pub(crate) tax_code: Option<String>,
    pub(crate) r#type: &'static str,
    pub(crate) unit_label: Option<String>,
    pub(crate) updated: i64,
    pub(crate) url: Option<String>,
    /// Whether it was deleted; then no request finds it.
    #[serde(skip)]
    pub(crate) deleted: bool,
    /// Whether a request created it.
    #[serde(skip)]
    pub(crate) created_by_request: bool,
}

/// One line of a pricing table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MarketingFeature {
    pub(crate) name: String,
}

/// The response to the deletion of a product.
#[derive(Debug, Serialize)]
pub(crate) struct DeletedProduct<'a> {
    id: &'a str,
    object: &'static str,
    deleted: bool,
}

impl Product {
    /// A product with only an id and a name.
    pub(crate) fn bare(id: String, name: String, created: i64) -> Self {
        Product {
            id,
            object: Product::KIND,
            active: true,
            created,
            default_price: None,
            description: None,
            images: Vec::new(),
            livemode: false,
            marketing_features: Vec::new(),
            metadata: Metadata::default(),
            name,
            package_dimensions: (),
            shippable: None,
            statement_descriptor: None,
            tax_code: None,
            r#type: "service",
            unit_label: None,
            updated: created,
            url: None,
            deleted: false,
            created_by_request: false,
        }
    }

    /// The product with this id that exists before the first request.
    pub(crate) fn initial(id: &str) -> Self {
        let name = id.strip_prefix("prod_").unwrap_or(id).to_owned();
        Product::bare(id.to_owned(), name, INITIAL_TIME)
    }

    /// The response to its deletion.
    pub(crate) fn deletion(&self) -> DeletedProduct<'_> {
        DeletedProduct { id: &self.id, object: Product::KIND, deleted: true }
    }
}

impl Object for Product {
    const KIND: &'static str = "product";
    const URL: &'static str = "/v1/products";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

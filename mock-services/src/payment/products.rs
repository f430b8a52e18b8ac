//! Products and prices as the state knows them: created by requests, or existing before the first one.

use std::sync::Arc;

use super::objects::{Price, Product, initial_product};
use super::options::{PaymentOptions, is_id};
use super::state::PaymentState;

impl PaymentState {
    /// The product with this id, unless it was deleted.
    pub(super) fn product(&self, options: &PaymentOptions, id: &str) -> Option<Arc<Product>> {
        match self.products.get(id) {
            Some(product) => Some(product).filter(|product| !product.deleted).cloned(),
            None => options.has_product(id).then(|| Arc::new(Product::initial(id))),
        }
    }

    /// The price with this id.
    pub(super) fn price(&self, options: &PaymentOptions, id: &str) -> Option<Arc<Price>> {
        let created = self.prices.get(id).cloned();
        created.or_else(|| options.has_price(id).then(|| Arc::new(Price::initial(id, "usd"))))
    }

    /// All listed products, oldest first.
    pub(super) fn all_products(&self, options: &PaymentOptions) -> Vec<Arc<Product>> {
        let mut ids: Vec<String> = options.prices.iter().flatten().map(|id| initial_product(id)).collect();
        ids.dedup();
        let initial = ids.iter().filter(|id| self.products.get(id).is_none());
        let initial = initial.map(|id| Arc::new(Product::initial(id)));
        initial.chain(self.products.rows().iter().filter(|product| !product.deleted).cloned()).collect()
    }

    /// All listed prices, oldest first.
    pub(super) fn all_prices(&self, options: &PaymentOptions) -> Vec<Arc<Price>> {
        let initial = options.prices.iter().flatten().filter(|id| self.prices.get(id).is_none());
        let initial = initial.map(|id| Arc::new(Price::initial(id, "usd")));
        initial.chain(self.prices.rows().iter().cloned()).collect()
    }
}

impl PaymentOptions {
    /// Whether this price exists before the first request. An id that looks as if a request had created it is
    /// not one of them: the price of a request that had no effect must not exist.
    pub(crate) fn has_price(&self, id: &str) -> bool {
        match &self.prices {
            None => is_price(id) && !is_created("price_1", 23, id),
            Some(ids) => ids.iter().any(|other| other == id),
        }
    }

    /// Whether a subscription can have this price although no request created it. Without a list of prices,
    /// it can have every price.
    pub(crate) fn can_subscribe_to(&self, id: &str) -> bool {
        self.prices.is_none() || self.has_price(id)
    }

    /// Whether this product exists before the first request: it has such a price.
    fn has_product(&self, id: &str) -> bool {
        match &self.prices {
            None => is_id("prod_", id) && !is_created("prod_", 14, id),
            Some(ids) => ids.iter().any(|price| initial_product(price) == id),
        }
    }
}

/// Whether a text can be the id of a price. Prices that were created as plans can have any id.
pub(crate) fn is_price(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 255
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn is_created(prefix: &str, length: usize, id: &str) -> bool {
    id.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == length && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

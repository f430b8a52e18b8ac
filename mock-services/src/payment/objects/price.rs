//! A price. Prices that no request created are derived from their ids: all are monthly and cost the same.

use serde::Serialize;

use super::{Expandable, Null, Object, Product};
use crate::payment::metadata::Metadata;
use crate::payment::state::INITIAL_TIME;

/// The monthly price of one unit, in the smallest unit of the currency.
const UNIT_AMOUNT: i64 = 2000;
/// A day in seconds.
const DAY: i64 = 24 * 60 * 60;

/// A price.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Price {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) active: bool,
    pub(crate) billing_scheme: &'static str,
    pub(crate) created: i64,
    pub(crate) currency: &'static str,
    pub(crate) custom_unit_amount: Null,
    pub(crate) livemode: bool,
    pub(crate) lookup_key: Option<String>,
    pub(crate) metadata: Metadata,
    pub(crate) nickname: Option<String>,
    pub(crate) product: Expandable<Product>,
    pub(crate) recurring: Option<Recurring>,
    pub(crate) tax_behavior: &'static str,
    pub(crate) tiers_mode: Null,
    pub(crate) transform_quantity: Null,
    pub(crate) r#type: &'static str,
    pub(crate) unit_amount: Option<i64>,
    pub(crate) unit_amount_decimal: String,
    /// Whether a request created it.
    #[serde(skip)]
    pub(crate) created_by_request: bool,
}

/// How often a price is charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Recurring {
    pub(crate) interval: &'static str,
    pub(crate) interval_count: i64,
    pub(crate) meter: Null,
    pub(crate) trial_period_days: Option<i64>,
    pub(crate) usage_type: &'static str,
}

impl Recurring {
    /// Every so many intervals.
    pub(crate) fn every(interval_count: i64, interval: &'static str) -> Self {
        Recurring { interval, interval_count, meter: (), trial_period_days: None, usage_type: "licensed" }
    }

    /// The length of one period in seconds. Months have 30 days.
    pub(crate) fn period(&self) -> i64 {
        let days = match self.interval {
            "day" => 1,
            "week" => 7,
            "year" => 365,
            _ => 30,
        };
        self.interval_count.saturating_mul(days * DAY)
    }
}

impl Price {
    /// A price of this product, without an amount.
    pub(crate) fn bare(id: String, product: &str, currency: &'static str, created: i64) -> Self {
        Price {
            id,
            object: Price::KIND,
            active: true,
            billing_scheme: "per_unit",
            created,
            currency,
            custom_unit_amount: (),
            livemode: false,
            lookup_key: None,
            metadata: Metadata::default(),
            nickname: None,
            product: Expandable::new(product),
            recurring: None,
            tax_behavior: "unspecified",
            tiers_mode: (),
            transform_quantity: (),
            r#type: "one_time",
            unit_amount: None,
            unit_amount_decimal: String::new(),
            created_by_request: false,
        }
    }

    /// The same price, charged again in every period.
    pub(crate) fn recurring(self, recurring: Recurring) -> Self {
        Price { recurring: Some(recurring), r#type: "recurring", ..self }
    }

    /// The price with this id that exists before the first request.
    pub(crate) fn initial(id: &str, currency: &'static str) -> Self {
        let price = Price::bare(id.to_owned(), &initial_product(id), currency, INITIAL_TIME);
        Price {
            unit_amount: Some(UNIT_AMOUNT),
            unit_amount_decimal: UNIT_AMOUNT.to_string(),
            ..price.recurring(Recurring::every(1, "month"))
        }
    }
}

/// The id of the product of a price that exists before the first request: `prod_pro` of `price_pro`.
pub(crate) fn initial_product(price: &str) -> String {
    format!("prod_{}", price.strip_prefix("price_").unwrap_or(price))
}

impl Object for Price {
    const KIND: &'static str = "price";
    const URL: &'static str = "/v1/prices";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

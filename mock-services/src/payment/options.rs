//! What a user of the service can choose.

use serde::Serialize;

use super::money::Currency;

/// Settings of the payment service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaymentOptions {
    /// Customers whose card is always declined.
    pub declining_customers: Vec<String>,
    /// Which customers exist before any is created.
    pub customers: Customers,
    /// What was charged before any request came: something to refund.
    pub charges: Vec<EarlierCharge>,
    /// The account's version of the API, for callers that name none.
    pub api_version: String,
    /// Where the ids of what exists before the first request come from: the earlier charges and the
    /// customers' cards.
    pub seed: u64,
}

/// Which customers exist before any is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Customers {
    /// Every id that looks like one: `cus_42`.
    Any,
    /// These, and no others.
    Only(Vec<String>),
}

/// A charge that was made, and paid, before any request came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EarlierCharge {
    /// How much, in the smallest unit of the currency.
    pub amount: i64,
    /// The currency, in small letters.
    pub currency: &'static str,
    /// Whom.
    pub customer: Option<String>,
    /// For which order.
    pub order: Option<String>,
}

impl EarlierCharge {
    /// A charge in a currency, where the service knows it and takes such an amount.
    #[must_use]
    pub fn new(amount: i64, currency: &str) -> Option<Self> {
        let currency = Currency::read(currency).ok()?;
        currency.check(amount).ok()?;
        Some(EarlierCharge { amount, currency: currency.code, customer: None, order: None })
    }
}

impl Default for PaymentOptions {
    fn default() -> Self {
        PaymentOptions {
            declining_customers: Vec::new(),
            customers: Customers::Any,
            charges: Vec::new(),
            api_version: "2026-10-28.endive".to_owned(),
            seed: 0,
        }
    }
}

impl PaymentOptions {
    /// Whether this customer exists before any is created.
    pub(crate) fn is_given(&self, id: &str) -> bool {
        match &self.customers {
            Customers::Any => is_id("cus_", id),
            Customers::Only(ids) => ids.iter().any(|have| have == id),
        }
    }

    /// Whether this customer's card is declined.
    pub(crate) fn declines(&self, customer: &str) -> bool {
        self.declining_customers.iter().any(|have| have == customer)
    }
}

/// Whether a text is a prefix and then letters, digits and underscores.
pub(crate) fn is_id(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_customer_exists_that_looks_like_one_unless_they_are_listed() {
        let any = PaymentOptions::default();
        assert!(any.is_given("cus_42") && any.is_given("cus_a_B"));
        assert!(!any.is_given("cus_") && !any.is_given("cus_4-2") && !any.is_given("customer"));
        let only = PaymentOptions {
            customers: Customers::Only(vec!["acme".to_owned()]),
            ..PaymentOptions::default()
        };
        assert!(only.is_given("acme") && !only.is_given("cus_42"));
    }
}

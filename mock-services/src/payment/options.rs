//! The options of the payment service.

use serde::Serialize;

use super::money::Currency;

/// Options of the payment service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaymentOptions {
    /// Customers whose card is always declined.
    pub declining_customers: Vec<String>,
    /// Which customers exist before the first request.
    pub customers: Customers,
    /// The prices that exist before the first request, with their products; `None`: every valid id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Vec<String>>,
    /// Charges that exist before the first request, for refunds.
    pub charges: Vec<EarlierCharge>,
    /// The account's API version, for clients that name none.
    pub api_version: String,
    /// The seed of the ids that exist before the first request: those of the earlier charges and of the
    /// customers' cards.
    pub seed: u64,
}

/// Which customers exist before the first request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Customers {
    /// Every valid customer id: `cus_42`.
    Any,
    /// Only these.
    Only(Vec<String>),
}

/// A paid charge that exists before the first request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EarlierCharge {
    /// The amount, in the smallest unit of the currency.
    pub amount: i64,
    /// The currency, in lowercase.
    pub currency: &'static str,
    /// The customer.
    pub customer: Option<String>,
    /// The order.
    pub order: Option<String>,
}

impl EarlierCharge {
    /// A charge of an amount that the service accepts in a currency that it knows.
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
            prices: None,
            charges: Vec::new(),
            api_version: "2026-10-28.endive".to_owned(),
            seed: 0,
        }
    }
}

impl PaymentOptions {
    /// Whether this customer exists before the first request.
    pub(crate) fn is_given(&self, id: &str) -> bool {
        match &self.customers {
            Customers::Any => is_id("cus_", id),
            Customers::Only(ids) => ids.iter().any(|other| other == id),
        }
    }

    /// Whether this customer's card is always declined.
    pub(crate) fn declines(&self, customer: &str) -> bool {
        self.declining_customers.iter().any(|other| other == customer)
    }
}

/// Whether a text is a prefix followed by letters, digits and underscores.
pub(crate) fn is_id(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_valid_customer_id_exists_unless_customers_are_listed() {
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

//! The billing details of a payment method, as its owner states them.

use serde::Serialize;

use super::PostalAddress;
use crate::payment::params::Params;

/// The owner of a card, and the billing address.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Billing {
    address: PostalAddress,
    email: Option<String>,
    name: Option<String>,
    phone: Option<String>,
    tax_id: Option<String>,
}

impl Billing {
    /// Reads `billing_details`.
    pub(crate) fn read(params: &Params<'_>) -> Option<Box<Self>> {
        let mut billing = Billing::default();
        let mut any = false;
        for (name, rest, value) in params.inside("billing_details") {
            any = true;
            let slot = match (name, rest) {
                ("email", "") => &mut billing.email,
                ("name", "") => &mut billing.name,
                ("phone", "") => &mut billing.phone,
                ("tax_id", "") => &mut billing.tax_id,
                ("address", _) => {
                    let line =
                        rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or_default();
                    billing.address.set(line, value);
                    continue;
                }
                _ => continue,
            };
            *slot = (!value.is_empty()).then(|| value.to_owned());
        }
        any.then(|| Box::new(billing))
    }
}

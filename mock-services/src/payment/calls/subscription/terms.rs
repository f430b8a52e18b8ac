//! The terms of a subscription in addition to its items: trial, schedule, discounts, and everything else that
//! changes what the customer owes or receives. Every unusual term is part of the effect that sets it, so that
//! an unrequested term is visible.

use super::items::RequestedItem;
use crate::payment::objects::Subscription;
use crate::payment::params::Params;
use crate::service::{Fields, Value};

/// The default collection method.
pub(crate) const AUTOMATICALLY: &str = "charge_automatically";
/// The value of a removed term in an effect.
const NONE: &str = "none";
/// Parameters that stay in force for the subscription.
const LASTING_TERMS: [&str; 15] = [
    "application_fee_percent",
    "automatic_tax",
    "billing_cycle_anchor_config",
    "billing_schedules",
    "billing_thresholds",
    "days_until_due",
    "default_source",
    "default_tax_rates",
    "discounts",
    "invoice_settings",
    "on_behalf_of",
    "pause_collection",
    "pending_invoice_item_interval",
    "transfer_data",
    "trial_settings",
];
/// Parameters that only apply to one request.
const ONE_TIME_PARAMETERS: [&str; 6] = [
    "add_invoice_items",
    "backdate_start_date",
    "billing_cycle_anchor",
    "proration_behavior",
    "proration_date",
    "trial_from_plan",
];
/// Values that equal the default.
const DEFAULT_VALUES: [(&str, &str); 7] = [
    ("automatic_tax", "[enabled]=false"),
    ("billing_cycle_anchor", "unchanged"),
    ("invoice_settings", "[issuer][type]=self"),
    ("pause_collection", ""),
    ("proration_behavior", "create_prorations"),
    ("trial_from_plan", "false"),
    ("trial_settings", "[end_behavior][missing_payment_method]=create_invoice"),
];

/// The terms of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestedTerms {
    /// Terms that stay in force; an empty value clears one.
    lasting: Vec<(&'static str, Option<String>)>,
    /// Parameters that only apply to this request.
    once: Vec<(&'static str, String)>,
}

impl RequestedTerms {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, items: &[RequestedItem]) -> Self {
        let requested =
            |name: &'static str| params.has(name).then(|| (name, non_default(name, text(params, name))));
        let lasting = LASTING_TERMS.into_iter().filter_map(requested).collect();
        let mut once: Vec<(&str, String)> = ONE_TIME_PARAMETERS
            .into_iter()
            .filter_map(requested)
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let of_items: Vec<&str> = items.iter().flat_map(|item| &item.terms).map(String::as_str).collect();
        if !of_items.is_empty() {
            once.push(("item_terms", of_items.join(", ")));
        }
        RequestedTerms { lasting, once }
    }

    /// Whether the request has no terms.
    pub(crate) fn is_empty(&self) -> bool {
        self.lasting.is_empty() && self.once.is_empty()
    }

    /// The terms in force after the request.
    pub(crate) fn applied_to(&self, old: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        let kept = old
            .iter()
            .filter(|(name, _)| !self.lasting.iter().any(|(requested, _)| requested == name))
            .cloned();
        let mut terms: Vec<_> = kept.collect();
        terms.extend(self.lasting.iter().filter_map(|(name, value)| Some((*name, value.clone()?))));
        terms.sort_unstable();
        terms
    }

    /// Adds the unusual terms of a new subscription.
    pub(crate) fn describe_new(&self, new: &Subscription, fields: &mut Fields) {
        for (name, value) in unusual_terms(new) {
            fields.set(name, value);
        }
        // A new subscription has no billing cycle that could be reset.
        self.describe_once(fields, |name, value| !(name == "billing_cycle_anchor" && value == "now"));
    }

    /// Adds the terms that are new; returns whether there are any.
    pub(crate) fn describe_change(
        &self,
        old: &Subscription,
        new: &Subscription,
        fields: &mut Fields,
    ) -> bool {
        let before = fields.len();
        let (was, is) = (unusual_terms(old), unusual_terms(new));
        for (name, value) in &is {
            if !was.contains(&(*name, value.clone())) {
                fields.set(*name, value.clone());
            }
        }
        for (name, _) in was.iter().filter(|(name, _)| !is.iter().any(|(other, _)| other == name)) {
            fields.set(*name, default_value(name));
        }
        let method = |subscription: &Subscription| {
            subscription.default_payment_method.as_ref().map(|method| method.id.clone())
        };
        if method(old) != method(new) {
            fields.set("default_payment_method", method(new).unwrap_or_else(|| NONE.to_owned()));
        }
        // Proration only matters with another change; an invoice or a new billing cycle is a change itself.
        let is_change = fields.len() > before || old.items != new.items;
        self.describe_once(fields, |name, _| is_change || !name.starts_with("proration"));
        fields.len() > before
    }

    fn describe_once(&self, fields: &mut Fields, counts: impl Fn(&str, &str) -> bool) {
        for (name, value) in self.once.iter().filter(|(name, value)| counts(name, value)) {
            fields.set(*name, value.as_str());
        }
    }
}

/// The unusual terms of a subscription.
fn unusual_terms(subscription: &Subscription) -> Vec<(&'static str, Value)> {
    let mut terms: Vec<(&'static str, Value)> = Vec::new();
    if subscription.trial_end.is_some() {
        terms.push(("trial_days", subscription.trial_days().into()));
    }
    if subscription.cancel_at_period_end {
        terms.push(("cancel_at_period_end", true.into()));
    }
    terms.extend(subscription.cancel_at.map(|at| ("cancel_at", at.into())));
    if subscription.collection_method != AUTOMATICALLY {
        terms.push(("collection_method", subscription.collection_method.into()));
    }
    terms.extend(subscription.terms.iter().map(|(name, value)| (*name, value.as_str().into())));
    terms
}

/// The default value of a field.
fn default_value(name: &str) -> Value {
    match name {
        "trial_days" => 0.into(),
        "cancel_at_period_end" => false.into(),
        "collection_method" => AUTOMATICALLY.into(),
        _ => NONE.into(),
    }
}

/// All values under a name, as one text.
fn text(params: &Params<'_>, name: &'static str) -> String {
    let plain = params.raw(name).map(str::to_owned);
    let inside = params.inside(name).map(|(first, rest, value)| format!("[{first}]{rest}={value}"));
    plain.into_iter().chain(inside).collect::<Vec<_>>().join(", ")
}

/// The text, unless it equals the default.
fn non_default(name: &str, text: String) -> Option<String> {
    (!text.is_empty() && !DEFAULT_VALUES.contains(&(name, text.as_str()))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    fn requested(body: &str) -> RequestedTerms {
        let request = Request::new("POST", "/").body(body);
        let params = Params::read(&request).unwrap();
        let items = crate::payment::calls::subscription::items::read(&params).unwrap();
        RequestedTerms::read(&params, &items)
    }

    #[test]
    fn default_values_are_not_terms() {
        let defaults = requested(
            "automatic_tax[enabled]=false&proration_behavior=create_prorations&pause_collection=&discounts=",
        );
        assert!(defaults.applied_to(&[]).is_empty() && defaults.once.is_empty());
        let other = requested(
            "automatic_tax[enabled]=true&discounts[0][coupon]=HALF&items[0][discounts][0][coupon]=X",
        );
        assert_eq!(
            other.applied_to(&[]),
            [("automatic_tax", "[enabled]=true".to_owned()), ("discounts", "[0][coupon]=HALF".to_owned())]
        );
        assert_eq!(other.once, [("item_terms", "[0][discounts][0][coupon]=X".to_owned())]);
    }

    #[test]
    fn a_term_stays_until_a_request_clears_it() {
        let old = requested("discounts[0][coupon]=HALF&pause_collection[behavior]=void").applied_to(&[]);
        assert_eq!(
            requested("pause_collection=").applied_to(&old),
            [("discounts", "[0][coupon]=HALF".to_owned())]
        );
        assert_eq!(requested("metadata[a]=1").applied_to(&old), old);
    }
}

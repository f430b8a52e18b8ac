//! What a subscription is agreed on beside its items: trial, schedule, discounts, and whatever else changes
//! what a customer owes or gets. What is not as usual is described with every effect that brings it about;
//! what nobody asked for must not go unseen.

use super::items::Asked as AskedItem;
use crate::payment::objects::Subscription;
use crate::payment::params::Params;
use crate::service::{Fields, Value};

/// The usual way to collect.
pub(crate) const AUTOMATICALLY: &str = "charge_automatically";
/// What stands in an effect for something that was taken back.
const NONE: &str = "none";
/// Parameters that go on to hold for the subscription.
const LASTING: [&str; 14] = [
    "application_fee_percent",
    "automatic_tax",
    "billing_cycle_anchor_config",
    "billing_schedules",
    "billing_thresholds",
    "days_until_due",
    "default_source",
    "default_tax_rates",
    "discounts",
    "on_behalf_of",
    "pause_collection",
    "pending_invoice_item_interval",
    "transfer_data",
    "trial_settings",
];
/// Parameters that matter for the one request alone.
const ONCE: [&str; 5] = [
    "add_invoice_items",
    "backdate_start_date",
    "billing_cycle_anchor",
    "proration_behavior",
    "proration_date",
];
/// What can be asked for and is so anyway.
const USUAL: [(&str, &str); 5] = [
    ("automatic_tax", "[enabled]=false"),
    ("billing_cycle_anchor", "unchanged"),
    ("pause_collection", ""),
    ("proration_behavior", "create_prorations"),
    ("trial_settings", "[end_behavior][missing_payment_method]=create_invoice"),
];

/// What a request asks for beside the items.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// What goes on to hold; nothing where it is unset.
    lasting: Vec<(&'static str, Option<String>)>,
    /// What matters for this request alone.
    once: Vec<(&'static str, String)>,
}

impl Asked {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, items: &[AskedItem]) -> Self {
        let asked = |name: &'static str| params.has(name).then(|| (name, unusual(name, text(params, name))));
        let lasting = LASTING.into_iter().filter_map(asked).collect();
        let mut once: Vec<(&str, String)> =
            ONCE.into_iter().filter_map(asked).filter_map(|(name, value)| Some((name, value?))).collect();
        let of_items: Vec<&str> = items.iter().flat_map(|item| &item.terms).map(String::as_str).collect();
        if !of_items.is_empty() {
            once.push(("item_terms", of_items.join(", ")));
        }
        Asked { lasting, once }
    }

    /// Whether it asks for nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.lasting.is_empty() && self.once.is_empty()
    }

    /// What holds afterwards.
    pub(crate) fn over(&self, old: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        let kept =
            old.iter().filter(|(name, _)| !self.lasting.iter().any(|(asked, _)| asked == name)).cloned();
        let mut terms: Vec<_> = kept.collect();
        terms.extend(self.lasting.iter().filter_map(|(name, value)| Some((*name, value.clone()?))));
        terms.sort_unstable();
        terms
    }

    /// Adds what a new subscription has that is not as usual.
    pub(crate) fn describe_new(&self, new: &Subscription, fields: &mut Fields) {
        for (name, value) in agreed(new) {
            fields.set(name, value);
        }
        // There is no cycle yet that could be begun anew.
        self.describe_once(fields, |name, value| !(name == "billing_cycle_anchor" && value == "now"));
    }

    /// Adds what is agreed on now and was not before; says whether there is anything.
    pub(crate) fn describe_change(
        &self,
        old: &Subscription,
        new: &Subscription,
        fields: &mut Fields,
    ) -> bool {
        let before = fields.len();
        let (was, is) = (agreed(old), agreed(new));
        for (name, value) in &is {
            if !was.contains(&(*name, value.clone())) {
                fields.set(*name, value.clone());
            }
        }
        for (name, _) in was.iter().filter(|(name, _)| !is.iter().any(|(have, _)| have == name)) {
            fields.set(*name, usual(name));
        }
        let method = |subscription: &Subscription| {
            subscription.default_payment_method.as_ref().map(|method| method.id.clone())
        };
        if method(old) != method(new) {
            fields.set("default_payment_method", method(new).unwrap_or_else(|| NONE.to_owned()));
        }
        // How a change is settled matters only where there is one; an invoice or a new cycle is a change by
        // itself.
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

/// What a subscription has that is not as usual.
fn agreed(subscription: &Subscription) -> Vec<(&'static str, Value)> {
    let mut agreed: Vec<(&'static str, Value)> = Vec::new();
    if subscription.trial_end.is_some() {
        agreed.push(("trial_days", subscription.trial_days().into()));
    }
    if subscription.cancel_at_period_end {
        agreed.push(("cancel_at_period_end", true.into()));
    }
    agreed.extend(subscription.cancel_at.map(|at| ("cancel_at", at.into())));
    if subscription.collection_method != AUTOMATICALLY {
        agreed.push(("collection_method", subscription.collection_method.into()));
    }
    agreed.extend(subscription.terms.iter().map(|(name, value)| (*name, value.as_str().into())));
    agreed
}

/// The value that a field has where it is as usual.
fn usual(name: &str) -> Value {
    match name {
        "trial_days" => 0.into(),
        "cancel_at_period_end" => false.into(),
        "collection_method" => AUTOMATICALLY.into(),
        _ => NONE.into(),
    }
}

/// All that stands under a name, in one text.
fn text(params: &Params<'_>, name: &'static str) -> String {
    let plain = params.raw(name).map(str::to_owned);
    let inside = params.inside(name).map(|(first, rest, value)| format!("[{first}]{rest}={value}"));
    plain.into_iter().chain(inside).collect::<Vec<_>>().join(", ")
}

/// The text, unless it asks for what is so anyway.
fn unusual(name: &str, text: String) -> Option<String> {
    (!text.is_empty() && !USUAL.contains(&(name, text.as_str()))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Request;

    fn asked(body: &str) -> Asked {
        let request = Request::new("POST", "/").body(body);
        let params = Params::read(&request).unwrap();
        let items = super::super::items::read(&params).unwrap();
        Asked::read(&params, &items)
    }

    #[test]
    fn what_is_so_anyway_is_not_agreed_on() {
        let usual = asked(
            "automatic_tax[enabled]=false&proration_behavior=create_prorations&pause_collection=&discounts=",
        );
        assert!(usual.over(&[]).is_empty() && usual.once.is_empty());
        let other =
            asked("automatic_tax[enabled]=true&discounts[0][coupon]=HALF&items[0][discounts][0][coupon]=X");
        assert_eq!(
            other.over(&[]),
            [("automatic_tax", "[enabled]=true".to_owned()), ("discounts", "[0][coupon]=HALF".to_owned())]
        );
        assert_eq!(other.once, [("item_terms", "[0][discounts][0][coupon]=X".to_owned())]);
    }

    #[test]
    fn what_a_request_does_not_name_stays_and_what_it_empties_goes() {
        let old = asked("discounts[0][coupon]=HALF&pause_collection[behavior]=void").over(&[]);
        assert_eq!(asked("pause_collection=").over(&old), [("discounts", "[0][coupon]=HALF".to_owned())]);
        assert_eq!(asked("metadata[a]=1").over(&old), old);
    }
}

//! A subscription with its items.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::charge::EmptyObject;
use super::{Customer, Expandable, Null, Object, PaymentMethod, Price, Recurring};
use crate::payment::metadata::Metadata;

/// A day in seconds.
const DAY: i64 = 24 * 60 * 60;
/// A billing month.
const PERIOD: i64 = 30 * DAY;

/// A subscription.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    pub(crate) id: String,
    pub(crate) cancel_at: Option<i64>,
    pub(crate) cancel_at_period_end: bool,
    pub(crate) canceled_at: Option<i64>,
    pub(crate) cancellation_reason: Option<&'static str>,
    pub(crate) collection_method: &'static str,
    pub(crate) created: i64,
    pub(crate) currency: &'static str,
    pub(crate) customer: Expandable<Customer>,
    pub(crate) days_until_due: Option<i64>,
    pub(crate) default_payment_method: Option<Arc<PaymentMethod>>,
    pub(crate) description: Option<String>,
    pub(crate) items: Vec<SubscriptionItem>,
    pub(crate) latest_invoice: String,
    pub(crate) metadata: Metadata,
    pub(crate) period_start: i64,
    pub(crate) status: &'static str,
    /// The unusual terms, by parameter: discounts, a pause.
    pub(crate) terms: Vec<(&'static str, String)>,
    pub(crate) trial_end: Option<i64>,
}

/// One item of a subscription.
#[derive(Debug, Clone)]
pub(crate) struct SubscriptionItem {
    pub(crate) id: String,
    pub(crate) created: i64,
    pub(crate) price: Arc<Price>,
    pub(crate) quantity: i64,
}

/// Items are equal if they cost the same: a price keeps its amount, and its other fields cost nothing.
impl PartialEq for SubscriptionItem {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.price.id, self.quantity) == (&other.id, &other.price.id, other.quantity)
    }
}

#[derive(Debug, Serialize)]
struct ItemView<'a> {
    id: &'a str,
    object: &'static str,
    billing_thresholds: Null,
    created: i64,
    current_period_end: i64,
    current_period_start: i64,
    discounts: [Null; 0],
    metadata: EmptyObject,
    price: &'a Price,
    quantity: i64,
    subscription: &'a str,
    tax_rates: [Null; 0],
}

#[derive(Debug, Serialize)]
struct ItemList<'a> {
    object: &'static str,
    data: Vec<ItemView<'a>>,
    has_more: bool,
    total_count: usize,
    url: String,
}

#[derive(Debug, Serialize)]
struct AutomaticTax {
    disabled_reason: Null,
    enabled: bool,
    liability: Null,
}

#[derive(Debug, Serialize)]
struct BillingMode {
    flexible: Null,
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct CancellationDetails {
    comment: Null,
    feedback: Null,
    reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Issuer {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct SubscriptionInvoiceSettings {
    account_tax_ids: Null,
    issuer: Issuer,
}

#[derive(Debug, Serialize)]
struct PaymentSettings {
    payment_method_options: Null,
    payment_method_types: Null,
    save_default_payment_method: &'static str,
}

#[derive(Debug, Serialize)]
struct PauseCollection<'a> {
    behavior: &'a str,
    resumes_at: Option<i64>,
}

#[derive(Debug, Serialize)]
struct TrialSettings {
    end_behavior: EndBehavior,
}

#[derive(Debug, Serialize)]
struct EndBehavior {
    missing_payment_method: &'static str,
}

/// A subscription as Stripe shows it.
#[derive(Debug, Serialize)]
struct SubscriptionView<'a> {
    id: &'a str,
    object: &'static str,
    application: Null,
    application_fee_percent: Null,
    automatic_tax: AutomaticTax,
    billing_cycle_anchor: i64,
    billing_cycle_anchor_config: Null,
    billing_mode: BillingMode,
    billing_thresholds: Null,
    cancel_at: Option<i64>,
    cancel_at_period_end: bool,
    canceled_at: Option<i64>,
    cancellation_details: CancellationDetails,
    collection_method: &'static str,
    created: i64,
    currency: &'static str,
    customer: &'a Expandable<Customer>,
    customer_account: Null,
    days_until_due: Option<i64>,
    default_payment_method: Option<&'a str>,
    default_source: Null,
    default_tax_rates: [Null; 0],
    description: Option<&'a str>,
    discounts: Vec<String>,
    ended_at: Option<i64>,
    invoice_settings: SubscriptionInvoiceSettings,
    items: ItemList<'a>,
    latest_invoice: &'a str,
    livemode: bool,
    metadata: &'a Metadata,
    next_pending_invoice_item_invoice: Null,
    on_behalf_of: Null,
    pause_collection: Option<PauseCollection<'a>>,
    payment_settings: PaymentSettings,
    pending_invoice_item_interval: Null,
    pending_setup_intent: Null,
    pending_update: Null,
    schedule: Null,
    start_date: i64,
    status: &'static str,
    test_clock: Null,
    transfer_data: Null,
    trial_end: Option<i64>,
    trial_settings: TrialSettings,
    trial_start: Option<i64>,
}

impl Subscription {
    /// The end of the paid period.
    fn period_end(&self) -> i64 {
        let recurring = self.items.first().and_then(|item| item.price.recurring.as_ref());
        let period = recurring.map_or(PERIOD, Recurring::period);
        self.trial_end.unwrap_or_else(|| self.period_start.saturating_add(period))
    }

    /// The length of the trial in days; a started day counts as a whole day.
    pub(crate) fn trial_days(&self) -> i64 {
        let seconds = self.trial_end.map_or(0, |end| end.saturating_sub(self.created)).max(0);
        seconds.saturating_add(DAY - 1) / DAY
    }

    /// The values of this term, part by part: `[behavior]=void`.
    fn agreed(&self, term: &str) -> Option<impl Iterator<Item = &str> + Clone> {
        self.terms.iter().find(|(name, _)| *name == term).map(|(_, asked)| asked.split(", "))
    }

    /// What happens to invoices while collection is paused, and until when.
    fn paused(&self) -> Option<PauseCollection<'_>> {
        let mut asked = self.agreed("pause_collection")?;
        let behavior = asked.clone().find_map(|part| part.strip_prefix("[behavior]=")).unwrap_or("void");
        let resumes_at =
            asked.find_map(|part| part.strip_prefix("[resumes_at]=")).and_then(|time| time.parse().ok());
        Some(PauseCollection { behavior, resumes_at })
    }

    /// The ids of its discounts, one for each requested discount.
    fn discount_ids(&self) -> Vec<String> {
        let mut places: Vec<&str> = self
            .agreed("discounts")
            .into_iter()
            .flatten()
            .filter_map(|part| part.split(']').next())
            .collect();
        places.dedup();
        let owner = self.id.trim_start_matches("sub_");
        places.iter().map(|place| format!("di_{owner}{}", place.trim_start_matches('['))).collect()
    }

    fn has_automatic_tax(&self) -> bool {
        self.agreed("automatic_tax").is_some_and(|mut asked| asked.any(|part| part == "[enabled]=true"))
    }

    fn view(&self) -> SubscriptionView<'_> {
        let data = self.items.iter().map(|item| self.item_view(item)).collect();
        let url = format!("/v1/subscription_items?subscription={}", self.id);
        SubscriptionView {
            id: &self.id,
            object: "subscription",
            application: (),
            application_fee_percent: (),
            automatic_tax: AutomaticTax {
                disabled_reason: (),
                enabled: self.has_automatic_tax(),
                liability: (),
            },
            billing_cycle_anchor: self.period_start,
            billing_cycle_anchor_config: (),
            billing_mode: BillingMode { flexible: (), r#type: "classic" },
            billing_thresholds: (),
            cancel_at: self.cancel_at.or_else(|| self.cancel_at_period_end.then(|| self.period_end())),
            cancel_at_period_end: self.cancel_at_period_end,
            canceled_at: self.canceled_at,
            cancellation_details: CancellationDetails {
                comment: (),
                feedback: (),
                reason: self.cancellation_reason,
            },
            collection_method: self.collection_method,
            created: self.created,
            currency: self.currency,
            customer: &self.customer,
            customer_account: (),
            days_until_due: self.days_until_due,
            default_payment_method: self.default_payment_method.as_ref().map(|method| method.id.as_str()),
            default_source: (),
            default_tax_rates: [],
            description: self.description.as_deref(),
            discounts: self.discount_ids(),
            ended_at: self.canceled_at.filter(|_| self.status == "canceled"),
            invoice_settings: SubscriptionInvoiceSettings {
                account_tax_ids: (),
                issuer: Issuer { r#type: "self" },
            },
            items: ItemList { object: "list", total_count: self.items.len(), data, has_more: false, url },
            latest_invoice: &self.latest_invoice,
            livemode: false,
            metadata: &self.metadata,
            next_pending_invoice_item_invoice: (),
            on_behalf_of: (),
            pause_collection: self.paused(),
            payment_settings: PaymentSettings {
                payment_method_options: (),
                payment_method_types: (),
                save_default_payment_method: "off",
            },
            pending_invoice_item_interval: (),
            pending_setup_intent: (),
            pending_update: (),
            schedule: (),
            start_date: self.period_start,
            status: self.status,
            test_clock: (),
            transfer_data: (),
            trial_end: self.trial_end,
            trial_settings: TrialSettings {
                end_behavior: EndBehavior { missing_payment_method: "create_invoice" },
            },
            trial_start: self.trial_end.map(|_| self.period_start),
        }
    }

    fn item_view<'a>(&'a self, item: &'a SubscriptionItem) -> ItemView<'a> {
        ItemView {
            id: &item.id,
            object: "subscription_item",
            billing_thresholds: (),
            created: item.created,
            current_period_end: self.period_end(),
            current_period_start: self.period_start,
            discounts: [],
            metadata: EmptyObject {},
            price: &item.price,
            quantity: item.quantity,
            subscription: &self.id,
            tax_rates: [],
        }
    }
}

impl Serialize for Subscription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl Object for Subscription {
    const KIND: &'static str = "subscription";
    const URL: &'static str = "/v1/subscriptions";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

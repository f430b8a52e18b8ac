//! Stripe's objects as they are stored and sent: one struct for each, its keys in Stripe's order.

mod balance;
mod billing;
mod card;
mod charge;
mod customer;
mod event;
mod expand;
mod intent;
mod next_action;
mod price;
mod product;
mod refund;
mod shipping;
mod subscription;
mod token;

pub(crate) use balance::Balance;
pub(crate) use billing::Billing;
pub(crate) use card::{CardSource, PaymentMethod, PaymentMethodDetails};
pub(crate) use charge::{BillingDetails, Charge, ChargeOutcome, ReceiptUrl};
pub(crate) use customer::Customer;
pub(crate) use event::PaymentEvent;
pub(crate) use expand::Expandable;
pub(crate) use intent::{
    AutomaticPaymentMethods, Intent, IntentStatus, LastPaymentError, PaymentMethodOptions,
};
pub(crate) use next_action::NextAction;
pub(crate) use price::{Price, Recurring, initial_product};
pub(crate) use product::{MarketingFeature, Product};
pub(crate) use refund::{CardDestination, DestinationDetails, Refund};
pub(crate) use shipping::{PostalAddress, ShippingDetails};
pub(crate) use subscription::{Subscription, SubscriptionItem};
pub(crate) use token::Token;

/// A key that is always `null`.
pub(crate) type Null = ();

/// The common parts of all stored objects.
pub(crate) trait Object {
    /// Stripe's name of its type: `charge`.
    const KIND: &'static str;
    /// The path of its list.
    const URL: &'static str;

    /// Its id.
    fn id(&self) -> &str;

    /// The creation time, in seconds.
    fn created(&self) -> i64;
}

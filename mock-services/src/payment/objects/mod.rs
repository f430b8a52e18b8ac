//! Stripe's objects as they are stored and sent: one struct for each, its keys in the order in which Stripe
//! sends them.

mod balance;
mod billing;
mod card;
mod charge;
mod customer;
mod expand;
mod intent;
mod next_action;
mod refund;
mod shipping;
mod subscription;
mod token;

pub(crate) use balance::Balance;
pub(crate) use billing::Billing;
pub(crate) use card::{CardSource, PaymentMethod, PaymentMethodDetails};
pub(crate) use charge::{BillingDetails, Charge, Outcome, ReceiptUrl};
pub(crate) use customer::Customer;
pub(crate) use expand::Expandable;
pub(crate) use intent::{AutomaticPaymentMethods, Intent, LastPaymentError, PaymentMethodOptions, Status};
pub(crate) use next_action::NextAction;
pub(crate) use refund::{CardDestination, DestinationDetails, Refund};
pub(crate) use shipping::{Address, Shipping};
pub(crate) use subscription::{Item, Subscription};
pub(crate) use token::Token;

/// A key that is always `null`.
pub(crate) type Null = ();

/// What all stored objects have.
pub(crate) trait Object {
    /// What Stripe calls its kind: `charge`.
    const KIND: &'static str;
    /// The path of its list.
    const URL: &'static str;

    /// Its id.
    fn id(&self) -> &str;

    /// When it was made, in seconds.
    fn created(&self) -> i64;
}

//! A customer.

use serde::Serialize;

use super::{Expandable, Null, Object, PaymentMethod, PostalAddress, ShippingDetails};
use crate::payment::cards::Card;
use crate::payment::metadata::Metadata;

/// A customer. Initial customers are built when they are requested.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Customer {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) address: Option<PostalAddress>,
    pub(crate) balance: i64,
    pub(crate) business_name: Null,
    pub(crate) created: i64,
    pub(crate) currency: Null,
    pub(crate) customer_account: Null,
    pub(crate) default_source: Option<String>,
    pub(crate) delinquent: bool,
    pub(crate) description: Option<String>,
    pub(crate) discount: Null,
    pub(crate) email: Option<String>,
    pub(crate) individual_name: Null,
    pub(crate) invoice_prefix: String,
    pub(crate) invoice_settings: CustomerInvoiceSettings,
    pub(crate) livemode: bool,
    pub(crate) metadata: Metadata,
    pub(crate) name: Option<String>,
    pub(crate) next_invoice_sequence: i64,
    pub(crate) phone: Option<String>,
    pub(crate) preferred_locales: Vec<String>,
    pub(crate) shipping: Option<Box<ShippingDetails>>,
    pub(crate) tax_exempt: &'static str,
    pub(crate) test_clock: Null,
    /// Whether it was deleted; then only its id is left.
    #[serde(skip)]
    pub(crate) deleted: bool,
    /// Whether a request created it.
    #[serde(skip)]
    pub(crate) created_by_request: bool,
    /// Its initial cards, by id.
    #[serde(skip)]
    pub(crate) cards: Vec<(String, Card)>,
}

/// How invoices are paid.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct CustomerInvoiceSettings {
    pub(crate) custom_fields: Null,
    pub(crate) default_payment_method: Option<Expandable<PaymentMethod>>,
    pub(crate) footer: Null,
    pub(crate) rendering_options: Null,
}

/// A deleted customer.
#[derive(Debug, Serialize)]
pub(crate) struct DeletedCustomer<'a> {
    id: &'a str,
    object: &'static str,
    deleted: bool,
}

/// A customer as a read shows it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum CustomerView<'a> {
    /// An existing customer.
    Present(&'a Customer),
    /// A deleted customer.
    Deleted(DeletedCustomer<'a>),
}

impl Customer {
    /// A customer with only an id.
    pub(crate) fn bare(id: &str, created: i64) -> Self {
        Customer {
            id: id.to_owned(),
            object: "customer",
            address: None,
            balance: 0,
            business_name: (),
            created,
            currency: (),
            customer_account: (),
            default_source: None,
            delinquent: false,
            description: None,
            discount: (),
            email: None,
            individual_name: (),
            invoice_prefix: prefix(id),
            invoice_settings: CustomerInvoiceSettings::default(),
            livemode: false,
            metadata: Metadata::default(),
            name: None,
            next_invoice_sequence: 1,
            phone: None,
            preferred_locales: Vec::new(),
            shipping: None,
            tax_exempt: "none",
            test_clock: (),
            deleted: false,
            created_by_request: false,
            cards: Vec::new(),
        }
    }

    /// The customer with a default card.
    pub(crate) fn with_card(mut self, id: String, card: Card) -> Self {
        self.default_source = Some(id.clone());
        self.cards.push((id, card));
        self
    }

    /// Removes a card, and the default if it was this card.
    pub(crate) fn remove_card(&mut self, id: &str) {
        self.cards.retain(|(other, _)| other != id);
        self.default_source.take_if(|default| default == id);
        self.invoice_settings.default_payment_method.take_if(|default| default.id() == id);
    }

    /// Adds a card.
    pub(crate) fn add_card(&mut self, id: &str, card: Card) {
        if !self.cards.iter().any(|(other, _)| other == id) {
            self.cards.push((id.to_owned(), card));
        }
    }

    /// The customer as a read shows it.
    pub(crate) fn view(&self) -> CustomerView<'_> {
        if self.deleted {
            CustomerView::Deleted(DeletedCustomer { id: &self.id, object: "customer", deleted: true })
        } else {
            CustomerView::Present(self)
        }
    }
}

/// Eight digits derived from the id.
fn prefix(id: &str) -> String {
    let hash = id.bytes().fold(0, |hash, byte| crate::service::mix(hash ^ u64::from(byte)));
    format!("{:08X}", hash >> 32)
}

impl Object for Customer {
    const KIND: &'static str = "customer";
    const URL: &'static str = "/v1/customers";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}

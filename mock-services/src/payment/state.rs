//! The state of the service: each type of object in the order of creation, found by id without a scan.

use std::sync::Arc;

use super::cards::Card;
use super::objects::{
    Charge, Customer, Expandable, Intent, Object, PaymentEvent, PaymentMethod, Price, Product, Refund,
    Subscription, Token,
};
use super::options::{Customers, PaymentOptions};
use crate::index::Index;
use crate::service::Ids;

/// The creation time of initial customers, charges, products and prices.
pub(super) const INITIAL_TIME: i64 = 1_735_689_600;

/// All committed objects.
#[derive(Debug, Clone, Default)]
pub struct PaymentState {
    pub(super) charges: Table<Charge>,
    pub(super) intents: Table<Intent>,
    pub(super) refunds: Table<Refund>,
    pub(super) customers: Table<Customer>,
    pub(super) subscriptions: Table<Subscription>,
    /// The payment methods of customers and intents, so that an id keeps its card.
    pub(super) methods: Table<PaymentMethod>,
    /// Created products, and those that changed.
    pub(super) products: Table<Product>,
    /// Created prices, and those that changed.
    pub(super) prices: Table<Price>,
    /// Single-use cards.
    pub(super) tokens: Table<Token>,
    /// What was sent to webhook endpoints.
    pub(super) events: Table<PaymentEvent>,
}

/// Objects of one type, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Table<T> {
    rows: Vec<Arc<T>>,
    by_id: Index,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { rows: Vec::new(), by_id: Index::default() }
    }
}

impl<T: Object> Table<T> {
    fn index(&self, id: &str) -> Option<usize> {
        self.by_id.find(id, |index| self.rows[index].id())
    }

    /// The object with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Arc<T>> {
        self.rows.get(self.index(id)?)
    }

    /// Adds an object, or replaces the one with its id.
    pub(crate) fn put(&mut self, object: Arc<T>) {
        match self.index(object.id()) {
            Some(index) => self.rows[index] = object,
            None => {
                self.rows.push(object);
                let Table { rows, by_id } = self;
                by_id.add(rows.len() - 1, |index| rows[index].id());
            }
        }
    }

    /// All objects, oldest first.
    pub(crate) fn rows(&self) -> &[Arc<T>] {
        &self.rows
    }
}

impl<T: Object + Clone> Table<T> {
    /// Changes the object with this id, if it exists.
    pub(crate) fn change(&mut self, id: &str, how: impl FnOnce(&mut T)) {
        if let Some(index) = self.index(id) {
            how(Arc::make_mut(&mut self.rows[index]));
        }
    }
}

/// How a customer pays when a request names no payment method.
#[derive(Debug, Clone)]
pub(crate) struct DefaultPayment {
    /// The default card with its id.
    pub(crate) card: Option<(String, Card)>,
}

impl PaymentState {
    /// How a customer pays; `None` when the customer does not exist.
    pub(super) fn wallet(&self, options: &PaymentOptions, id: &str) -> Option<DefaultPayment> {
        match self.customers.get(id) {
            Some(customer) if customer.deleted => None,
            Some(customer) => {
                let method = customer.invoice_settings.default_payment_method.as_ref().map(Expandable::id);
                let id = customer.default_source.as_deref().or(method);
                let card = id.and_then(|id| customer.cards.iter().find(|(other, _)| other == id));
                Some(DefaultPayment { card: card.cloned() })
            }
            None => options
                .is_given(id)
                .then(|| DefaultPayment { card: Some((initial_card(options, id), Card::VISA)) }),
        }
    }

    /// The card of an id.
    pub(super) fn card(&self, id: &str) -> Option<Card> {
        self.methods.get(id).map(|method| method.card)
    }

    /// Stores the card of an id, unless the id is known.
    pub(super) fn store_card(&mut self, id: &str, card: Card, created: i64, customer: Option<&str>) {
        if self.methods.get(id).is_none() {
            let method = PaymentMethod::new(id.to_owned(), card, created);
            self.methods.put(Arc::new(match customer {
                Some(customer) => method.of_customer(customer),
                None => method,
            }));
        }
    }

    /// Stores a payment method, unless it is known: the stored one can have changed since.
    pub(super) fn store_method(&mut self, method: &Arc<PaymentMethod>) {
        if self.methods.get(&method.id).is_none() {
            self.methods.put(Arc::clone(method));
        }
    }

    /// The customer, even when deleted.
    pub(super) fn customer(&self, options: &PaymentOptions, id: &str) -> Option<Arc<Customer>> {
        self.customers
            .get(id)
            .cloned()
            .or_else(|| options.is_given(id).then(|| Arc::new(initial_customer(options, id))))
    }

    /// All listed customers, oldest first.
    pub(super) fn all_customers(&self, options: &PaymentOptions) -> Vec<Arc<Customer>> {
        let ids: &[String] = match &options.customers {
            Customers::Any => &[],
            Customers::Only(ids) => ids,
        };
        let initial_customers = ids
            .iter()
            .filter(|id| self.customers.get(id).is_none())
            .map(|id| Arc::new(initial_customer(options, id)));
        initial_customers
            .chain(self.customers.rows().iter().filter(|customer| !customer.deleted).cloned())
            .collect()
    }
}

fn initial_customer(options: &PaymentOptions, id: &str) -> Customer {
    Customer::bare(id, INITIAL_TIME).with_card(initial_card(options, id), Card::VISA)
}

fn initial_card(options: &PaymentOptions, customer: &str) -> String {
    Ids::new(options.seed, customer, 0, 0, 0).alphanumeric("card_1", 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_object_keeps_its_position() {
        let mut table = Table::default();
        table.put(Arc::new(Customer::bare("cus_1", 1)));
        table.put(Arc::new(Customer::bare("cus_2", 2)));
        table.put(Arc::new(Customer { balance: 7, ..Customer::bare("cus_1", 1) }));
        table.change("cus_2", |customer| customer.balance = 8);
        table.change("cus_3", |customer| customer.balance = 9);
        assert_eq!(
            table.rows().iter().map(|row| (row.id(), row.balance)).collect::<Vec<_>>(),
            [("cus_1", 7), ("cus_2", 8)]
        );
        assert_eq!(table.get("cus_1").unwrap().balance, 7);
    }

    #[test]
    fn an_initial_customer_can_pay_and_a_deleted_one_cannot() {
        let options = PaymentOptions::default();
        let mut state = PaymentState::default();
        assert_eq!(state.wallet(&options, "cus_1").unwrap().card.unwrap().1, Card::VISA);
        assert!(state.wallet(&options, "nobody").is_none());
        state.customers.put(Arc::new(Customer { deleted: true, ..Customer::bare("cus_1", 1) }));
        assert!(state.wallet(&options, "cus_1").is_none());
        assert!(state.customer(&options, "cus_1").unwrap().deleted);
    }
}

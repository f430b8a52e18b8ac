//! All that the service remembers: each kind of object in the order in which it was made, found by id without
//! a scan.

use std::sync::Arc;

use super::cards::Card;
use super::objects::{Charge, Customer, Intent, Object, PaymentMethod, Refund, Subscription, Token};
use super::options::{Customers, PaymentOptions};
use crate::index::Index;
use crate::service::Ids;

/// When customers and charges were made that exist before any is created.
pub(super) const GIVEN_AT: i64 = 1_735_689_600;

/// Everything that was committed.
#[derive(Debug, Default)]
pub struct PaymentState {
    pub(super) charges: Table<Charge>,
    pub(super) intents: Table<Intent>,
    pub(super) refunds: Table<Refund>,
    pub(super) customers: Table<Customer>,
    pub(super) subscriptions: Table<Subscription>,
    /// What customers and intents were given to pay with, so that an id goes on to stand for its card.
    pub(super) methods: Table<PaymentMethod>,
    /// Cards that can be used once.
    pub(super) tokens: Table<Token>,
}

/// Objects of one kind, oldest first.
#[derive(Debug)]
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
    fn place(&self, id: &str) -> Option<usize> {
        self.by_id.find(id, |place| self.rows[place].id())
    }

    /// The object with this id.
    pub(crate) fn get(&self, id: &str) -> Option<&Arc<T>> {
        self.rows.get(self.place(id)?)
    }

    /// Adds an object, or puts it in the place of the one with its id.
    pub(crate) fn put(&mut self, object: Arc<T>) {
        match self.place(object.id()) {
            Some(place) => self.rows[place] = object,
            None => {
                self.rows.push(object);
                let Table { rows, by_id } = self;
                by_id.add(rows.len() - 1, |place| rows[place].id());
            }
        }
    }

    /// All objects, oldest first.
    pub(crate) fn rows(&self) -> &[Arc<T>] {
        &self.rows
    }
}

impl<T: Object + Clone> Table<T> {
    /// Changes the object with this id, where there is one.
    pub(crate) fn change(&mut self, id: &str, how: impl FnOnce(&mut T)) {
        if let Some(place) = self.place(id) {
            how(Arc::make_mut(&mut self.rows[place]));
        }
    }
}

/// How a customer pays where a request names nothing.
#[derive(Debug, Clone)]
pub(crate) struct Wallet {
    /// The default card with its id.
    pub(crate) card: Option<(String, Card)>,
}

impl PaymentState {
    /// How a customer pays; `None` where there is no such customer.
    pub(super) fn wallet(&self, options: &PaymentOptions, id: &str) -> Option<Wallet> {
        match self.customers.get(id) {
            Some(customer) if customer.deleted => None,
            Some(customer) => {
                let id = customer
                    .default_source
                    .as_ref()
                    .or(customer.invoice_settings.default_payment_method.as_ref());
                let card = id.and_then(|id| customer.cards.iter().find(|(have, _)| have == id));
                Some(Wallet { card: card.cloned() })
            }
            None => {
                options.is_given(id).then(|| Wallet { card: Some((given_card(options, id), Card::VISA)) })
            }
        }
    }

    /// The card that an id was given for.
    pub(super) fn card(&self, id: &str) -> Option<Card> {
        self.methods.get(id).map(|method| method.card)
    }

    /// Remembers which card an id stands for, unless it is known already.
    pub(super) fn know(&mut self, id: &str, card: Card, created: i64, customer: Option<&str>) {
        if self.methods.get(id).is_none() {
            let method = PaymentMethod::new(id.to_owned(), card, created);
            self.methods.put(Arc::new(match customer {
                Some(customer) => method.of_customer(customer),
                None => method,
            }));
        }
    }

    /// Remembers what something is paid with, unless it is known already: what is known can have changed
    /// since.
    pub(super) fn know_method(&mut self, method: &Arc<PaymentMethod>) {
        if self.methods.get(&method.id).is_none() {
            self.methods.put(Arc::clone(method));
        }
    }

    /// The customer, even one that was deleted.
    pub(super) fn customer(&self, options: &PaymentOptions, id: &str) -> Option<Arc<Customer>> {
        self.customers.get(id).cloned().or_else(|| options.is_given(id).then(|| Arc::new(given(options, id))))
    }

    /// All customers that a list shows, oldest first.
    pub(super) fn all_customers(&self, options: &PaymentOptions) -> Vec<Arc<Customer>> {
        let ids: &[String] = match &options.customers {
            Customers::Any => &[],
            Customers::Only(ids) => ids,
        };
        let given =
            ids.iter().filter(|id| self.customers.get(id).is_none()).map(|id| Arc::new(given(options, id)));
        given.chain(self.customers.rows().iter().filter(|customer| !customer.deleted).cloned()).collect()
    }
}

fn given(options: &PaymentOptions, id: &str) -> Customer {
    Customer::bare(id, GIVEN_AT).with_card(given_card(options, id), Card::VISA)
}

fn given_card(options: &PaymentOptions, customer: &str) -> String {
    Ids::new(options.seed, customer, 0, 0, 0).alphanumeric("card_1", 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_keeps_its_place_when_it_changes() {
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
    fn a_given_customer_can_pay_and_a_deleted_one_cannot() {
        let options = PaymentOptions::default();
        let mut state = PaymentState::default();
        assert_eq!(state.wallet(&options, "cus_1").unwrap().card.unwrap().1, Card::VISA);
        assert!(state.wallet(&options, "nobody").is_none());
        state.customers.put(Arc::new(Customer { deleted: true, ..Customer::bare("cus_1", 1) }));
        assert!(state.wallet(&options, "cus_1").is_none());
        assert!(state.customer(&options, "cus_1").unwrap().deleted);
    }
}

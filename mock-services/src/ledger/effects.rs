//! Questions that a test asks of a ledger: which effects were committed, and which attempts were made.

use super::{CommitTiming, Event, Ledger, Received};
use crate::service::Fields;

/// An effect that a service committed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CommittedEffect {
    /// The number of its entry in the ledger.
    pub entry: u64,
    /// The number of the attempt that caused it.
    pub attempt: u64,
    /// Its name: `payment.charge`.
    pub name: String,
    /// The id that the service gave it.
    pub id: String,
    /// What was done.
    pub fields: Fields,
    /// Why it was committed at this moment.
    pub timing: CommitTiming,
}

impl CommittedEffect {
    /// The value of a field as text; empty if the effect does not have the field.
    #[must_use]
    pub fn field(&self, name: &str) -> String {
        self.fields.get(name).map(ToString::to_string).unwrap_or_default()
    }
}

impl Ledger {
    /// The effects of this name that were committed so far, in order.
    ///
    /// ```no_run
    /// # fn check(ledger: &mock_services::ledger::Ledger) {
    /// assert_eq!(ledger.effects("payment.charge").count(), 1);
    /// # }
    /// ```
    pub fn effects(&self, name: &str) -> impl Iterator<Item = CommittedEffect> + use<> {
        let of_name = |effect: &CommittedEffect| effect.name == name;
        self.all_effects().filter(of_name).collect::<Vec<_>>().into_iter()
    }

    /// All effects that were committed so far, in order.
    pub fn all_effects(&self) -> impl Iterator<Item = CommittedEffect> + use<> {
        self.entries().into_iter().filter_map(|entry| match entry.event {
            Event::Committed { attempt, effect, id, fields, timing } => Some(CommittedEffect {
                entry: entry.n,
                attempt,
                name: effect.into(),
                id: id.into(),
                fields,
                timing,
            }),
            _ => None,
        })
    }

    /// The attempts of this operation so far, in order. A request that the service itself refused is not an
    /// attempt.
    pub fn attempts(&self, operation: &str) -> impl Iterator<Item = Received> + use<> {
        let attempts = self.entries().into_iter().filter_map(|entry| match entry.event {
            Event::Received(received) if received.operation == operation => Some(*received),
            _ => None,
        });
        attempts.collect::<Vec<_>>().into_iter()
    }
}

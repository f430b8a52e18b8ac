//! Expectations: how often an effect must have been committed at the end of a test. They are checked by
//! [`MockServices::verify`], or when the services are dropped.

use std::fmt;
use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};
use std::sync::{Mutex, PoisonError};

use super::MockServices;
use crate::ledger::{Audience, Entry, Event, Ledger};
use crate::service::{Fields, Value};

/// How often an effect is expected: `1`, `1..=3`, `2..` or `..=1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    least: u64,
    most: Option<u64>,
}

impl Times {
    fn include(self, count: u64) -> bool {
        self.least <= count && self.most.is_none_or(|most| count <= most)
    }
}

impl From<u64> for Times {
    fn from(count: u64) -> Self {
        Times { least: count, most: Some(count) }
    }
}

impl From<RangeInclusive<u64>> for Times {
    fn from(range: RangeInclusive<u64>) -> Self {
        Times { least: *range.start(), most: Some(*range.end()) }
    }
}

impl From<RangeFrom<u64>> for Times {
    fn from(range: RangeFrom<u64>) -> Self {
        Times { least: range.start, most: None }
    }
}

impl From<RangeToInclusive<u64>> for Times {
    fn from(range: RangeToInclusive<u64>) -> Self {
        Times { least: 0, most: Some(range.end) }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (0, Some(0)) => f.write_str("no"),
            (least, Some(most)) if least == most => write!(f, "exactly {least}"),
            (0, Some(most)) => write!(f, "at most {most}"),
            (least, Some(most)) => write!(f, "{least} to {most}"),
            (least, None) => write!(f, "at least {least}"),
        }
    }
}

/// An expectation that has no number yet; see [`MockServices::expect`].
#[must_use = "an expectation is registered by `times`"]
#[derive(Debug)]
pub struct ExpectationBuilder<'a> {
    expectations: &'a Expectations,
    effect: String,
    fields: Fields,
}

impl ExpectationBuilder<'_> {
    /// Counts only effects in which this field has this value. Each call adds a condition.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.set(name, value);
        self
    }

    /// Registers the expectation that the effect is committed exactly this often.
    pub fn times(self, count: u64) {
        self.times_in(count);
    }

    /// Registers the expectation that the effect is committed this often: `1..=3`, `2..` or `..=1`.
    pub fn times_in(self, times: impl Into<Times>) {
        let expectation = Expectation { effect: self.effect, fields: self.fields, times: times.into() };
        self.expectations.list().push(expectation);
    }
}

#[derive(Debug, Clone)]
struct Expectation {
    effect: String,
    fields: Fields,
    times: Times,
}

/// The expectations of running services. Dropping them checks those that were not verified.
#[derive(Debug)]
pub(super) struct Expectations {
    ledger: Ledger,
    list: Mutex<Vec<Expectation>>,
}

/// Expectations that the ledger does not meet, each with the timeline of its operation.
#[derive(Clone, PartialEq, Eq)]
pub struct UnmetExpectations(Vec<String>);

impl fmt::Display for UnmetExpectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// The same as `Display`, so that a failed `unwrap` in a test shows readable lines.
impl fmt::Debug for UnmetExpectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for UnmetExpectations {}

impl MockServices {
    /// Expects an effect, by its name. Say how often with [`times`](ExpectationBuilder::times); the ledger is
    /// compared with it by [`MockServices::verify`], or when the services are dropped.
    ///
    /// ```
    /// use mock_services::payment::Payment;
    /// use mock_services::{MockServices, ServiceOptions};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let builder = MockServices::builder().service(Payment::default(), ServiceOptions::default());
    /// let services = builder.start().await?;
    /// services.expect("payment.charge").field("order", "ord_1001").times(1);
    /// // The code under test makes no charge, so the expectation is not met.
    /// let unmet = services.verify().await.unwrap_err();
    /// let message = unmet.to_string();
    /// assert!(message.starts_with("expected exactly 1 payment.charge with order=ord_1001, found 0"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn expect(&self, effect: impl Into<String>) -> ExpectationBuilder<'_> {
        let expectations = &self.expectations;
        ExpectationBuilder { expectations, effect: effect.into(), fields: Fields::new() }
    }

    /// Settles the services and compares the ledger with the expectations. Expectations that were verified
    /// are not checked again when the services are dropped.
    ///
    /// Call it at the end of a test whose faults commit `later`: dropping the services cannot wait for such a
    /// commit.
    ///
    /// # Errors
    /// If an effect was committed more or less often than expected. The message has the timeline of the
    /// operation.
    pub async fn verify(&self) -> Result<(), UnmetExpectations> {
        self.settle().await;
        self.expectations.check()
    }
}

impl Expectations {
    pub(super) fn new(ledger: Ledger) -> Self {
        Expectations { ledger, list: Mutex::default() }
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Expectation>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), UnmetExpectations> {
        let expectations = std::mem::take(&mut *self.list());
        if expectations.is_empty() {
            return Ok(());
        }
        let entries = self.ledger.entries();
        let unmet: Vec<String> =
            expectations.iter().filter_map(|expectation| expectation.unmet(&entries)).collect();
        if unmet.is_empty() { Ok(()) } else { Err(UnmetExpectations(unmet)) }
    }
}

impl Drop for Expectations {
    fn drop(&mut self) {
        // A second panic would abort the process and hide the first.
        if std::thread::panicking() {
            return;
        }
        if let Err(unmet) = self.check() {
            #[expect(clippy::panic, reason = "a test has no other way to fail when a value is dropped")]
            {
                panic!("{unmet}");
            }
        }
    }
}

impl Expectation {
    /// The message, if the ledger does not meet it.
    fn unmet(&self, entries: &[Entry]) -> Option<String> {
        let found = entries.iter().filter(|entry| self.counts(&entry.event)).count() as u64;
        if self.times.include(found) {
            return None;
        }
        let conditions: Vec<String> =
            self.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let with =
            if conditions.is_empty() { String::new() } else { format!(" with {}", conditions.join(", ")) };
        let timeline = timeline(&self.effect, entries);
        Some(format!("expected {} {}{with}, found {found}\n{timeline}", self.times, self.effect))
    }

    fn counts(&self, event: &Event) -> bool {
        match event {
            Event::Committed { effect, fields, .. } => *effect == self.effect && fields.meet(&self.fields),
            _ => false,
        }
    }
}

/// The entries about the attempts of an operation, and about the attempts that caused the effect of this
/// name.
fn timeline(name: &str, entries: &[Entry]) -> String {
    let concerns = |event: &Event| match event {
        Event::Received(received) if received.operation == name => Some(received.attempt),
        Event::Committed { attempt, effect, .. } | Event::Withheld { attempt, effect, .. }
            if *effect == name =>
        {
            Some(*attempt)
        }
        _ => None,
    };
    let attempts: Vec<u64> = entries.iter().filter_map(|entry| concerns(&entry.event)).collect();
    let lines: Vec<String> = entries.iter().filter_map(|entry| line(entry, name, &attempts)).collect();
    if lines.is_empty() { format!("  the ledger has no attempt of {name}") } else { lines.join("\n") }
}

fn line(entry: &Entry, name: &str, attempts: &[u64]) -> Option<String> {
    let who = match &entry.event {
        Event::Refused(refused) => {
            refused.operation.as_ref().filter(|operation| *operation == name).map(|_| String::new())
        }
        event => event
            .attempt()
            .filter(|attempt| attempts.contains(attempt))
            .map(|attempt| format!("attempt {attempt} ")),
    };
    let words = entry.event.words(Audience::Test, |text, _| text.to_owned())?;
    Some(format!("  {:>4}  {}{}", entry.n, who?, words.label))
}

//! Faults written in Rust: `Fault::on("payment.charge").attempt(1).commit(Commit::Now).reply(Reply::Drop)`,
//! and the same fault parsed from one line.

use std::ops::RangeInclusive;
use std::str::FromStr;

use yaml_reader::{Problems, Reader, Source};

use super::line::read_unchecked;
use super::{Attempts, Commit, Fault, Reply, Trigger};
use crate::service::{Fields, Value};

impl Fault {
    /// A fault on the first attempt of this operation. It changes nothing until [`commit`](Fault::commit) or
    /// [`reply`](Fault::reply) is set.
    ///
    /// ```
    /// use mock_services::fault::{Commit, Fault, Reply};
    ///
    /// let lost_reply = Fault::on("payment.charge").attempt(1).commit(Commit::Now).reply(Reply::Drop);
    /// assert_eq!(lost_reply.to_string(), "payment.charge#1 commit=now reply=drop");
    /// ```
    #[must_use]
    pub fn on(operation: impl Into<String>) -> Self {
        let trigger = Trigger {
            on: operation.into(),
            attempts: Attempts::These(vec![1]),
            fields: Fields::new(),
            any_effect: false,
            caller: None,
            chance: None,
        };
        Fault { trigger, commit: Commit::Now, reply: Reply::default(), optional: false }
    }

    /// Applies to the attempt with this number, counted from 1.
    #[must_use]
    pub fn attempt(self, number: u32) -> Self {
        self.attempts(vec![number])
    }

    /// Applies to several attempts: `[1, 3]`, `1..=3` or [`Attempts::Every`].
    #[must_use]
    pub fn attempts(mut self, attempts: impl Into<Attempts>) -> Self {
        self.trigger.attempts = attempts.into();
        self
    }

    /// Sets what the service commits.
    #[must_use]
    pub fn commit(mut self, commit: Commit) -> Self {
        self.commit = commit;
        self
    }

    /// Sets what the caller sees.
    #[must_use]
    pub fn reply(mut self, reply: impl Into<Reply>) -> Self {
        self.reply = reply.into();
        self
    }

    /// Applies only to requests in which this field has this value. Each call adds a condition.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.trigger.fields.set(name, value);
        self
    }

    /// Applies also to writes that the task does not intend; see [`IntendedEffects`](super::IntendedEffects).
    #[must_use]
    pub fn any_effect(mut self) -> Self {
        self.trigger.any_effect = true;
        self
    }

    /// Applies only to the attempts of this caller, counted from 1.
    #[must_use]
    pub fn caller(mut self, caller: u32) -> Self {
        self.trigger.caller = Some(caller);
        self
    }

    /// Fires with this probability, drawn from the seed of the services.
    #[must_use]
    pub fn chance(mut self, chance: f64) -> Self {
        self.trigger.chance = Some(chance);
        self
    }

    /// Lets a hapax trial pass in which this fault did not fire.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// Parses the line that `hapax serve --fault` takes. Whether the operation exists is checked when the fault
/// is armed.
///
/// ```
/// use mock_services::fault::{Fault, Reply};
///
/// let fault: Fault = "payment.charge#2 commit=never reply={status: 503}".parse()?;
/// assert_eq!(fault.reply, Reply::status(503));
/// # Ok::<(), mock_services::Problems>(())
/// ```
impl FromStr for Fault {
    type Err = Problems;

    fn from_str(line: &str) -> Result<Self, Problems> {
        let source = Source::new("fault", line);
        let reader = Reader::new(&source);
        let placed = read_unchecked(&reader);
        reader.finish(placed.map(|placed| placed.fault))
    }
}

impl From<u32> for Attempts {
    fn from(number: u32) -> Self {
        Attempts::These(vec![number])
    }
}

impl From<Vec<u32>> for Attempts {
    fn from(numbers: Vec<u32>) -> Self {
        Attempts::These(numbers)
    }
}

impl<const N: usize> From<[u32; N]> for Attempts {
    fn from(numbers: [u32; N]) -> Self {
        Attempts::These(numbers.to_vec())
    }
}

impl From<RangeInclusive<u32>> for Attempts {
    fn from(range: RangeInclusive<u32>) -> Self {
        Attempts::Span(*range.start(), *range.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{After, Lag, StatusReply, Truncation};

    /// Asserts that a built fault is the one that its line says.
    fn same(built: Fault, line: &str) {
        assert_eq!(line.parse::<Fault>().unwrap(), built, "{line}");
        assert_eq!(built.to_string(), line);
    }

    #[test]
    fn a_built_fault_equals_the_fault_of_the_same_line() {
        same(Fault::on("payment.charge").reply(Reply::Drop), "payment.charge#1 commit=now reply=drop");
        same(
            Fault::on("payment.charge")
                .attempt(3)
                .commit(Commit::Later(After::Requests(2)))
                .reply(Reply::hang()),
            "payment.charge#3 commit={later: {requests: 2}} reply={hang: {release: 3s}}",
        );
        same(
            Fault::on("email.send")
                .attempts([1, 3])
                .commit(Commit::Part(0.5))
                .caller(2)
                .chance(0.25)
                .optional(),
            "email.send#[1, 3] commit={part: 0.5} reply=ok caller=2 chance=0.25 optional",
        );
        same(
            Fault::on("payment.list").attempts(Attempts::Every).reply(Reply::Stale(Lag::Reads(1))),
            "payment.list#every commit=now reply={stale: {reads: 1}}",
        );
        same(
            Fault::on("payment.charge")
                .attempts(1..=3)
                .reply(Reply::Truncate(Truncation::Chunked))
                .any_effect(),
            "payment.charge#1..3 commit=now reply={truncate: chunked} where=any",
        );
        same(
            Fault::on("payment.charge").reply(Reply::hang_until_timeout()).field("order", "ord_1"),
            "payment.charge#1 commit=now reply={hang: until-timeout} where.order=ord_1",
        );
        let reply = StatusReply::new(500).header("X-Reason", "maintenance").body("{}").kept();
        same(
            Fault::on("payment.charge").commit(Commit::Never).reply(reply),
            "payment.charge#1 commit=never reply={status: 500, headers: {X-Reason: maintenance}, body: \"{}\", \
         kept: true}",
        );
    }

    #[test]
    fn the_last_call_of_a_setter_wins_and_field_conditions_add_up() {
        let fault = Fault::on("a.b").attempt(1).attempt(2).field("order", "x").field("amount", 5);
        assert_eq!(fault.trigger.attempts, Attempts::from(2));
        assert_eq!(fault.trigger.fields.len(), 2);
    }

    #[test]
    fn a_line_that_cannot_be_parsed_says_what_is_wrong_and_where() {
        let problems = "payment.charge#x reply=dorp".parse::<Fault>().unwrap_err().to_string();
        assert!(problems.contains("expected the number of an attempt"), "{problems}");
        assert!(problems.contains("dorp") && problems.contains("drop"), "{problems}");
        assert!("".parse::<Fault>().is_err());
    }
}

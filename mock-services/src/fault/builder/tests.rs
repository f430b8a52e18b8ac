use super::*;
use crate::fault::{After, Lag, Truncation};

/// Asserts that a built fault is the one that its line says.
fn same(built: Fault, line: &str) {
    assert_eq!(line.parse::<Fault>().unwrap(), built, "{line}");
    assert_eq!(built.to_string(), line);
}

#[test]
fn a_built_fault_equals_the_fault_of_the_same_line() {
    same(Fault::on("payment.charge").reply(Reply::Drop), "payment.charge#1 commit=now reply=drop");
    same(
        Fault::on("payment.charge").attempt(3).commit(Commit::Later(After::Requests(2))).reply(Reply::hang()),
        "payment.charge#3 commit={later: {requests: 2}} reply={hang: {release: 3s}}",
    );
    same(
        Fault::on("email.send").attempts([1, 3]).commit(Commit::Part(0.5)).caller(2).chance(0.25).optional(),
        "email.send#[1, 3] commit={part: 0.5} reply=ok caller=2 chance=0.25 optional",
    );
    same(
        Fault::on("payment.list").attempts(Attempts::Every).reply(Reply::Stale(Lag::Reads(1))),
        "payment.list#every commit=now reply={stale: {reads: 1}}",
    );
    same(
        Fault::on("payment.charge").attempts(1..=3).reply(Reply::Truncate(Truncation::Chunked)).any_effect(),
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

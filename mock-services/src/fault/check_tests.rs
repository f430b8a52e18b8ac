use yaml_reader::{Reader, Source};

use super::super::line::read_unchecked;
use super::*;

fn operations() -> Vec<Operation> {
    vec![
        Operation::write("payment.charge", &["order", "customer", "metadata.*"], &["order"]),
        Operation::read("payment.list", &["customer"]),
        Operation::write("email.send", &["to"], &["to"]).on_list(),
        Operation::read("email.ping", &[]),
    ]
}

fn fault(line: &str) -> Fault {
    let reader = Reader::new(&Source::new("line", line));
    let placed = read_unchecked(&reader);
    reader.finish(placed).unwrap_or_else(|problems| panic!("{problems}")).fault
}

fn objections(line: &str) -> Vec<Objection> {
    check(&fault(line), &operations(), Some(3))
}

/// The only objection to a line.
fn objection(line: &str) -> (FaultPart, String, String) {
    let mut all = objections(line);
    assert_eq!(all.len(), 1, "{line}: {all:?}");
    let Objection { part, message, help } = all.remove(0);
    (part, message, help)
}

#[test]
fn valid_faults_have_no_objections() {
    for line in [
        "payment.charge#1 commit=now reply=drop",
        "payment.charge#1..3 commit={later: {requests: 1}} reply={status: 504}",
        "payment.charge#every commit=never reply=ok where.metadata.order_id=o1 caller=3 chance=1",
        "payment.charge commit=now reply={status: 500, kept: true, headers: {X-Should-Retry: true}, body: \
         {error: {}}}",
        "payment.list#every reply={stale: {reads: 1}}",
        "payment.list reply={status: 429, retry_after: 1}",
        "email.send commit={part: 0.5} reply={hang: {release: 10m}}",
    ] {
        assert_eq!(objections(line), [], "{line}");
    }
}

#[test]
fn an_unknown_operation_is_shown_with_those_of_its_service() {
    let (part, message, help) = objection("payment.chrage reply=drop");
    assert_eq!(part, FaultPart::On);
    assert_eq!(message, "there is no operation `payment.chrage`");
    assert_eq!(help, "did you mean `payment.charge`? it can be `payment.charge` or `payment.list`");
    let (_, _, help) = objection("tickets.open reply=drop");
    assert_eq!(help, "it can be `payment.charge`, `payment.list`, `email.send` or `email.ping`");
}

#[test]
fn a_read_commits_nothing() {
    for (commit, word) in
        [("twice", "twice"), ("never", "never"), ("later", "later"), ("{part: 0.5}", "{part: 0.5}")]
    {
        let (part, message, help) = objection(&format!("payment.list commit={commit}"));
        assert_eq!(part, FaultPart::Commit);
        assert_eq!(message, format!("payment.list is a read: it commits nothing, so `{word}` cannot apply"));
        assert_eq!(help, "leave `commit` out, or put the fault on a write: `payment.charge` or `email.send`");
    }
}

#[test]
fn only_a_read_can_be_stale() {
    let (part, message, help) = objection("payment.charge reply={stale: 2s}");
    assert_eq!(part, FaultPart::Reply);
    assert_eq!(
        message,
        "payment.charge is a write, and only a read can be `stale`: a write is always decided on the \
         present state"
    );
    assert_eq!(help, "put the fault on a read: `payment.list` or `email.ping`");
}

#[test]
fn only_a_list_has_parts() {
    let (part, message, help) = objection("payment.charge commit={part: 0.5}");
    assert_eq!(part, FaultPart::Commit);
    assert_eq!(message, "payment.charge makes one effect, so no part of it can be committed");
    assert_eq!(help, "use `now` or `never`, or put the fault on an operation on a list: `email.send`");
}

#[test]
fn a_part_is_more_than_nothing_and_less_than_all() {
    for fraction in ["0", "1", "1.5", "-0.5"] {
        let (part, message, _) = objection(&format!("email.send commit={{part: {fraction}}}"));
        assert_eq!(part, FaultPart::Commit);
        assert!(message.starts_with("a part is more than nothing and less than all"), "{message}");
    }
    let mut nan = fault("email.send commit={part: 0.5}");
    nan.commit = Commit::Part(f64::NAN);
    assert_eq!(check(&nan, &operations(), None).len(), 1);
}

#[test]
fn what_waits_for_nothing_is_refused() {
    assert_eq!(
        objection("payment.charge commit={later: {requests: 0}}").1,
        "after 0 more requests is not later but now"
    );
    for never_seen in ["{requests: 0}", "0s"] {
        let (part, message, _) = objection(&format!("payment.charge commit={{reverts: {never_seen}}}"));
        assert_eq!(
            (part, message.as_str()),
            (FaultPart::Commit, "it would be gone before anybody can see it")
        );
    }
    assert_eq!(
        objection("payment.list reply={stale: {reads: 0}}").1,
        "a read that misses changes for 0 reads is not stale"
    );
}

#[test]
fn only_a_finished_write_can_have_a_kept_answer() {
    let (_, message, _) = objection("payment.list reply={status: 500, kept: true}");
    assert_eq!(message, "payment.list is a read: its answer is kept under no key, so `kept` cannot apply");
    let (part, message, _) = objection("payment.charge commit=later reply={status: 500, kept: true}");
    assert_eq!(part, FaultPart::Reply);
    assert!(
        message.contains("kept, the service has finished with this answer; later, it has not"),
        "{message}"
    );
}

#[test]
fn a_status_is_final_and_204_has_no_body() {
    for status in [0, 100, 199, 600, 65535] {
        let (part, message, _) = objection(&format!("payment.charge reply={{status: {status}}}"));
        assert_eq!((part, message), (FaultPart::Reply, format!("{status} is not a final status")));
    }
    assert_eq!(
        objection("payment.charge reply={status: 204, body: x}").1,
        "an answer with the status 204 has no body"
    );
}

#[test]
fn headers_that_would_break_the_answer_are_refused() {
    for (headers, message) in [
        ("{\"X Y\": a}", "`X Y` cannot be the name of a header"),
        ("{\"\": a}", "`` cannot be the name of a header"),
        ("{\"X:\": a}", "`X:` cannot be the name of a header"),
        ("{X-Ä: a}", "`X-Ä` cannot be the name of a header"),
        ("{content-length: 3}", "`content-length` is set by the wire and cannot be chosen"),
        ("{Transfer-Encoding: chunked}", "`Transfer-Encoding` is set by the wire and cannot be chosen"),
        ("{Connection: close}", "`Connection` is set by the wire and cannot be chosen"),
        (
            "{X-A: \"a\\r\\nB: c\"}",
            "the header `X-A` has a value with a line break or another control character",
        ),
        ("{X-A: \"a\\0\"}", "the header `X-A` has a value with a line break or another control character"),
    ] {
        let (part, found, _) =
            objection(&format!("payment.charge reply={{status: 503, headers: {headers}}}"));
        assert_eq!((part, found.as_str()), (FaultPart::Reply, message));
    }
}

#[test]
fn attempts_are_counted_from_1_and_upwards() {
    for (attempts, message) in [
        ("0", "there is no attempt 0: attempts are counted from 1"),
        ("[1, 0]", "there is no attempt 0: attempts are counted from 1"),
        ("0..2", "there is no attempt 0: attempts are counted from 1"),
        ("[]", "the list of attempts is empty, so this would never fire"),
        ("3..1", "3..1 holds no attempt: the first number is the larger"),
    ] {
        let (part, found, _) = objection(&format!("payment.charge#{attempts} reply=drop"));
        assert_eq!((part, found.as_str()), (FaultPart::Attempt, message));
    }
}

#[test]
fn a_chance_is_above_0_and_at_most_1() {
    for chance in ["0", "-0.1", "1.01"] {
        let (part, message, _) = objection(&format!("payment.charge reply=drop chance={chance}"));
        assert!(
            part == FaultPart::Chance && message.starts_with("a chance is above 0 and at most 1"),
            "{message}"
        );
    }
}

#[test]
fn a_caller_is_one_of_those_there_are() {
    assert_eq!(objection("payment.charge reply=drop caller=0").0, FaultPart::Caller);
    let (_, message, _) = objection("payment.charge reply=drop caller=4");
    assert_eq!(message, "there is no caller 4: callers are counted from 1, and the last is 3");
    assert_eq!(check(&fault("payment.charge reply=drop caller=4"), &operations(), None), []);
}

#[test]
fn a_condition_names_a_field_that_requests_have() {
    let (part, message, help) = objection("payment.charge reply=drop where.customer=c where.ordr=o");
    assert_eq!(part, FaultPart::Field(1));
    assert_eq!(message, "requests of payment.charge have no field `ordr`, so this would never fire");
    assert_eq!(help, "did you mean `order`? it can be `order`, `customer` or `metadata.*`");
    assert_eq!(objection("email.ping reply=drop where.x=1").2, "leave it out of `where`");
}

#[test]
fn no_answer_is_held_back_for_more_than_ten_minutes() {
    for reply in ["{delay: 601s}", "{drip: 11m}", "{hang: {release: 10.001m}}"] {
        let (part, message, _) = objection(&format!("payment.charge reply={reply}"));
        assert!(part == FaultPart::Reply && message.ends_with("is too long: at most 10m"), "{message}");
    }
}

#[test]
fn a_fault_that_can_never_fire_is_shown_with_the_one_in_its_way() {
    let faults = [
        fault("payment.charge#1 reply=drop"),
        fault("payment.charge#2 reply=drop"),
        fault("payment.charge#1..2 reply=reset"),
    ];
    let all = check_all(&faults, &operations(), None);
    let [(2, Objection { part: FaultPart::Attempt, message, .. })] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!(
        message,
        "this fault can never fire: an earlier one takes all of its attempts, `payment.charge#1 commit=now \
         reply=drop`"
    );
}

#[test]
fn several_objections_are_all_made() {
    assert_eq!(
        objections("payment.list#0 commit=never reply={status: 99, kept: true} caller=9 chance=2 where.x=1")
            .len(),
        7
    );
}

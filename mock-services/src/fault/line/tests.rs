use proptest::prelude::*;

use super::*;
use crate::fault::{Attempts, Commit, Reply};
use crate::service::{Fields, Value};

fn operations() -> Vec<Operation> {
    vec![
        Operation::write("payment.charge", &["order", "amount", "note"], &["order"]),
        Operation::read("payment.list", &["order"]),
    ]
}

fn read(line: &str) -> Result<Fault, Problems> {
    read_line(&Source::new("--fault", line), &operations(), Some(3))
}

fn problems(line: &str) -> String {
    match read(line) {
        Ok(fault) => panic!("{line} was read as {fault}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn a_line_is_a_fault() {
    let fault = read(
        "  payment.charge#1..3  commit=never reply={status: 503, retry_after: 2} \
        where.order=ord_1 where.amount=4999 caller=2 chance=0.2 optional ",
    )
    .unwrap();
    assert_eq!(fault.trigger.on, "payment.charge");
    assert_eq!(fault.trigger.attempts, Attempts::Span(1, 3));
    assert_eq!(fault.trigger.fields, Fields::new().with("order", "ord_1").with("amount", 4999));
    assert_eq!((fault.trigger.caller, fault.trigger.chance, fault.optional), (Some(2), Some(0.2), true));
    assert_eq!(fault.commit, Commit::Never);
    assert!(
        matches!(fault.reply, Reply::Status(reply) if (reply.status, reply.retry_after) == (503, Some(2)))
    );
}

#[test]
fn without_a_number_the_first_attempt_is_meant() {
    assert_eq!(read("payment.charge reply=drop").unwrap().trigger.attempts, Attempts::These(vec![1]));
}

#[test]
fn quotes_and_brackets_hold_spaces_together() {
    let note = |line: &str| read(line).unwrap().trigger.fields.get("note").cloned();
    assert_eq!(note("payment.charge reply=drop where.note=\"a } \\\" b\""), Some(Value::from("a } \" b")));
    assert_eq!(note("payment.charge reply=drop where.note='it''s me'"), Some(Value::from("it's me")));
    assert_eq!(note("payment.charge reply=drop where.note=O'Brien optional"), Some(Value::from("O'Brien")));
    assert_eq!(note("payment.charge reply=drop where={note: \"x y\"}"), Some(Value::from("x y")));
    let list = Value::from(vec!["a b".to_owned(), "c".to_owned()]);
    assert_eq!(note("payment.charge#[1, 2] reply=drop where.note=[a b, c]"), Some(list));
}

#[test]
fn a_problem_shows_the_line_with_a_caret_at_the_place() {
    let picture = "\
error: expected a duration, found the whole number 800
 --> --fault:1:30
  |
1 | payment.charge reply={delay: 800} comit=now
  |                              ^^^
  |
  = help: add a unit: 800ms, 800s or 800m

error: a fault has no key `comit`
 --> --fault:1:35
  |
1 | payment.charge reply={delay: 800} comit=now
  |                                   ^^^^^ unknown key
  |
  = help: did you mean `commit`? it can have `on`, `attempt`, `where`, `caller`, `chance`, `optional`, `commit` or `reply`";
    assert_eq!(problems("payment.charge reply={delay: 800} comit=now"), picture);
}

#[test]
fn the_problems_of_a_line_are_reported() {
    for (line, message, column) in [
        ("", "expected a fault, found nothing", 1),
        ("reply=drop", "a fault begins with its operation", 1),
        ("#1 reply=drop", "a fault begins with its operation", 1),
        ("payment.chrage reply=drop", "there is no operation `payment.chrage`", 1),
        ("payment.charge#0 reply=drop", "there is no attempt 0", 16),
        ("payment.charge# reply=drop", "expected the number of an attempt, found nothing", 16),
        ("payment.charge drop", "expected a name and a value, found `drop`", 16),
        ("payment.charge reply=drop reply=reset", "`reply` is given a second time", 27),
        ("payment.charge reply=drop where.order=a where.order=b", "`order` is given a second time", 41),
        ("payment.charge reply={status: 503", "unclosed bracket", 22),
        (
            "payment.charge reply= commit=now",
            "expected `ok`, `drop`, `reset`, `hang`, `truncate`, `garble` or `drip`, found nothing",
            22,
        ),
        ("payment.charge", "a fault without `commit` and `reply` changes nothing", 1),
        ("payment.charge reply=drop caller=4", "there is no caller 4", 34),
        ("payment.list commit=twice", "payment.list is a read", 21),
        ("payment.charge reply=drop where.ordr=1", "have no field `ordr`", 27),
    ] {
        let shown = problems(line);
        assert!(
            shown.contains(message) && shown.contains(&format!("--fault:1:{column}\n")),
            "{line}\n{shown}"
        );
    }
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(line in ".*", marks in "payment.charge(#[0-9.\\[, ]{0,4})? \
        [a-z.]{0,6}=['\"{}\\[\\]:, #a\\\\é]{0,12}") {
        let _ = read(&line).map_err(|problems| problems.to_string());
        let _ = read(&marks).map_err(|problems| problems.to_string());
    }
}

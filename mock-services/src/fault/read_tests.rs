use std::time::Duration;

use proptest::prelude::*;
use yaml_reader::listed;

use super::*;
use crate::fault::{CutPlace, Delay, Drip, Lag, Oversize, PlainWord, ReplyKind, StatusReply, Truncation};

fn operations() -> Vec<Operation> {
    vec![
        Operation::write("payment.charge", &["order", "amount", "to"], &["order"]),
        Operation::write("email.send", &["to"], &["to"]).on_list(),
        Operation::read("payment.list", &[]),
        Operation::write("model.generate", &[], &[]).generating(),
    ]
}

fn read(text: &str) -> Result<Vec<Fault>, Problems> {
    read_faults(&Source::new("faults.yaml", text), &operations(), None)
}

fn one(text: &str) -> Fault {
    match read(text) {
        Ok(faults) => <[Fault; 1]>::try_from(faults).unwrap().into_iter().next().unwrap(),
        Err(problems) => panic!("{problems}"),
    }
}

fn problems(text: &str) -> String {
    match read(text) {
        Ok(faults) => panic!("{text} was read as {faults:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn what_is_not_given_has_its_default() {
    let fault = one("- {on: payment.charge, reply: drop}");
    let trigger = Trigger {
        on: "payment.charge".to_owned(),
        attempts: Attempts::These(vec![1]),
        fields: Fields::new(),
        any_effect: false,
        caller: None,
        chance: None,
    };
    assert_eq!(fault, Fault { trigger, commit: Commit::Now, reply: Reply::Drop, optional: false });
    assert_eq!(one("- {on: payment.charge, commit: never}").reply, Reply::Ok);
}

#[test]
fn where_takes_conditions_or_any() {
    let any = one("- {on: payment.charge, where: any, reply: drop}").trigger;
    assert!(any.any_effect && any.fields.is_empty());
    assert!(!one("- {on: payment.charge, where: {order: any}, reply: drop}").trigger.any_effect);
    assert_problem("where: all, reply: drop", "expected conditions or `any`, found the text \"all\"", "");
}

#[test]
fn a_list_is_read_with_and_without_its_name() {
    assert_eq!(read("[]").unwrap(), []);
    assert_eq!(
        read(
            "faults:\n  - {on: payment.charge, reply: drop}\n  - {on: payment.charge, attempt: 2, reply: \
            reset}"
        )
        .unwrap()
        .len(),
        2
    );
    assert_eq!(
        read("{\"faults\": [{\"on\": \"payment.charge\", \"reply\": {\"status\": 503}}]}").unwrap().len(),
        1
    );
}

#[test]
fn every_form_of_attempt_is_read() {
    for (text, attempts) in [
        ("1", Attempts::These(vec![1])),
        ("[1, 2]", Attempts::These(vec![1, 2])),
        ("1..3", Attempts::Span(1, 3)),
        ("every", Attempts::Every),
    ] {
        assert_eq!(
            one(&format!("- {{on: payment.charge, attempt: {text}, reply: drop}}")).trigger.attempts,
            attempts
        );
    }
}

#[test]
fn every_form_of_commit_is_read() {
    for (text, commit) in [
        ("now", Commit::Now),
        ("never", Commit::Never),
        ("later", Commit::Later(After::Settled)),
        ("twice", Commit::Twice),
        ("{later: {requests: 2}}", Commit::Later(After::Requests(2))),
        ("{later: 2s}", Commit::Later(After::Time(Duration::from_secs(2)))),
        ("{part: 0.5}", Commit::Part(0.5)),
        ("{reverts: {requests: 3}}", Commit::Reverts(After::Requests(3))),
        ("{reverts: 2s}", Commit::Reverts(After::Time(Duration::from_secs(2)))),
    ] {
        assert_eq!(one(&format!("- {{on: email.send, commit: {text}}}")).commit, commit);
    }
}

#[test]
fn a_generated_answer_can_be_cut_at_a_place() {
    for place in CutPlace::ALL {
        let read = one(&format!("- {{on: model.generate, reply: {{truncate: {}}}}}", place.as_str()));
        assert_eq!(read.reply, Reply::Truncate(Truncation::At(place)));
    }
}

#[test]
fn every_form_of_reply_is_read() {
    let status = |status: StatusReply| Reply::Status(StatusReply { status: 503, ..status });
    let header = vec![("X-A".to_owned(), "1".to_owned())];
    for (text, reply) in [
        ("ok", Reply::Ok),
        ("drop", Reply::Drop),
        ("reset", Reply::Reset),
        ("hang", Reply::hang()),
        ("{hang: {release: 5s}}", Reply::hang_for(Duration::from_secs(5))),
        ("{hang: until-timeout}", Reply::hang_until_timeout()),
        ("truncate", Reply::Truncate(Truncation::Length)),
        ("{truncate: length}", Reply::Truncate(Truncation::Length)),
        ("{truncate: chunked}", Reply::Truncate(Truncation::Chunked)),
        ("{delay: {time: 2s, after: headers}}", Delay::Body(Duration::from_secs(2)).into()),
        ("garble", Reply::Garble),
        ("drip", Drip(Duration::from_secs(1)).into()),
        ("{drip: 2s}", Drip(Duration::from_secs(2)).into()),
        ("{delay: 800ms}", Delay::Answer(Duration::from_millis(800)).into()),
        ("{status: 503}", status(StatusReply::default())),
        (
            "{status: 503, headers: {X-A: 1}}",
            status(StatusReply { headers: header, ..StatusReply::default() }),
        ),
        (
            "{status: 503, body: \"{\"}",
            status(StatusReply { body: Some("{".to_owned()), ..StatusReply::default() }),
        ),
        (
            "{status: 503, body: {b: [1, x]}}",
            status(StatusReply { body: Some("{\"b\":[1,\"x\"]}".to_owned()), ..StatusReply::default() }),
        ),
        (
            "{status: 503, retry_after: 2}",
            status(StatusReply { retry_after: Some(2), ..StatusReply::default() }),
        ),
        (
            "{status: 503, retry_after: 1m}",
            status(StatusReply { retry_after: Some(60), ..StatusReply::default() }),
        ),
        ("{status: 503, kept: true}", status(StatusReply { kept: true, ..StatusReply::default() })),
    ] {
        assert_eq!(one(&format!("- {{on: payment.charge, reply: {text}}}")).reply, reply, "{text}");
    }
    for (text, lag) in
        [("{stale: {reads: 1}}", Lag::Reads(1)), ("{stale: 2s}", Lag::Time(Duration::from_secs(2)))]
    {
        assert_eq!(one(&format!("- {{on: payment.list, reply: {text}}}")).reply, Reply::Stale(lag));
    }
}

#[test]
fn the_rest_of_a_trigger_is_read() {
    let fault = one(
        "- {on: payment.charge, reply: ok, where: {order: o1, amount: 5, to: [a, 2]}, caller: 2, chance: \
         0.2, optional: true}",
    );
    let fields =
        Fields::new().with("order", "o1").with("amount", 5).with("to", vec!["a".to_owned(), "2".to_owned()]);
    assert_eq!(fault.trigger.fields, fields);
    assert_eq!((fault.trigger.caller, fault.trigger.chance, fault.optional), (Some(2), Some(0.2), true));
}

#[test]
fn all_problems_of_all_faults_are_reported_at_once() {
    let text = "\
faults:
  - on: payment.chrage
    reply: drop
  - on: payment.list
    commit: twice
    where:
      ordr: 1
  - on: payment.charge
    attempt: first
    reply: { delay: 800, hang: {} }
  - { on: payment.charge, atempt: 2, reply: drop }
";
    let picture = "\
error: there is no operation `payment.chrage`
 --> faults.yaml:2:9
  |
2 |   - on: payment.chrage
  |         ^^^^^^^^^^^^^^
  |
  = help: did you mean `payment.charge`? it can be `payment.charge` or `payment.list`

error: payment.list is a read: it commits nothing, so `twice` cannot apply
 --> faults.yaml:5:13
  |
5 |     commit: twice
  |             ^^^^^
  |
  = help: leave `commit` out, or put the fault on a write: `payment.charge`, `email.send` or `model.generate`

error: requests of payment.list have no field `ordr`, so this would never fire
 --> faults.yaml:7:7
  |
7 |       ordr: 1
  |       ^^^^^^^
  |
  = help: leave it out of `where`

error: expected the number of an attempt, found the text \"first\"
 --> faults.yaml:9:14
  |
9 |     attempt: first
  |              ^^^^^
  |
  = help: write 1, [1, 2], 1..3 or every

error: a reply is one thing, and this is several: `delay` and `hang`
  --> faults.yaml:10:12
   |
10 |     reply: { delay: 800, hang: {} }
   |            ^^^^^^^^^^^^^^^^^^^^^^^^

error: a fault has no key `atempt`
  --> faults.yaml:11:27
   |
11 |   - { on: payment.charge, atempt: 2, reply: drop }
   |                           ^^^^^^ unknown key
   |
   = help: did you mean `attempt`? it can have `on`, `attempt`, `where`, `caller`, `chance`, `optional`, `commit` or `reply`";
    assert_eq!(problems(text), picture);
}

/// What is said of a fault with this inside, and what helps.
fn assert_problem(inside: &str, message: &str, help: &str) {
    let shown = problems(&format!("- {{on: payment.charge, {inside}}}"));
    assert!(shown.starts_with(&format!("error: {message}\n")), "{shown}");
    if !help.is_empty() {
        assert!(shown.ends_with(&format!("= help: {help}")), "{shown}");
    }
    assert_eq!(shown.matches("error: ").count(), 1, "{shown}");
}

#[test]
fn a_malformed_trigger_is_reported() {
    assert_problem(
        "reply: ok, attempt: 1.5",
        "expected the number of an attempt, found the number 1.5",
        "write 1, [1, 2], 1..3 or every",
    );
    assert_problem("reply: ok, attempt: -1", "expected a whole number from 0 to 4294967295, found -1", "");
    assert_problem("reply: ok, attempt: [a]", "expected a whole number, found the text \"a\"", "");
    assert_problem("reply: ok, where: order", "expected conditions or `any`, found the text \"order\"", "");
    assert_problem(
        "reply: ok, where: {order: {a: 1}}",
        "expected a plain value for `order`, found a map",
        "",
    );
    assert_problem(
        "reply: ok, where: {amount: 0.5}",
        "expected a plain value for `amount`, found the number 0.5",
        "",
    );
    assert_problem("reply: ok, caller: me", "expected a whole number, found the text \"me\"", "");
    assert_problem("reply: ok, chance: often", "expected a number, found the text \"often\"", "");
    assert_problem(
        "reply: ok, optional: yes",
        "expected `true` or `false`, found the text \"yes\"",
        "write `true` or `false`; other words are texts",
    );
}

#[test]
fn a_malformed_commit_is_reported() {
    assert_problem(
        "commit: nver",
        "expected `now`, `never`, `later` or `twice`, found the text \"nver\"",
        "did you mean `never`?",
    );
    assert_problem(
        "commit: reverts",
        "`reverts` needs to know when it is gone",
        "write {reverts: {requests: 3}} or {reverts: 2s}",
    );
    assert_problem(
        "commit: {reverts: 3}",
        "`reverts` needs to know what is counted: requests or seconds",
        "write {reverts: {requests: 3}} or {reverts: 3s}",
    );
    assert_problem(
        "commit: {reverts: settle}",
        "expected a duration, found the text \"settle\"",
        "write it as a number with the unit ms, s or m: 800ms, 1.5s, 2m",
    );
    assert_problem("commit: part", "`part` needs to know how large a part", "write {part: 0.5}");
    assert_problem(
        "commit: {}",
        "`commit` needs `later`, `part` or `reverts`",
        "for example {later: 2s}, {part: 0.5} or {reverts: {requests: 3}}",
    );
    assert_problem(
        "commit: {later: 2s, part: 0.5}",
        "`commit` is one of `later`, `part` and `reverts`, not several",
        "keep one of them",
    );
    assert_problem(
        "commit: {later: 2}",
        "`later` needs to know what is counted: requests or seconds",
        "write {later: {requests: 2}} or {later: 2s}",
    );
    assert_problem(
        "commit: {later: {request: 2}}",
        "`later` has no key `request`",
        "did you mean `requests`? it can have `requests`",
    );
    assert_problem("commit: {later: {}}", "`later` needs the key `requests`", "");
}

#[test]
fn a_malformed_reply_is_reported() {
    let kinds = || ReplyKind::ALL.into_iter();
    let is_plain = |kind: &ReplyKind| matches!(kind.facts().plain, PlainWord::Means(_));
    let plain = listed(kinds().filter(is_plain).map(ReplyKind::as_str));
    assert_problem(
        "reply: dorp",
        &format!("expected {plain}, found the text \"dorp\""),
        "did you mean `drop`?",
    );
    assert_problem("reply: delay", "`delay` needs a value", "write {delay: 800ms}");
    assert_problem("reply: 503", "a status is not a reply by itself", "write {status: 503}");
    assert_problem("reply: {}", "`reply` is empty", "for example `drop`, {delay: 800ms} or {status: 503}");
    assert_problem(
        "reply: {delay: 800}",
        "expected a duration, found the whole number 800",
        "add a unit: 800ms, 800s or 800m",
    );
    assert_problem(
        "reply: {hang: 5s}",
        "expected {release: …} or `until-timeout`, found the text \"5s\"",
        "write {hang: {release: 5s}} to close the connection after that time, or {hang: until-timeout} to \
         wait until the client's own \
         timeout closes it",
    );
    assert_problem(
        "reply: {stale: 1}",
        "`stale` needs to know what is counted: reads or seconds",
        "write {stale: {reads: 1}} or {stale: 1s}",
    );
    assert_problem(
        "reply: {truncate: half}",
        "expected `length`, `chunked`, `word`, `arguments` or `end-marker`, found the text \"half\"",
        "",
    );
    assert_problem(
        "reply: {truncate: arguments}",
        "the answer to payment.charge is not generated by a model, so it cannot be cut at `arguments`",
        "use `truncate`, which cuts the middle of the body",
    );
    assert_problem("reply: {delay: {time: 2s}}", "`delay` needs the key `after`", "");
    assert_problem(
        "reply: {delay: {time: 2s, after: body}}",
        "expected `headers`, found the text \"body\"",
        "",
    );
    let has_key = |kind: &ReplyKind| kind.facts().value.as_ref().is_some_and(|value| !value.is_whole_map);
    let keys = listed(kinds().filter(has_key).map(ReplyKind::as_str).chain(["status"]));
    assert_problem(
        "reply: {headers: {a: b}}",
        "`reply` has no key `headers`",
        &format!("it can have {keys}"),
    );
    assert_problem("reply: {status: \"503\"}", "expected a whole number, found the text \"503\"", "");
    assert_problem("reply: {status: 503, headers: {a: [1]}}", "expected a text for `a`, found a list", "");
    assert_problem(
        "reply: {status: 503, body: }",
        "expected a body, found nothing",
        "write \"\" for an empty one, or leave it out",
    );
    assert_problem("reply: {status: 503, retry_after: 1.5s}", "`Retry-After` is sent in whole seconds", "");
    assert_problem(
        "reply: {status: 503, kpt: true}",
        "a `status` reply has no key `kpt`",
        "did you mean `kept`? it can have `status`, `headers`, `body`, `retry_after` or `kept`",
    );
}

#[test]
fn a_fault_that_changes_nothing_is_reported() {
    assert_problem(
        "attempt: 2",
        "a fault without `commit` and `reply` changes nothing",
        "say what is committed (`commit: never`), what the caller sees (`reply: drop`), or both",
    );
}

#[test]
fn a_file_that_is_not_a_list_is_reported() {
    assert!(problems("").contains("expected a list of faults, found nothing"));
    assert!(problems("drop").contains("expected a list of faults, found the text \"drop\""));
    assert!(problems("on: payment.charge\nreply: drop").contains("a list of faults has no key `on`"));
    assert!(problems("faults: 1").contains("expected a list of faults, found the whole number 1"));
    assert!(
        problems("- drop").contains("expected a fault (a map of keys and values), found the text \"drop\"")
    );
}

#[test]
fn a_list_that_is_too_long_is_reported() {
    let many = |count| {
        (1..=count)
            .map(|attempt| format!("- {{on: payment.charge, attempt: {attempt}, reply: drop}}\n"))
            .collect::<String>()
    };
    assert_eq!(read(&many(1000)).unwrap().len(), 1000);
    assert!(
        problems(&many(1001)).starts_with("error: there are 1001 faults here, and at most 1000 are read\n")
    );
}

proptest! {
    #[test]
    fn no_fault_makes_it_panic(inside in "(on|commit|reply|where|attempt|x): [\\[\\]{}a-z0-9:., -]{0,30}(, \
        (commit|reply): [\\[\\]{}a-z0-9:., -]{0,20})?") {
        let _ = read(&format!("- {{{inside}}}")).map_err(|problems| problems.to_string());
    }
}

#[test]
fn a_commit_can_come_between_two_times_and_a_reply_can_be_too_large() {
    let fault = one("- {on: payment.charge, commit: {later: 1s..5s}, reply: {oversize: 6MB}}");
    assert_eq!(fault.commit, Commit::LaterWithin(Duration::from_secs(1), Duration::from_secs(5)));
    assert_eq!(fault.reply, Oversize(6_000_000).into());
    assert_eq!(fault.to_string(), "payment.charge#1 commit={later: 1s..5s} reply={oversize: 6MB}");
    assert_problem(
        "commit: {later: 1..5s}",
        "expected two durations, found the text \"1..5s\"",
        "write both with their unit: {later: 1s..5s}",
    );
    assert_problem(
        "commit: {later: 5s..1s}",
        "no time lies between 5s and 1s: the first must be the shorter",
        "write {later: 1s..5s}",
    );
    assert_problem(
        "commit: {later: 2s..2s}",
        "no time lies between 2s and 2s: the first must be the shorter",
        "write {later: 2s}",
    );
    let size = "write it as a whole number with the unit KB, MB, KiB or MiB: {oversize: 6MB}";
    assert_problem("reply: {oversize: 6}", "expected a size, found the whole number 6", size);
    assert_problem("reply: {oversize: huge}", "expected a size, found the text \"huge\"", size);
    assert_problem("reply: oversize", "`oversize` needs a value", "write {oversize: 6MB}");
    for size in ["999B", "257MB"] {
        let shown = problems(&format!("- {{on: payment.charge, reply: {{oversize: {size}}}}}"));
        assert!(
            shown.contains(&format!("a reply of {size} cannot be sent: it can have 1KB to 256MB")),
            "{shown}"
        );
    }
}

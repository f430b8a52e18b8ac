use proptest::prelude::*;

use super::*;
use crate::custom::TICKETS;

fn problems(yaml: &str) -> String {
    match read(&Source::new("service.yaml", yaml)) {
        Ok(service) => panic!("{yaml}\nwas read as {service:?}"),
        Err(problems) => problems.to_string(),
    }
}

/// Checks the problem reported for a service with a creating operation `open` and this operation.
fn assert_problem(operation: &str, message: &str, help: &str) {
    let yaml = format!(
        "service: desk\noperations:\n  open: {{route: POST /t, fields: {{customer: body.customer}}, effect: \
         {{identity: [customer]}}, set: {{state: open}}}}\n  \
         other: {{{operation}}}\n"
    );
    let shown = problems(&yaml);
    assert!(shown.starts_with(&format!("error: {message}\n")), "{shown}");
    assert!(shown.contains(&format!("= help: {help}")) || help.is_empty(), "{shown}");
    assert_eq!(shown.matches("error: ").count(), 1, "{shown}");
}

#[test]
fn the_shipped_example_has_no_problems() {
    let tickets = read(&Source::new("tickets.yaml", TICKETS)).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(tickets.operations.len(), tickets.rules.len());
}

#[test]
fn all_problems_of_a_service_are_reported_at_once() {
    let yaml = "\
service: payment
idempotency: strpe
operations:
  open:
    route: POST /tickets
    fields: { customer: body.customer, subject: bdy.subject }
    required: [customer, subjct]
    effect: { identity: [custmer] }
    answer: { status: 404, body: { id: \"${id}\", customer: \"${customr}\" } }
  list:
    route: GET /tickets
    reads: opn
    colour: red
errors: { body: { error: \"${reason}\" } }
";
    let picture = "\
error: the name `payment` is taken
 --> service.yaml:1:10
  |
1 | service: payment
  |          ^^^^^^^
  |
  = help: choose a name other than `payment`, `email`, `deploy`, `records`, `web`, `model`, `approval`, `smtp` or `mcp`

error: expected an idempotency profile, found `strpe`
 --> service.yaml:2:14
  |
2 | idempotency: strpe
  |              ^^^^^
  |
  = help: did you mean `stripe`? `hapax list --profiles` shows them all

error: `bdy.subject` is not a place in a request
 --> service.yaml:6:49
  |
6 |     fields: { customer: body.customer, subject: bdy.subject }
  |                                                 ^^^^^^^^^^^
  |
  = help: write body.name, body.name.inner, query.name, path.name or header.Name

error: `required` names `subjct`, which is not a field
 --> service.yaml:7:26
  |
7 |     required: [customer, subjct]
  |                          ^^^^^^
  |
  = help: did you mean `subject`? it can be `customer` or `subject`

error: `identity` names `custmer`, which is not a field
 --> service.yaml:8:26
  |
8 |     effect: { identity: [custmer] }
  |                          ^^^^^^^
  |
  = help: did you mean `customer`? it can be `customer` or `subject`

error: expected a whole number from 200 to 299, found 404
 --> service.yaml:9:23
  |
9 |     answer: { status: 404, body: { id: \"${id}\", customer: \"${customr}\" } }
  |                       ^^^

error: `customr` is not defined here
 --> service.yaml:9:59
  |
9 |     answer: { status: 404, body: { id: \"${id}\", customer: \"${customr}\" } }
  |                                                           ^^^^^^^^^^^^
  |
  = help: did you mean `customer`? it can be `customer`, `subject`, `item`, `id`, `created_at` or `now`

error: there is no operation `opn`
  --> service.yaml:12:12
   |
12 |     reads: opn
   |            ^^^
   |
   = help: did you mean `open`? operations with an effect: `open`

error: the operation `list` has no key `colour`
  --> service.yaml:13:5
   |
13 |     colour: red
   |     ^^^^^^ unknown key
   |
   = help: it can have `route`, `effect`, `changes`, `reads`, `fields`, `required`, `each`, `set`, `shows`, \
   `unless`, `filter` or `answer`

error: `reason` is not defined here
  --> service.yaml:14:26
   |
14 | errors: { body: { error: \"${reason}\" } }
   |                          ^^^^^^^^^^^
   |
   = help: it can be `status`, `code` or `message`";
    assert_eq!(problems(yaml), picture);
}

#[test]
fn an_invalid_route_is_reported() {
    let form = "write it as POST /tickets/{id}/close";
    assert_problem("route: /t, reads: open", "a route is a method, a space and a path", form);
    assert_problem(
        "route: FETCH /t, reads: open",
        "`FETCH` is not a method: it can be `GET`, `POST`, `PUT`, `PATCH` or `DELETE`",
        form,
    );
    assert_problem(
        "route: 'GET /a/{x}/{x}', reads: open",
        "each name in braces consists of letters, digits and underscores and occurs once",
        form,
    );
    assert_problem("route: GET t, reads: open", "a path begins with a slash", form);
    assert_problem("reads: open", "the operation `other` needs the key `route`", "");
}

#[test]
fn two_operations_cannot_have_one_route() {
    let help = "a request could match either; change one of the two";
    assert_problem("route: POST /t, reads: open", "`open` and `other` have the same route", help);
}

#[test]
fn an_operation_has_exactly_one_action() {
    let help = "`effect` creates an item, `changes` updates an item of another operation, `reads` \
                returns items";
    assert_problem(
        "route: GET /x",
        "the operation `other` needs exactly one of `effect`, `changes` and `reads`",
        help,
    );
    assert_problem(
        "route: 'POST /t/{id}', reads: open, changes: open, set: {state: closed}",
        "the operation `other` needs exactly one of `effect`, `changes` and `reads`",
        help,
    );
}

#[test]
fn only_created_items_can_be_changed_and_read() {
    assert_problem(
        "route: GET /x, reads: other",
        "`reads` names `other`, which creates no items",
        "operations with an effect: `open`",
    );
    assert_problem(
        "route: GET /x, reads: opne",
        "there is no operation `opne`",
        "did you mean `open`? operations with an effect: `open`",
    );
    assert_problem(
        "route: 'POST /t/{id}', changes: open",
        "`other` sets no field",
        "list the new values under `set`: {state: closed}",
    );
    assert_problem(
        "route: POST /x, changes: open, set: {state: closed}",
        "an operation with `changes` needs `{id}` in its route, to select the item",
        "write it as POST /tickets/{id}/close",
    );
    assert_problem(
        "route: GET /x, fields: {a: query.a}, effect: {identity: [a]}",
        "`other` changes items, which a GET must not do",
        "use POST, PUT, PATCH or DELETE",
    );
}

#[test]
fn a_key_of_another_kind_of_operation_is_reported() {
    assert_problem(
        "route: GET /x, reads: open, set: {a: 1}",
        "`set` is only allowed with `effect` or `changes`",
        "remove it",
    );
    assert_problem(
        "route: GET /x, reads: open, shows: {}",
        "`shows` is only allowed with `effect`",
        "remove it",
    );
    assert_problem(
        "route: GET /x, reads: open, unless: {state: open}",
        "`unless` is only allowed with `changes`",
        "remove it",
    );
    assert_problem(
        "route: 'POST /t/{id}', changes: open, set: {state: x}, filter: [state]",
        "`filter` is only allowed with `reads`",
        "remove it",
    );
    assert_problem(
        "route: 'GET /t/{id}', reads: open, filter: [state]",
        "`filter` only applies to lists, and `{id}` selects one item",
        "remove it",
    );
}

#[test]
fn unknown_names_are_reported() {
    assert_problem(
        "route: GET /x, reads: open, filter: [stat]",
        "`filter` names `stat`, which items of `open` do not have",
        "did you mean `state`?",
    );
    assert_problem(
        "route: 'POST /t/{id}', changes: open, set: {state: x}, unless: {colour: red}",
        "`unless` names `colour`, which items of `open` do not have",
        "it can be `customer` or `state`",
    );
    assert_problem(
        "route: GET /x, reads: open, answer: {body: '${item}'}",
        "`item` is not defined here",
        "did you mean `items`?",
    );
    assert_problem(
        "route: GET /x, reads: open, answer: {body: '${items'}",
        "`${` is not closed",
        "close it with `}`",
    );
    assert_problem(
        "route: 'POST /t/{id}', changes: open, set: {state: '${x}'}",
        "`x` is not defined here",
        "",
    );
    assert_problem(
        "route: POST /x, fields: {a: body.a}, effect: {identity: [a]}, shows: {a: '${b}'}",
        "`b` is not defined here",
        "did you mean `a`? it can be `a`, `id` or `created_at`",
    );
}

#[test]
fn invalid_fields_are_reported() {
    assert_problem("route: GET /x, reads: open, fields: {a: body.a}", "a GET has no body", "use query.name");
    assert_problem(
        "route: 'GET /x/{b}', reads: open, fields: {a: path.c}",
        "the route has no `{c}`",
        "the names in braces are `b`",
    );
    assert_problem(
        "route: GET /x, reads: open, fields: {now: query.a}",
        "a field cannot be called `now`",
        "the service sets it itself",
    );
    assert_problem(
        "route: GET /x, reads: open, fields: {'a b': query.a}",
        "`a b` cannot be the name of a field",
        "",
    );
    assert_problem(
        "route: 'POST /x/{id}', fields: {a: body.a}, effect: {identity: [a]}",
        "the path of this operation cannot contain `{id}`",
        "the service sets it itself",
    );
    assert_problem(
        "route: POST /x, fields: {a: body.a}, effect: {identity: [a]}, set: {a: 1}",
        "`a` is a field of the request",
        "the item already holds the value of the request; choose another name",
    );
    assert_problem(
        "route: POST /x, effect: {identity: []}",
        "`identity` must name at least one field",
        "list the fields",
    );
    assert_problem(
        "route: POST /x, fields: {a: body.a}, effect: {identity: [a], id: 'a b'}",
        "ids cannot begin with `a b`",
        "",
    );
    assert_problem(
        "route: POST /x, fields: {a: body.a}, each: {a: body.b}, effect: {identity: [a]}",
        "`a` is already a field",
        "keep one of the two",
    );
    assert_problem(
        "route: POST /x, fields: {a: body.a}, each: [b], effect: {identity: [a]}",
        "expected a map of keys and values, found a list",
        "",
    );
}

#[test]
fn a_204_has_no_body() {
    assert_problem(
        "route: GET /x, reads: open, answer: {status: 204, body: {}}",
        "an answer with the status 204 has no body",
        "remove `body`, or use the status 200",
    );
}

#[test]
fn an_invalid_top_level_is_reported() {
    for (yaml, message) in [
        ("", "expected a service (a map of keys and values), found nothing"),
        ("service: x\noperations: {}", "a service needs at least one operation"),
        ("service: X\noperations: {}", "`X` cannot be the name of a service"),
        ("operations: {}", "a service needs the key `service`"),
        ("service: x", "a service needs the key `operations`"),
        ("service: x\nkey: 'a b'\noperations: {}", "`a b` cannot be the name of a header"),
        ("service: x\nkey: path.id\noperations: {}", "`path.id` cannot be the place of the key"),
        ("service: x\nkey: body.\noperations: {}", "`body.` cannot be the place of the key"),
        ("service: x\noperations: {'a b': {}}", "`a b` cannot be the name of an operation"),
        (
            "service: x\nkey: X-Key\nidempotency: {key: header.X-Once}\noperations: {}",
            "the place of the key is said twice",
        ),
        (
            "service: x\nkey: body.once\noperations: {a: {route: POST /a, fields: {b: query.b}, effect: {identity: [b]}}}",
            "no request of this service has a body, so there is no key in it",
        ),
        (
            "service: x\nidempotency: {key: body.once}\noperations: {a: {route: POST /a, fields: {b: query.b}, effect: \
             {identity: [b]}}}",
            "no request of this service has a body, so there is no key in it",
        ),
    ] {
        let shown = problems(yaml);
        assert!(shown.contains(&format!("error: {message}\n")), "{shown}");
    }
}

#[test]
fn a_service_with_too_many_operations_is_reported() {
    let many: String = (0..201).map(|number| format!("  o{number}: {{}}\n")).collect();
    let shown = problems(&format!("service: x\noperations:\n{many}"));
    assert!(shown.starts_with("error: there are 201 operations here, and at most 200 are read\n"), "{shown}");
}

proptest! {
    #[test]
    fn no_operation_makes_the_reader_panic(
        inside in "(route|fields|effect|changes|reads|set|each|answer|shows|unless|filter): \
                   [\\[\\]{}a-z0-9:., $/'-]{0,30}",
    ) {
        let yaml = format!("service: desk\noperations:\n  open: {{route: POST /t, fields: {{a: body.a}}, \
                            effect: {{identity: [a]}}}}\n  other: {{{inside}}}\n");
        let _ = read(&Source::new("service.yaml", yaml)).map_err(|problems| problems.to_string());
    }

    #[test]
    fn no_edit_of_the_example_makes_the_reader_panic(
        at in 0usize..2000,
        mark in "[{}\\[\\]:,$'\"a\n ]{1,3}",
    ) {
        let mut yaml = TICKETS.to_owned();
        let at = at.min(yaml.len());
        yaml.insert_str(at, &mark);
        let _ = read(&Source::new("service.yaml", yaml)).map_err(|problems| problems.to_string());
    }
}

#[test]
fn the_hosts_of_a_service_are_read_and_checked() {
    let yaml = |hosts: &str| {
        format!(
            "service: desk\nhosts: {hosts}\noperations: {{open: {{route: POST /t, fields: {{who: body.who}}, \
             effect: {{identity: [who]}}}}}}\n"
        )
    };
    let read_hosts =
        read(&Source::new("service.yaml", yaml("[desk.example, \"*.desk.test\"]"))).unwrap().hosts;
    assert_eq!(
        read_hosts.iter().map(|host| host.as_str()).collect::<Vec<_>>(),
        ["desk.example", "*.desk.test"]
    );
    let shown = problems(&yaml("[\"*\", a.example, A.example]"));
    assert!(shown.contains("error: `*` matches every host\n --> service.yaml:2:9"), "{shown}");
    assert!(shown.contains("error: the host `a.example` is listed twice"), "{shown}");
}

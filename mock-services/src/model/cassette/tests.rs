use proptest::prelude::*;
use serde_json::json;

use super::*;

const PATH: &str = "/v1/chat/completions";

fn request(text: &str) -> Value {
    json!({"model": "gpt-5-mini", "messages": [{"role": "user", "content": text}], "user": "someone"})
}

fn line(text: &str, body: &str) -> String {
    let answer = RecordedAnswer {
        path: PATH.to_owned(),
        request: request(text),
        status: 200,
        content_type: "application/json".to_owned(),
        body: body.to_owned(),
    };
    serde_json::to_string(&answer).unwrap()
}

fn cassette() -> Cassette {
    let lines = [
        line("refund the charge ch_3sfPOZv57aM1", r#"{"call": {"charge": "ch_3sfPOZv57aM1"}}"#),
        line("hello", "first"),
        line("hello", "second"),
    ];
    Cassette::read(&format!("{}\n", lines.join("\n\n"))).unwrap()
}

#[test]
fn a_request_is_found_by_its_content_and_not_by_its_place() {
    let cassette = cassette();
    let body = |text: &str, before: u64| cassette.find(PATH, &request(text), before).unwrap().body;
    assert_eq!(body("hello", 0), "first");
    assert_eq!(body("hello", 1), "second");
    assert_eq!(body("hello", 7), "second");
    assert_eq!(body("refund the charge ch_3sfPOZv57aM1", 0), r#"{"call": {"charge": "ch_3sfPOZv57aM1"}}"#);
}

#[test]
fn ids_of_another_run_are_those_of_this_run_in_the_answer() {
    let found = cassette().find(PATH, &request("refund the charge ch_9kLmOZv57bN2"), 0).unwrap();
    assert_eq!(found.body, r#"{"call": {"charge": "ch_9kLmOZv57bN2"}}"#);
    assert_eq!(found.line, 1);
}

#[test]
fn a_name_stands_for_one_other_name_throughout() {
    let body = line("move ch_1aaaaaaaaaa to ch_2bbbbbbbbbb", "ch_1aaaaaaaaaa");
    let cassette = Cassette::read(&body).unwrap();
    let find = |text: &str| cassette.find(PATH, &request(text), 0);
    assert_eq!(find("move ch_3cccccccccc to ch_4dddddddddd").unwrap().body, "ch_3cccccccccc");
    let why = find("move ch_3cccccccccc to ch_3cccccccccc").unwrap_err();
    assert!(why.contains("stands for another one"), "{why}");
}

#[test]
fn a_request_that_is_not_there_is_compared_with_the_nearest() {
    let cassette = cassette();
    let why = cassette.find(PATH, &request("hello again"), 0).unwrap_err();
    assert!(why.contains("line") && why.contains("hello\"") && why.contains("hello again"), "{why}");
    let why = cassette.find("/v1/messages", &request("hello"), 0).unwrap_err();
    assert!(why.ends_with("is for /v1/chat/completions, not for /v1/messages"), "{why}");
    let other = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]});
    assert!(cassette.find(PATH, &other, 0).unwrap_err().contains("asks the model `gpt-5-mini`"));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error = Cassette::read(&format!("{}\nnonsense\n", line("hello", "first"))).unwrap_err();
    assert_eq!(error.line, 2);
    assert_eq!(Cassette::read("").unwrap_err().problem, "it has no answers");
    let unknown = r#"{"path": "/", "request": {}, "status": 200, "content_type": "", "body": "", "more": 1}"#;
    assert!(Cassette::read(unknown).unwrap_err().problem.contains("more"));
}

proptest! {
    #[test]
    fn the_same_names_give_the_body_as_it_was_recorded(body in ".{0,80}") {
        let (_, names) = without_names(&body);
        prop_assert!(body.contains(NAME) || renamed(&body, &names, &names) == body);
    }
}

use proptest::prelude::*;

use super::super::exchange::{AnswerClaim, StatusRange};
use super::*;
use crate::domain::ClaimedOutcome;

const DONE: &str = r#"{"outcome": "done", "message": "charged"}"#;

fn plain(claim: AnswerClaim) -> HttpExchange {
    HttpExchange { claim, ..HttpExchange::default() }
}

fn chat(claim: AnswerClaim) -> HttpExchange {
    HttpExchange { format: ExchangeFormat::OpenAi, ..plain(claim) }
}

fn at(pointer: &str) -> AnswerClaim {
    AnswerClaim { pointer: Some(pointer.to_owned()), ..AnswerClaim::default() }
}

fn placed() -> AnswerClaim {
    let patterns = [("placed", ClaimedOutcome::Done), ("not placed", ClaimedOutcome::NotDone)];
    AnswerClaim {
        patterns: patterns.map(|(text, is)| (text.to_owned(), is)).to_vec(),
        ..AnswerClaim::default()
    }
}

fn statuses(listed: &[(&str, ClaimedOutcome)]) -> AnswerClaim {
    let statuses = listed.iter().map(|(text, is)| (StatusRange::parse(text).unwrap(), *is)).collect();
    AnswerClaim { statuses, ..AnswerClaim::default() }
}

fn claim(exchange: &HttpExchange, status: u16, content: AnswerContent) -> ReceivedClaim {
    in_answer(exchange, &AgentAnswer { status, location: None, content }, &Hide::default())
}

fn in_body(exchange: &HttpExchange, body: &str) -> ReceivedClaim {
    claim(exchange, 200, AnswerContent::Body(body.to_owned()))
}

fn in_stream(exchange: &HttpExchange, data: &[&str], has_end_marker: bool) -> ReceivedClaim {
    let data = data.iter().map(|data| (*data).to_owned()).collect();
    claim(exchange, 200, AnswerContent::Events(EventStream { data, has_end_marker }))
}

#[test]
fn an_answer_that_is_no_success_claims_nothing() {
    let exchange = HttpExchange::default();
    for status in [302, 404, 500] {
        let claim = claim(&exchange, status, AnswerContent::Body(DONE.to_owned()));
        assert_eq!((claim.outcome, claim.problem.is_some()), (None, true), "{status}");
    }
    assert_eq!(
        claim(&exchange, 202, AnswerContent::Body(DONE.to_owned())).outcome,
        Some(ClaimedOutcome::Done)
    );
    for exchange in [plain(placed()), chat(AnswerClaim::default()), plain(at("/answer"))] {
        let body = r#"{"answer": "placed", "choices": [{"message": {"content": "placed"}}]}"#;
        assert_eq!(claim(&exchange, 500, AnswerContent::Body(body.to_owned())).outcome, None);
    }
}

#[test]
fn a_pointer_says_where_the_text_is() {
    let of = |body: &str| in_body(&plain(at("/result/text")), body);
    let found = of(r#"{"result": {"text": "Charged.\n{\"outcome\": \"done\", \"message\": \"charged\"}"}}"#);
    let message = "charged".to_owned();
    let origin = Some(ClaimOrigin::Answer);
    let expected =
        ReceivedClaim { outcome: Some(ClaimedOutcome::Done), message, origin, ..ReceivedClaim::default() };
    assert_eq!(found, expected);
    assert_eq!(of(&format!(r#"{{"result": {{"text": {DONE}}}}}"#)), expected);
    let both = AnswerClaim { pointer: Some("/answer".to_owned()), ..placed() };
    let of_both = |body: &str| in_body(&plain(both.clone()), body).outcome;
    assert_eq!(of_both(r#"{"answer": "not placed", "log": "placed"}"#), Some(ClaimedOutcome::NotDone));
    assert_eq!(of_both(r#"{"answer": "hm", "log": "placed"}"#), None);
}

#[test]
fn a_listed_status_counts_and_one_status_goes_before_its_class() {
    use ClaimedOutcome::{Done, NotDone, Unknown};
    let listed = statuses(&[("2xx", Unknown), ("200", Done), ("409", NotDone)]);
    let of = |exchange: &HttpExchange, status| {
        claim(exchange, status, AnswerContent::Body(r#"{"outcome": "done"}"#.to_owned())).outcome
    };
    let only = plain(listed);
    assert_eq!(
        [200, 201, 409, 500].map(|status| of(&only, status)),
        [Some(Done), Some(Unknown), Some(NotDone), None]
    );
    let with_text = plain(AnswerClaim { patterns: placed().patterns, ..statuses(&[("409", NotDone)]) });
    assert_eq!(in_body(&with_text, "placed").outcome, Some(Done));
    assert_eq!([409, 500].map(|status| of(&with_text, status)), [Some(NotDone), None]);
}

#[test]
fn a_status_is_one_or_a_class() {
    assert!(["100", "599", "1xx", "5xx"].iter().all(|text| StatusRange::parse(text).is_some()));
    for text in ["", "0xx", "6xx", "xx", "99", "600", "+20", "+xx", "2x", "02xx", "2XX", "ok"] {
        assert_eq!(StatusRange::parse(text), None, "{text}");
    }
}

#[test]
fn the_events_of_a_stream_are_put_together() {
    let plain_stream = HttpExchange::default();
    assert_eq!(in_stream(&plain_stream, &["working", DONE], false).outcome, Some(ClaimedOutcome::Done));
    assert_eq!(in_stream(&plain(placed()), &["pla", "ced"], false).outcome, None);
    let parts = [r#"{"text": "pla"}"#, "{}", r#"{"text": null}"#, r#"{"text": "ced"}"#];
    let pointed = plain(AnswerClaim { pointer: Some("/text".to_owned()), ..placed() });
    assert_eq!(in_stream(&pointed, &parts, true).outcome, Some(ClaimedOutcome::Done));
    let object = r#"{"text": {"outcome": "unknown"}}"#;
    assert_eq!(
        in_stream(&plain(at("/text")), &[parts[0], object], false).outcome,
        Some(ClaimedOutcome::Unknown)
    );
}

#[test]
fn a_chat_completion_is_read_as_a_whole_and_in_parts() {
    let completion = |content: &str| format!(r#"{{"choices": [{{"message": {{"content": {content}}}}}]}}"#);
    let claims = chat(AnswerClaim::default());
    let text = r#""Charged.\n{\"outcome\": \"done\"}""#;
    assert_eq!(in_body(&claims, &completion(text)).outcome, Some(ClaimedOutcome::Done));
    let parts = r#"[{"type": "text", "text": "order pla"}, {"type": "text", "text": "ced"}]"#;
    assert_eq!(in_body(&chat(placed()), &completion(parts)).outcome, Some(ClaimedOutcome::Done));
    let deltas = [
        r#"{"choices": [{"delta": {"role": "assistant", "content": null}}]}"#,
        r#"{"choices": [{"delta": {"content": "order pla"}, "finish_reason": null}]}"#,
        r#"{"choices": [{"delta": {"content": "ced"}, "finish_reason": null}]}"#,
        r#"{"choices": [{"delta": {}, "finish_reason": "stop"}]}"#,
        r#"{"choices": [], "usage": {"total_tokens": 5}}"#,
    ];
    assert_eq!(in_stream(&chat(placed()), &deltas, false).outcome, Some(ClaimedOutcome::Done));
    assert_eq!(in_stream(&chat(placed()), &deltas[..3], true).outcome, Some(ClaimedOutcome::Done));
}

#[test]
fn an_answer_without_a_claim_says_why() {
    let claims = [
        in_body(&plain(at("/answer")), "not JSON"),
        in_body(&plain(at("/answer")), r#"{"result": "placed"}"#),
        in_body(&plain(at("/answer")), r#"{"answer": 5}"#),
        in_body(&plain(at("/answer")), r#"{"answer": "done"}"#),
        in_body(&plain(at("/answer")), r#"{"answer": {"outcome": "not-done", "outcome": "done"}}"#),
        in_body(&plain(placed()), "sorry"),
        in_body(&plain(statuses(&[("201", ClaimedOutcome::Done)])), DONE),
        in_body(&chat(placed()), r#"{"choices": [{"message": {"content": null}}]}"#),
        in_body(&chat(placed()), r#"{"error": {"message": "placed"}}"#),
        in_stream(&HttpExchange::default(), &[], true),
        in_stream(&plain(at("/text")), &["placed"], true),
        in_stream(&plain(at("/text")), &["{}"], true),
        in_stream(&chat(placed()), &[r#"{"choices": [{"delta": {"content": "placed"}}]}"#], false),
        in_stream(&chat(placed()), &[r#"{"choices": [{"delta": {"content": "placed"}}]}"#, "{\"err"], true),
        in_stream(
            &chat(placed()),
            &[
                r#"{"choices": [{"delta": {"content": "placed"}}]}"#,
                r#"{"error": {"message": "overloaded"}}"#,
            ],
            true,
        ),
    ];
    let problems: Vec<String> = claims
        .into_iter()
        .map(|claim| {
            assert_eq!(claim.outcome, None, "{claim:?}");
            claim.problem.unwrap()
        })
        .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

proptest! {
    #[test]
    fn no_answer_makes_it_panic(body in "(.|\n|\\{\"choices\":\\[)*", pointer in "/[a-z~/0]*") {
        for exchange in [plain(at(&pointer)), plain(placed()), chat(AnswerClaim::default())] {
            let _ = in_body(&exchange, &body);
            let _ = in_stream(&exchange, &[&body], true);
        }
    }
}

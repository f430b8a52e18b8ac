use serde_json::json;

use super::*;
use crate::model::api;
use crate::model::conversation::{Calling, Generation, ModelApi, Question, ToolCall};
use crate::service::{Context, Ids};

const APIS: [ModelApi; 3] = [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages];

fn body(api: ModelApi, stream: bool, generation: &Generation) -> String {
    let question = Question {
        api,
        model: "m".to_owned(),
        turns: Vec::new(),
        tools: Vec::new(),
        calling: Calling::Allowed,
        schema: None,
        stream,
        stream_usage: true,
        previous: None,
        is_stored: false,
        echoed: serde_json::Map::new(),
    };
    let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) };
    String::from_utf8(api::answer(&question, generation, &context).written().body).unwrap()
}

fn generation() -> Generation {
    let arguments = json!({ "amount": 4999, "order": "ord_1001" });
    let call = ToolCall { id: "c1".to_owned(), name: "charge".to_owned(), arguments };
    Generation { text: "Charging the customer.".to_owned(), calls: vec![call] }
}

fn cut(body: &str, place: CutPlace) -> Option<&str> {
    position(body.as_bytes(), place).map(|at| &body[..at])
}

#[test]
fn a_stream_is_cut_inside_a_word_inside_the_arguments_and_before_its_end() {
    for api in APIS {
        let body = body(api, true, &generation());
        let word = cut(&body, CutPlace::Word).unwrap();
        assert!(word.ends_with("\n\n") && word.contains("Chargi") && !word.contains("ng "), "{word}");
        let arguments = cut(&body, CutPlace::Arguments).unwrap();
        assert!(arguments.ends_with("\n\n") && arguments.contains("amo"), "{arguments}");
        assert!(!arguments.contains("01\\\""), "{arguments}");
        let end = cut(&body, CutPlace::EndMarker).unwrap();
        let marker = &body[end.len()..];
        assert_eq!(marker.matches("\n\n").count(), 1, "{marker}");
        assert!(end.len() > arguments.len());
    }
}

#[test]
fn an_object_is_cut_inside_the_value() {
    for api in APIS {
        let body = body(api, false, &generation());
        let word = cut(&body, CutPlace::Word).unwrap();
        assert!(word.ends_with("Charging th"), "{word}");
        let arguments = cut(&body, CutPlace::Arguments).unwrap();
        assert!(arguments.contains("amount") && !arguments.contains("1001"), "{arguments}");
        assert_eq!(cut(&body, CutPlace::EndMarker), body.strip_suffix('}'));
    }
}

#[test]
fn an_answer_without_the_place_is_not_cut() {
    for (api, stream) in APIS.into_iter().flat_map(|api| [(api, true), (api, false)]) {
        let text = body(api, stream, &Generation::text("Done."));
        assert_eq!(cut(&text, CutPlace::Arguments), None, "{text}");
        let call = Generation { text: String::new(), ..generation() };
        let call = body(api, stream, &call);
        assert_eq!(cut(&call, CutPlace::Word), None, "{call}");
    }
}

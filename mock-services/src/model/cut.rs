//! The places at which a fault can cut an answer: found in its bytes, so that they are found in a recorded
//! answer, too.

use serde_json::Value;

use crate::service::CutPlace;

/// What an event of a stream has.
#[derive(Debug, PartialEq, Eq)]
enum EventPart {
    /// A piece of the text.
    Text(String),
    /// A piece of the arguments of a tool call.
    Arguments,
    /// The end of the stream.
    EndMarker,
    /// Anything else.
    Other,
}

/// Where this body is cut; `None` if it does not have the place. A stream is cut after an event, as it is when
/// its sender fails; an object is cut in the middle of the value.
pub(super) fn position(body: &[u8], place: CutPlace) -> Option<usize> {
    match body.first() {
        Some(b'{') => position_in_object(body, place),
        Some(b'[') => position_in_stream(body, place, ARRAY_SEPARATOR),
        _ => position_in_stream(body, place, "\n\n"),
    }
}

/// What stands between two parts of a stream that is one array.
pub(super) const ARRAY_SEPARATOR: &str = ",\r\n";

fn position_in_stream(body: &[u8], place: CutPlace, separator: &str) -> Option<usize> {
    let mut ends: Vec<(usize, EventPart)> = Vec::new();
    let mut end = 0;
    for event in std::str::from_utf8(body).ok()?.split_inclusive(separator) {
        end += event.len();
        ends.push((end, part(event)));
    }
    match place {
        CutPlace::Word => {
            let pieces = ends.into_iter().filter_map(|(end, part)| match part {
                EventPart::Text(text) => Some((end, text)),
                EventPart::Arguments | EventPart::EndMarker | EventPart::Other => None,
            });
            inside_word(&pieces.collect::<Vec<_>>())
        }
        CutPlace::Arguments => {
            let pieces = ends.into_iter().filter(|(_, part)| *part == EventPart::Arguments);
            before_last_piece(&pieces.map(|(end, _)| end).collect::<Vec<_>>())
        }
        CutPlace::EndMarker => {
            let marker = ends.iter().position(|(_, part)| *part == EventPart::EndMarker)?;
            ends.get(marker.checked_sub(1)?).map(|(end, _)| *end)
        }
    }
}

/// The end of the piece in the middle. One piece is whole: nothing of it is missing if it is sent.
fn before_last_piece(ends: &[usize]) -> Option<usize> {
    (ends.len() > 1).then(|| ends[(ends.len() - 1) / 2])
}

/// The end of a piece that ends inside a word, or otherwise that of the piece in the middle.
fn inside_word(pieces: &[(usize, String)]) -> Option<usize> {
    let is_inside = |pair: &&[(usize, String)]| {
        pair[0].1.ends_with(char::is_alphanumeric) && pair[1].1.starts_with(char::is_alphanumeric)
    };
    let inside = pieces.windows(2).find(is_inside).map(|pair| pair[0].0);
    inside.or_else(|| before_last_piece(&pieces.iter().map(|(end, _)| *end).collect::<Vec<_>>()))
}

fn part(event: &str) -> EventPart {
    let in_array = event.starts_with(['[', '{']).then(|| {
        let event = event.trim_end_matches(ARRAY_SEPARATOR);
        event.strip_prefix('[').unwrap_or(event)
    });
    let data = in_array.or_else(|| event.lines().find_map(|line| line.strip_prefix("data:")));
    let Some(data) = data else { return EventPart::Other };
    if data.trim() == "[DONE]" {
        return EventPart::EndMarker;
    }
    // The last part of an array has the end of the array after it.
    let mut values = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let data = values.next().and_then(Result::ok).unwrap_or_default();
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let piece = |value: &Value| text(value).map_or(EventPart::Other, EventPart::Text);
    let arguments = |value: &Value| text(value).map(|_| EventPart::Arguments);
    let chat = &data["choices"][0]["delta"];
    let gemini = &data["candidates"][0];
    match data["type"].as_str() {
        None if !gemini.is_null() && !gemini["finishReason"].is_null() => EventPart::EndMarker,
        None if gemini["content"]["parts"][0]["thought"] == Value::Bool(true) => EventPart::Other,
        None if !gemini.is_null() => piece(&gemini["content"]["parts"][0]["text"]),
        Some("message_stop" | "response.completed") => EventPart::EndMarker,
        Some("response.output_text.delta") => piece(&data["delta"]),
        Some("response.function_call_arguments.delta") => EventPart::Arguments,
        Some("content_block_delta") => {
            arguments(&data["delta"]["partial_json"]).unwrap_or_else(|| piece(&data["delta"]["text"]))
        }
        None => arguments(&chat["tool_calls"][0]["function"]["arguments"])
            .unwrap_or_else(|| piece(&chat["content"])),
        Some(_) => EventPart::Other,
    }
}

fn position_in_object(body: &[u8], place: CutPlace) -> Option<usize> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let message = &answer["choices"][0]["message"];
    let mut blocks = [items(&answer["content"]), items(&answer["output"])].concat();
    blocks.extend(items(&answer["candidates"][0]["content"]["parts"]));
    blocks.retain(|block| block["thought"] != Value::Bool(true));
    let values: Vec<Value> = match place {
        CutPlace::EndMarker => return body.len().checked_sub(1),
        CutPlace::Word => {
            let texts = blocks.iter().flat_map(|block| {
                let parts = items(&block["content"]).into_iter().map(|part| part["text"].clone());
                parts.chain([block["text"].clone()]).collect::<Vec<Value>>()
            });
            texts.chain([message["content"].clone()]).collect()
        }
        CutPlace::Arguments => {
            let calls = items(&message["tool_calls"]).into_iter();
            let calls = calls.map(|call| call["function"]["arguments"].clone());
            calls
                .chain(blocks.iter().flat_map(|block| {
                    [&block["arguments"], &block["input"], &block["functionCall"]["args"]].map(Value::clone)
                }))
                .collect()
        }
    };
    let value = values.into_iter().find(|value| !value.is_null())?.to_string();
    let at = memchr::memmem::find(body, value.as_bytes())?;
    (value.len() > 3).then_some(at + value.len() / 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::api;
    use crate::model::conversation::{
        CallForm, Calling, Generation, ModelApi, Question, StreamForm, ToolCall,
    };
    use crate::service::{Context, Ids};

    const APIS: [ModelApi; 3] = [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages];
    const ALL_APIS: [ModelApi; 4] =
        [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages, ModelApi::Gemini];

    fn body(api: ModelApi, stream: bool, generation: &Generation) -> String {
        let question = Question {
            api,
            model: "m".to_owned(),
            turns: Vec::new(),
            tools: Vec::new(),
            calling: Calling::Allowed,
            schema: None,
            stop: Vec::new(),
            stream: stream.then_some(StreamForm::Events),
            stream_usage: true,
            previous: None,
            is_stored: false,
            reasons: false,
            echoed: serde_json::Map::new(),
            is_full: false,
        };
        let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) };
        String::from_utf8(api::answer(&question, generation, &context).written().body).unwrap()
    }

    fn generation() -> Generation {
        let arguments = json!({ "amount": 4999, "order": "ord_1001" });
        let call =
            ToolCall { id: "c1".to_owned(), name: "charge".to_owned(), arguments, form: CallForm::Function };
        Generation { text: "Charging the customer.".to_owned(), calls: vec![call], ..Generation::default() }
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
    fn a_stream_of_gemini_has_its_calls_in_one_piece() {
        let events = body(ModelApi::Gemini, true, &generation());
        let array = {
            let values = events.split("data: ").filter(|event| !event.is_empty()).map(str::trim);
            format!("[{}]", values.collect::<Vec<_>>().join(ARRAY_SEPARATOR))
        };
        for body in [events, array] {
            let word = cut(&body, CutPlace::Word).unwrap();
            assert!(word.contains("Chargi") && !word.contains("ng "), "{word}");
            assert_eq!(cut(&body, CutPlace::Arguments), None);
            let end = cut(&body, CutPlace::EndMarker).unwrap();
            assert!(end.contains("ord_1001") && !end.contains("finishReason"), "{end}");
        }
    }

    #[test]
    fn an_object_is_cut_inside_the_value() {
        for api in ALL_APIS {
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
        for (api, stream) in ALL_APIS.into_iter().flat_map(|api| [(api, true), (api, false)]) {
            let text = body(api, stream, &Generation::text("Done."));
            assert_eq!(cut(&text, CutPlace::Arguments), None, "{text}");
            let call = Generation { text: String::new(), ..generation() };
            let call = body(api, stream, &call);
            assert_eq!(cut(&call, CutPlace::Word), None, "{call}");
        }
    }
}

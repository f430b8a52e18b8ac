//! Reads one `--expect` of the command line: `payment.refund:order=7,amount=4999*2`. Problems point at the
//! position in the argument.

use mock_services::examples;
use yaml_reader::{Key, Node, NodeKind, Problems, Reader, Source, Span, shown};

use crate::scenario::expect::check_carried;
use crate::scenario::expect::times::unidentified;
use crate::scenario::known::KnownServices;

/// How an `--expect` is written.
fn form() -> String {
    format!("write it as EFFECT:FIELD=VALUE,FIELD=VALUE, for example {}", examples::EXPECTED)
}

/// The largest number of times that an effect can be expected.
const MAX_TIMES: u32 = 100;
/// Fields that are numbers; all others are texts, even where the value looks like a number.
const NUMBER_FIELDS: [&str; 4] = ["amount", "quantity", "by", "value"];

/// An expected effect from the command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpectedEffect {
    /// Its name.
    pub(super) effect: String,
    /// Its fields.
    pub(super) fields: Vec<(Key, Node)>,
    /// How many times.
    pub(super) times: u32,
}

/// Reads an `--expect`.
pub(super) fn read(known: &KnownServices, text: &str) -> Result<ExpectedEffect, Problems> {
    let reader = Reader::new(&Source::new("--expect", text));
    let (rest, times) = times(&reader, text);
    let effect_end = rest.find(':').unwrap_or(rest.len());
    let place = Span::new(0, effect_end);
    let name = Node::new(NodeKind::Text(rest[..effect_end].to_owned()), place);
    let effect = if effect_end == 0 {
        reader.report_with_help(place, "expected an effect, found nothing", form());
        None
    } else {
        known.effect(&reader, &name)
    };
    let fields = if effect_end < rest.len() { fields(&reader, rest, effect_end + 1) } else { Vec::new() };
    if let Some((effect, carried)) = effect {
        fields.iter().for_each(|(key, _)| check_carried(&reader, effect, carried, key));
        if let Some(message) =
            unidentified(known, effect, |name| fields.iter().any(|(key, _)| key.name == name), times)
        {
            let help = format!(
                "write one --expect for each: {}; a scenario file can list the values with `each`",
                examples::EXPECTED_TWICE
            );
            reader.report_with_help(Span::new(rest.len(), text.len()), message, help);
        }
    }
    reader.finish(effect.map(|(effect, _)| ExpectedEffect { effect: effect.to_owned(), fields, times }))
}

/// The text before `*N`, and N.
fn times<'a>(reader: &Reader, text: &'a str) -> (&'a str, u32) {
    let Some((rest, digits)) = text.rsplit_once('*') else { return (text, 1) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return (text, 1);
    }
    let times = digits.parse().ok().filter(|times| (1..=MAX_TIMES).contains(times));
    if times.is_none() {
        let help = format!(
            "write *1 to *{MAX_TIMES}, or remove it for once; put a value that ends like this in \"quotes\""
        );
        reader.report_with_help(
            Span::new(rest.len(), text.len()),
            format!("`*{}` is not a valid number of times", shown(digits)),
            help,
        );
    }
    (rest, times.unwrap_or(1))
}

/// `name=value,name="value, with a comma"` from this byte on.
fn fields(reader: &Reader, text: &str, from: usize) -> Vec<(Key, Node)> {
    let mut fields: Vec<(Key, Node)> = Vec::new();
    let mut at = from;
    loop {
        let rest = &text[at..];
        let part_end = at + rest.find(',').unwrap_or(rest.len());
        let Some(equals) =
            rest.find('=').map(|found| at + found).filter(|equals| *equals > at && *equals < part_end)
        else {
            let found = text[at..part_end].trim();
            let found = if found.is_empty() { "nothing".to_owned() } else { format!("`{}`", shown(found)) };
            reader.report_with_help(
                Span::new(at, part_end),
                format!("expected a field and its value, found {found}"),
                form(),
            );
            return fields;
        };
        let key = Key { name: text[at..equals].trim().to_owned(), span: Span::new(at, equals) };
        let Some((value, end)) = value(reader, text, equals + 1) else { return fields };
        let span = Span::new(equals + 1, end);
        if fields.iter().any(|(have, _)| have.name == key.name) {
            let message = format!("`{}` is given twice", shown(&key.name));
            reader.report_with_help(key.span, message, "remove one of them");
        } else {
            let kind = kind(&key.name, value);
            fields.push((key, Node::new(kind, span)));
        }
        if end >= text.len() {
            return fields;
        }
        at = end + 1;
    }
}

/// The value that begins at this byte, and where it ends: at a comma, or at the end.
fn value(reader: &Reader, text: &str, at: usize) -> Option<(String, usize)> {
    let rest = &text[at..];
    if !rest.starts_with('"') {
        let end = at + rest.find(',').unwrap_or(rest.len());
        let plain = text[at..end].to_owned();
        if plain.is_empty() {
            reader.report_with_help(
                Span::new(at, at),
                "expected a value, found nothing",
                "write \"\" for an empty text",
            );
            return None;
        }
        return Some((plain, end));
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let read = values.next().and_then(Result::ok);
    let end = at + values.byte_offset();
    match read {
        Some(quoted) if end == text.len() || text[end..].starts_with(',') => Some((quoted, end)),
        _ => {
            let help = "inside quotes, write \\\" for a quote and \\\\ for a backslash; put a comma after \
                        the closing quote";
            reader.report_with_help(Span::new(at, text.len()), "this quoted text is not valid", help);
            None
        }
    }
}

fn kind(name: &str, value: String) -> NodeKind {
    match value.parse::<i64>() {
        Ok(number) if NUMBER_FIELDS.contains(&name) && number.to_string() == value => {
            NodeKind::Integer(number)
        }
        _ => NodeKind::Text(value),
    }
}

//! The body of a request: as JSON, without what is not part of its identity, and as fields.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::distinct_json::DistinctJson;
use crate::service::{self, Fields, Request};

/// The largest number of fields of one body that faults and the ledger can name.
const MAX_FIELDS: usize = 100;
/// The longest text of a field, in bytes. A longer text is cut, and its hash is added.
const MAX_TEXT_BYTES: usize = 2_000;
/// The longest body after its content encoding is undone, in bytes.
const MAX_DECODED_BYTES: u64 = 8 * 1024 * 1024;
/// How deep the names of a form can be nested: `a[b][c]` has three levels.
const MAX_FORM_DEPTH: usize = 8;

/// Names in a body that carry an idempotency key. They are not part of the identity of an effect.
const KEY_FIELDS: [&str; 6] = [
    "idempotency_key",
    "idempotencyKey",
    "IdempotencyKey",
    "ClientToken",
    "clientToken",
    "ClientRequestToken",
];

/// Content types of structures that are not text. What such a body says is not known.
const BINARY_STRUCTURES: [&str; 6] = ["msgpack", "cbor", "protobuf", "bson", "avro", "grpc"];

/// The body as JSON: `null` if there is none, an object for a form, and a text for anything else. The error says
/// which kind of body cannot be read.
pub(super) fn content(request: &Request) -> Result<Value, String> {
    let bytes = decoded(request)?;
    let kind = request.header_value("content-type").unwrap_or_default();
    if let Some(structure) = BINARY_STRUCTURES.iter().find(|name| kind.to_ascii_lowercase().contains(**name))
    {
        return Err(format!("a body in {structure}"));
    }
    if let Err(error) = serde_json::from_slice::<DistinctJson>(&bytes)
        && error.is_data()
    {
        return Err("a JSON object with two members of one name".to_owned());
    }
    Ok(whole_numbers(value(kind, &bytes)))
}

fn value(kind: &str, bytes: &[u8]) -> Value {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Value::Null;
    }
    let lower = kind.to_ascii_lowercase();
    if lower.starts_with("application/x-www-form-urlencoded") && !is_structure(bytes) {
        return form(form_urlencoded::parse(bytes).into_owned());
    }
    if lower.starts_with("multipart/form-data")
        && let Some(parts) = multipart(kind, bytes)
    {
        return form(parts.into_iter());
    }
    if (lower.contains("json") || is_structure(bytes))
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return value;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => Value::from(format!("{} bytes, sha256 {}", bytes.len(), digest(bytes))),
    }
}

/// The body without its content encodings, the last of which is undone first.
fn decoded(request: &Request) -> Result<Cow<'_, [u8]>, String> {
    let mut bytes = Cow::Borrowed(request.bytes());
    let encodings = request.header_value("content-encoding").unwrap_or_default();
    for encoding in encodings.split(',').rev().map(str::trim).filter(|encoding| !encoding.is_empty()) {
        let mut plain = Vec::new();
        let limit = MAX_DECODED_BYTES + 1;
        let read = match encoding.to_ascii_lowercase().as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => MultiGzDecoder::new(&*bytes).take(limit).read_to_end(&mut plain),
            "deflate" => ZlibDecoder::new(&*bytes).take(limit).read_to_end(&mut plain),
            other => return Err(format!("a body with the content encoding {other}")),
        };
        if read.is_err() || plain.len() as u64 > MAX_DECODED_BYTES {
            return Err(format!(
                "a body that is not {encoding}, although its content encoding says so, or is too long"
            ));
        }
        bytes = Cow::Owned(plain);
    }
    Ok(bytes)
}

/// The value with `3` for `3.0`: both are the same number.
fn whole_numbers(value: Value) -> Value {
    /// The largest number up to which every integer is exact in JSON.
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "it is a whole number in the range of i64")]
            Some(float) if !number.is_i64() && float.fract() == 0.0 && float.abs() <= LARGEST => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(entries) => {
            entries.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect()
        }
        other => other,
    }
}

/// The idempotency key in the body of a request.
pub(super) fn key_in_body(request: &Request) -> Option<String> {
    let content = content(request).ok()?;
    let key = KEY_FIELDS.iter().find_map(|name| content.get(name))?;
    match key {
        Value::String(key) => Some(key.clone()),
        Value::Number(key) => Some(key.to_string()),
        _ => None,
    }
}

/// The body without the key and the ignored names: a name at any depth, or the whole path of one: `meta.time`.
pub(super) fn without_ignored(content: &Value, ignore: &[String]) -> Value {
    let mut kept = content.clone();
    if let Value::Object(entries) = &mut kept {
        entries.retain(|name, _| !KEY_FIELDS.contains(&name.as_str()));
    }
    remove(&mut kept, "", ignore);
    kept
}

fn remove(value: &mut Value, path: &str, ignore: &[String]) {
    match value {
        Value::Object(entries) => {
            let whole = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            entries.retain(|name, _| !ignore.iter().any(|other| other == name || *other == whole(name)));
            for (name, value) in entries.iter_mut() {
                let path = whole(name);
                remove(value, &path, ignore);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, path, ignore)),
        _ => {}
    }
}

/// Adds `body` and one field for each value of the body.
pub(super) fn add_fields(fields: &mut Fields, content: &Value) {
    match content {
        Value::Null => {}
        Value::String(text) => fields.set("body", cut(text)),
        other => fields.set("body", cut(&other.to_string())),
    }
    add_values(fields, "body", content);
}

/// Adds one field for each name of a query: `query.order`.
pub(super) fn add_query_fields(fields: &mut Fields, query: &[(String, String)]) {
    add_values(fields, "query", &form(query.iter().cloned()));
}

fn add_values(fields: &mut Fields, path: &str, value: &Value) {
    let is_plain = |item: &Value| matches!(item, Value::String(_) | Value::Number(_) | Value::Bool(_));
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                add_values(fields, &format!("{path}.{name}"), value);
            }
        }
        Value::Array(items) if path != "body" && items.iter().all(is_plain) => {
            let texts: Vec<String> = items.iter().map(|item| cut(&text(item))).collect();
            add(fields, path, service::Value::List(texts));
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                add_values(fields, &format!("{path}.{number}"), item);
            }
        }
        Value::Null => {}
        plain if path != "body" => add(fields, path, field(plain)),
        _ => {}
    }
}

fn add(fields: &mut Fields, name: &str, value: service::Value) {
    if fields.len() < MAX_FIELDS {
        fields.set(name, value);
    }
}

fn field(value: &Value) -> service::Value {
    match value {
        Value::Bool(flag) => service::Value::Bool(*flag),
        other => match other.as_i64() {
            Some(number) => service::Value::Number(number),
            None => service::Value::from(cut(&text(other))),
        },
    }
}

/// The value as text: a string unchanged, anything else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text; a long one is cut, and its hash is added, so that different texts stay different.
fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let end = (0..=MAX_TEXT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… (sha256 {})", &text[..end], digest(text.as_bytes()))
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Whether the bytes begin like a JSON object or array.
fn is_structure(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|first| matches!(first, b'{' | b'['))
}

/// The pairs of a form as an object: `a[b]=1` is `{"a": {"b": "1"}}`, and `a[]=1&a[]=2` a list, as `a=1&a=2` is.
fn form(pairs: impl Iterator<Item = (String, String)>) -> Value {
    let mut all = Map::new();
    for (name, value) in pairs {
        let (first, rest) = name.split_once('[').map_or((name.as_str(), ""), |(first, rest)| (first, rest));
        let inner: Vec<&str> = rest.strip_suffix(']').map_or(Vec::new(), |rest| rest.split("][").collect());
        let is_nested = !rest.is_empty() && !inner.is_empty() && inner.len() < MAX_FORM_DEPTH;
        let path = if is_nested { [&[first], inner.as_slice()].concat() } else { vec![name.as_str()] };
        insert(&mut all, &path, Value::from(value));
    }
    Value::Object(all)
}

fn insert(entries: &mut Map<String, Value>, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    let rest = if rest == [""] { &[] } else { rest };
    match (entries.get_mut(*first), rest.is_empty()) {
        (None, true) if path.len() > 1 => {
            entries.insert((*first).to_owned(), Value::Array(vec![value]));
        }
        (None, true) => {
            entries.insert((*first).to_owned(), value);
        }
        (Some(Value::Array(items)), true) => items.push(value),
        (Some(other), true) => *other = Value::Array(vec![other.take(), value]),
        (None, false) => {
            let mut inner = Map::new();
            insert(&mut inner, rest, value);
            entries.insert((*first).to_owned(), Value::Object(inner));
        }
        (Some(Value::Object(inner)), false) => insert(inner, rest, value),
        // The same name has a plain value already: the name stays as it was sent.
        (Some(_), false) => {
            entries.insert(path.join("."), value);
        }
    }
}

/// The parts of a `multipart/form-data` body: names and values. The value of a file is its name and its hash, and
/// the boundary, which differs in every request, is left out.
fn multipart(kind: &str, bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let boundary = parameter(kind, "boundary")?;
    let marker = format!("--{boundary}");
    let mut parts = Vec::new();
    for part in split(bytes, marker.as_bytes()).into_iter().skip(1) {
        if part.starts_with(b"--") {
            break;
        }
        let part = part.strip_prefix(b"\r\n").unwrap_or(part);
        let part = part.strip_suffix(b"\r\n").unwrap_or(part);
        let at = part.windows(4).position(|window| window == b"\r\n\r\n")?;
        let (head, value) = (String::from_utf8_lossy(&part[..at]), &part[at + 4..]);
        let disposition =
            head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-disposition"))?;
        let name = parameter(disposition, "name")?;
        let value = match (parameter(disposition, "filename"), std::str::from_utf8(value)) {
            (None, Ok(text)) => text.to_owned(),
            (file, _) => {
                format!("file {}, sha256 {}", file.unwrap_or_default(), digest(value))
            }
        };
        parts.push((name, value));
    }
    Some(parts)
}

/// The value of a parameter of a header: `boundary=x` or `name="x"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|parameter| {
        let (have, value) = parameter.trim().split_once('=')?;
        let value = value.trim().trim_matches('"');
        have.eq_ignore_ascii_case(name).then(|| percent_decode_str(value).decode_utf8_lossy().into_owned())
    })
}

fn split<'b>(bytes: &'b [u8], marker: &[u8]) -> Vec<&'b [u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, marker) {
        parts.push(&rest[..at]);
        rest = &rest[at + marker.len()..];
    }
    parts.push(rest);
    parts
}

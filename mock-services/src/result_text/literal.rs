//! Values as Python and JavaScript print them: `{'id': None}`, `{ id: undefined }`. It reads only maps and lists; a
//! text alone is prose.

use serde_json::{Map, Number, Value};

/// A deeper value is not read.
const MAX_DEPTH: usize = 64;

/// The value of a text that is one map, list or quoted text.
pub(super) fn parse(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[', '(', '\'']) {
        return None;
    }
    let mut reader = LiteralReader { rest: text };
    let value = reader.value(MAX_DEPTH)?;
    reader.skip_space();
    reader.rest.is_empty().then_some(value)
}

struct LiteralReader<'a> {
    rest: &'a str,
}

impl LiteralReader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a character, if it is the next one.
    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match self.rest.chars().next()? {
            '{' => self.map(depth),
            '[' => self.list('[', ']', depth),
            '(' => self.list('(', ')', depth),
            '\'' | '"' | '`' => self.text().map(Value::String),
            _ => self.word(),
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut map = Map::new();
        while !self.take('}') {
            self.skip_space();
            let name = match self.rest.chars().next()? {
                '\'' | '"' => self.text()?,
                _ => self.name()?,
            };
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth)?;
            map.insert(name, value);
            if !self.take(',') {
                return self.take('}').then_some(Value::Object(map));
            }
        }
        Some(Value::Object(map))
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Option<Value> {
        self.take(open);
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value(depth)?);
            if !self.take(',') {
                return self.take(close).then_some(Value::Array(items));
            }
        }
        Some(Value::Array(items))
    }

    fn text(&mut self) -> Option<String> {
        let mut characters = self.rest.char_indices();
        let (_, quote) = characters.next()?;
        let mut text = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    other => text.push(other),
                },
                _ if character == quote => {
                    self.rest = &self.rest[at + character.len_utf8()..];
                    return Some(text);
                }
                _ => text.push(character),
            }
        }
        None
    }

    fn name(&mut self) -> Option<String> {
        let is_end = |character: char| !(character.is_alphanumeric() || "_$-.".contains(character));
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// A number, or a word with a meaning.
    fn word(&mut self) -> Option<Value> {
        let is_end = |character: char| !(character.is_alphanumeric() || "+-._".contains(character));
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let value = match word {
            "None" | "null" | "undefined" => Value::Null,
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            number => match number.parse::<i64>() {
                Ok(number) => Value::from(number),
                Err(_) => Value::Number(Number::from_f64(number.parse().ok()?)?),
            },
        };
        self.rest = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_python_and_javascript_are_read() {
        for (text, value) in [
            ("{'a': 'it\\'s', \"b\": [1, 2.5, True, None]}", json!({"a": "it's", "b": [1, 2.5, true, null]})),
            ("{ a: undefined, b_c: { d: 'x' }, }", json!({"a": null, "b_c": {"d": "x"}})),
            ("('a', 1)", json!(["a", 1])),
            ("'quoted'", json!("quoted")),
            ("{}", json!({})),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
    }

    #[test]
    fn prose_is_not_a_value() {
        for text in
            ["charged 4999", "'quoted' and more", "{a}", "{'a': datetime(2026)}", "[1, 2", "(see below)"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }
}

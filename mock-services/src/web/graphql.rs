//! GraphQL over POST: whether a request only reads, and what its mutations are called and given.

use serde_json::{Map, Value};

/// How deep the values of arguments can be nested.
const MAX_DEPTH: usize = 32;
/// The largest document that is read, in tokens.
const MAX_TOKENS: usize = 20_000;

/// What a GraphQL request asks for.
#[derive(Debug, PartialEq)]
pub(super) enum GraphQl {
    /// A query or a subscription, with the names of its fields.
    Read(Vec<String>),
    /// A mutation: the names of its fields, and the arguments of each.
    Mutation(Map<String, Value>),
}

/// The GraphQL operation in the body of a request; `None` if it is not GraphQL, or cannot be read.
pub(super) fn operation(content: &Value) -> Option<GraphQl> {
    let document = tokens(content.get("query")?.as_str()?)?;
    let begins = ["{", "query", "mutation", "subscription", "fragment"];
    document.first().filter(|first| begins.contains(&first.text.as_str()))?;
    let wanted = content.get("operationName").and_then(Value::as_str);
    let nothing = Map::new();
    let variables = content.get("variables").and_then(Value::as_object).unwrap_or(&nothing);
    let mut parser = Parser { tokens: &document, at: 0, variables };
    let mut operations = Vec::new();
    while parser.peek().is_some() {
        operations.extend(parser.definition()?);
    }
    let found = match wanted {
        Some(wanted) => operations.into_iter().find(|operation| operation.name.as_deref() == Some(wanted)),
        None if operations.len() == 1 => operations.pop(),
        None => None,
    }?;
    Some(if found.is_mutation {
        GraphQl::Mutation(found.fields.into_iter().collect())
    } else {
        GraphQl::Read(found.fields.into_iter().map(|(name, _)| name).collect())
    })
}

struct GraphQlToken {
    text: String,
    is_string: bool,
}

/// The tokens of a document, without comments and commas.
fn tokens(text: &str) -> Option<Vec<GraphQlToken>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some(first) = rest.chars().next() {
        if all.len() > MAX_TOKENS {
            return None;
        }
        if first.is_whitespace() || first == ',' {
            rest = &rest[first.len_utf8()..];
        } else if first == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(block) = rest.strip_prefix("\"\"\"") {
            let end = block.find("\"\"\"")?;
            all.push(GraphQlToken { text: block[..end].trim().to_owned(), is_string: true });
            rest = &block[end + 3..];
        } else if first == '"' {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            all.push(GraphQlToken { text: values.next()?.ok()?, is_string: true });
            rest = &rest[values.byte_offset()..];
        } else {
            let is_part = |letter: char| letter.is_alphanumeric() || "_-.+".contains(letter);
            let end = match rest.find(|letter| !is_part(letter)) {
                _ if rest.starts_with("...") => 3,
                Some(0) => first.len_utf8(),
                Some(end) => end,
                None => rest.len(),
            };
            all.push(GraphQlToken { text: rest[..end].to_owned(), is_string: false });
            rest = &rest[end..];
        }
    }
    Some(all)
}

struct GraphQlOperation {
    name: Option<String>,
    is_mutation: bool,
    fields: Vec<(String, Value)>,
}

struct Parser<'d> {
    tokens: &'d [GraphQlToken],
    at: usize,
    variables: &'d Map<String, Value>,
}

impl<'d> Parser<'d> {
    fn peek(&self) -> Option<&'d str> {
        self.tokens.get(self.at).map(|token| token.text.as_str())
    }

    fn next(&mut self) -> Option<&'d GraphQlToken> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token)
    }

    /// Whether the next token is this one, which is then read.
    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.tokens.get(self.at).is_some_and(|token| !token.is_string && token.text == text);
        self.at += usize::from(is_next);
        is_next
    }

    /// An operation, or nothing for a fragment.
    fn definition(&mut self) -> Option<Option<GraphQlOperation>> {
        let kind = match self.peek()? {
            "{" => "query",
            "query" | "mutation" | "subscription" | "fragment" => self.next()?.text.as_str(),
            _ => return None,
        };
        let name = self.peek().filter(|name| !["{", "(", "@"].contains(name)).map(str::to_owned);
        // Variables, directives, and the type of a fragment.
        while self.peek()? != "{" {
            if !self.skip_group("(", ")") {
                self.next()?;
            }
        }
        let start = self.at;
        if !self.skip_group("{", "}") {
            return None;
        }
        let end = std::mem::replace(&mut self.at, start + 1);
        let mut fields = Vec::new();
        if kind != "fragment" {
            while self.at + 1 < end {
                fields.extend(self.field()?);
            }
        }
        self.at = end;
        Some((kind != "fragment").then_some(GraphQlOperation {
            name,
            is_mutation: kind == "mutation",
            fields,
        }))
    }

    /// Skips what stands between two brackets, if the first one is next.
    fn skip_group(&mut self, open: &str, close: &str) -> bool {
        if !self.takes(open) {
            return false;
        }
        let mut depth = 1;
        while let Some(token) = self.next() {
            if !token.is_string && token.text == open {
                depth += 1;
            } else if !token.is_string && token.text == close {
                depth -= 1;
            }
            if depth == 0 {
                return true;
            }
        }
        false
    }

    /// A field of an operation with its arguments; nothing for a fragment that is spread.
    fn field(&mut self) -> Option<Option<(String, Value)>> {
        let is_spread = self.takes("...");
        let mut name = self.next()?.text.clone();
        if self.takes(":") {
            name = self.next()?.text.clone();
        }
        let mut arguments = Map::new();
        if self.takes("(") {
            while !self.takes(")") {
                let name = self.next()?.text.clone();
                if !self.takes(":") {
                    return None;
                }
                arguments.insert(name, self.value(0)?);
            }
        }
        while self.takes("@") {
            self.next()?;
            self.skip_group("(", ")");
        }
        self.skip_group("{", "}");
        Some((!is_spread).then_some((name, Value::Object(arguments))))
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.takes("$") {
            let name = &self.next()?.text;
            return Some(self.variables.get(name).cloned().unwrap_or_default());
        }
        if self.takes("[") {
            let mut items = Vec::new();
            while !self.takes("]") {
                items.push(self.value(depth + 1)?);
            }
            return Some(Value::Array(items));
        }
        if self.takes("{") {
            let mut members = Map::new();
            while !self.takes("}") {
                let name = self.next()?.text.clone();
                if !self.takes(":") {
                    return None;
                }
                members.insert(name, self.value(depth + 1)?);
            }
            return Some(Value::Object(members));
        }
        let GraphQlToken { text, is_string } = self.next()?;
        // A word that is neither a number nor `true`, `false` or `null` is the value of an enum.
        Some(match serde_json::from_str(text) {
            Ok(value) if !is_string => value,
            _ => Value::from(text.as_str()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn mutation(query: &str, variables: Value) -> Value {
        match operation(&json!({ "query": query, "variables": variables })) {
            Some(GraphQl::Mutation(fields)) => Value::Object(fields),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_mutation_is_its_names_and_their_arguments_however_it_is_written() {
        let expected =
            json!({ "createOrder": { "order": "ord_1001", "lines": [{ "sku": "sku_7", "units": 3 }] } });
        let variables = json!({ "order": "ord_1001", "units": 3 });
        for query in [
            "mutation { createOrder(order: \"ord_1001\", lines: [{sku: \"sku_7\", units: 3}]) { id } }",
            "# an order\nmutation Make($order: ID!, $units: Int = 1) @client { made: createOrder(\n  order: $order\n  \
             lines: [{ sku: \"\"\"sku_7\"\"\", units: $units }]\n) @include(if: true) { id, lines { sku } } }\n\
             fragment Parts on Order { id }",
        ] {
            assert_eq!(mutation(query, variables.clone()), expected, "{query}");
        }
        assert_eq!(
            mutation("mutation { a(kind: FAST, on: true, by: -1.5, no: null) b }", json!({})),
            json!({ "a": { "kind": "FAST", "on": true, "by": -1.5, "no": null }, "b": {} })
        );
    }

    #[test]
    fn a_query_and_a_subscription_are_reads_and_one_operation_is_chosen_by_its_name() {
        for query in
            ["{ orders { id } }", "query Q { orders(first: 1) { id } }", "subscription { orders { id } }"]
        {
            let found = operation(&json!({ "query": query }));
            assert_eq!(found, Some(GraphQl::Read(vec!["orders".to_owned()])), "{query}");
        }
        let both = "query Q { orders { id } } mutation M { cancel(id: 1) { id } }";
        let chosen = |name: &str| operation(&json!({ "query": both, "operationName": name }));
        assert_eq!(chosen("Q"), Some(GraphQl::Read(vec!["orders".to_owned()])));
        assert!(matches!(chosen("M"), Some(GraphQl::Mutation(_))));
        assert_eq!(operation(&json!({ "query": both })), None, "it does not say which");
    }

    #[test]
    fn other_bodies_with_a_query_are_not_graphql() {
        for content in [
            json!({ "query": "red shoes" }),
            json!({ "query": "query" }),
            json!({ "query": "mutation { broken(" }),
            json!({ "query": { "match": {} } }),
            json!({ "order": "ord_1001" }),
            json!(["query"]),
        ] {
            assert_eq!(operation(&content), None, "{content}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\PC\"{}()\\[\\]$:@.# \\n]{0,80}") {
            let _ = operation(&json!({ "query": format!("mutation {text}") }));
            let _ = operation(&json!({ "query": text }));
        }
    }
}

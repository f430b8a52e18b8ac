//! The query language: `status:'succeeded' AND -metadata['order']:'o1'`. The parser knows the fields of a
//! type, but no objects.

use super::fields::{SearchFieldKind, Searchable};
use super::{Clause, ClauseTest, Query, SearchField};
use crate::payment::errors::{PaymentError, Refused};

const MAX_CLAUSES: usize = 10;
const MIN_SUBSTRING_CHARACTERS: usize = 3;

/// Parses a query for objects of one type.
pub(crate) fn parse<T: Searchable>(text: &str) -> Result<Query, Refused> {
    let mut rest = QueryReader(text.trim());
    let mut clauses = Vec::new();
    let mut any = None;
    loop {
        clauses.push(clause::<T>(&mut rest)?);
        if clauses.len() > MAX_CLAUSES {
            return Err(refused(format!("Search queries can have up to {MAX_CLAUSES} clauses.")));
        }
        if rest.0.is_empty() {
            return Ok(Query { clauses, any: any.unwrap_or(false) });
        }
        if !rest.skip_space() {
            return Err(unparsed());
        }
        let this = rest.connector();
        if any.is_some_and(|before| before != this) {
            return Err(refused(
                "You cannot use both AND and OR in the same search query. Try splitting it into several \
                 queries."
                    .to_owned(),
            ));
        }
        any = Some(this);
    }
}

fn clause<T: Searchable>(rest: &mut QueryReader<'_>) -> Result<Clause, Refused> {
    let negated = rest.skip("-");
    let name = rest.word();
    if name.is_empty() {
        return Err(unparsed());
    }
    let (field, kind) = if name == "metadata" {
        if !rest.skip("[") {
            return Err(unparsed());
        }
        let key = rest.quoted().ok_or_else(unparsed)?;
        if !rest.skip("]") {
            return Err(unparsed());
        }
        (SearchField::Metadata(key), SearchFieldKind::Text)
    } else {
        let own = T::FIELDS.iter().find(|(value, _)| *value == name).ok_or_else(|| unsupported::<T>(name))?;
        (SearchField::Own(own.0), own.1)
    };
    let sign = rest.sign().ok_or_else(unparsed)?;
    let value = rest.value().ok_or_else(unparsed)?;
    Ok(Clause { negated, field, test: test(name, kind, sign, value)? })
}

fn test(name: &str, kind: SearchFieldKind, sign: &str, value: QueryValue) -> Result<ClauseTest, Refused> {
    let no_operator = || refused(format!("Operator `{sign}` is not supported for the field `{name}`."));
    let text = match value {
        QueryValue::Bare(word) if word.eq_ignore_ascii_case("null") => {
            return if sign == ":" { Ok(ClauseTest::Absent) } else { Err(no_operator()) };
        }
        QueryValue::Bare(text) | QueryValue::Quoted(text) => text,
    };
    if kind == SearchFieldKind::Number {
        let number: i64 = text.parse().map_err(|_| refused(format!("Invalid integer: {text}")))?;
        return Ok(match sign {
            ":" | "=" => ClauseTest::Between(number, number),
            ">" => number
                .checked_add(1)
                .map_or(ClauseTest::Between(1, 0), |from| ClauseTest::Between(from, i64::MAX)),
            ">=" => ClauseTest::Between(number, i64::MAX),
            "<" => number
                .checked_sub(1)
                .map_or(ClauseTest::Between(1, 0), |to| ClauseTest::Between(i64::MIN, to)),
            "<=" => ClauseTest::Between(i64::MIN, number),
            _ => return Err(no_operator()),
        });
    }
    match sign {
        ":" => Ok(ClauseTest::Is(text.to_lowercase())),
        "~" if kind == SearchFieldKind::Token => Err(no_operator()),
        "~" if text.chars().count() < MIN_SUBSTRING_CHARACTERS => Err(refused(format!(
            "The substring match operator needs at least {MIN_SUBSTRING_CHARACTERS} characters."
        ))),
        "~" => Ok(ClauseTest::Contains(text.to_lowercase())),
        _ => Err(no_operator()),
    }
}

enum QueryValue {
    Bare(String),
    Quoted(String),
}

/// The unread part of the query.
struct QueryReader<'a>(&'a str);

impl<'a> QueryReader<'a> {
    fn skip(&mut self, what: &str) -> bool {
        let rest = self.0.strip_prefix(what);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip_space(&mut self) -> bool {
        let rest = self.0.trim_start();
        let any = rest.len() < self.0.len();
        self.0 = rest;
        any
    }

    /// Reads a connector, if there is one: `true` for OR, `false` for AND and for none.
    fn connector(&mut self) -> bool {
        for (word, any) in [("and", false), ("or", true)] {
            let split =
                self.0.split_once(char::is_whitespace).filter(|(first, _)| first.eq_ignore_ascii_case(word));
            if let Some((_, rest)) = split {
                self.0 = rest.trim_start();
                return any;
            }
        }
        false
    }

    fn word(&mut self) -> &'a str {
        let end = self
            .0
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'))
            .unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    fn sign(&mut self) -> Option<&'static str> {
        [">=", "<=", ">", "<", ":", "~", "="].into_iter().find(|sign| self.skip(sign))
    }

    fn value(&mut self) -> Option<QueryValue> {
        if self.0.starts_with(['\'', '"']) {
            return self.quoted().map(QueryValue::Quoted);
        }
        let end = self.0.find(char::is_whitespace).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@');
        (!word.is_empty() && word.bytes().all(plain)).then(|| QueryValue::Bare(word.to_owned()))
    }

    fn quoted(&mut self) -> Option<String> {
        let mut characters = self.0.char_indices();
        let quote = characters.next().map(|(_, quote)| quote).filter(|quote| matches!(quote, '\'' | '"'))?;
        let mut text = String::new();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => text.push(characters.next()?.1),
                end if end == quote => {
                    self.0 = &self.0[at + end.len_utf8()..];
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }
}

fn unparsed() -> Refused {
    refused(
        "We were unable to parse your search query. Try using the format `metadata[\"key\"]:\"value\"` to \
         query for metadata or \
         key:\"value\" to query for other fields."
            .to_owned(),
    )
}

fn unsupported<T: Searchable>(name: &str) -> Refused {
    let resource = T::URL.trim_start_matches("/v1/");
    refused(format!(
        "Field `{name}` is an unsupported search field for resource `{resource}`. See \
         https://stripe.com/docs/search#query-fields-for-{} for a list of supported fields.",
        resource.replace('_', "-")
    ))
}

fn refused(message: String) -> Refused {
    Box::new(PaymentError::invalid(message).param("query"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::objects::{Charge, Customer, Intent};
    use proptest::prelude::*;

    fn customer() -> Customer {
        let mut customer = Customer::bare("cus_1", 100);
        customer.email = Some("Ann@Example.com".to_owned());
        customer.name = Some("it's \"Ann\"".to_owned());
        customer
    }

    fn found(query: &str) -> bool {
        parse::<Customer>(query).unwrap_or_else(|problem| panic!("{query}: {problem:?}")).finds(&customer())
    }

    #[test]
    fn a_clause_matches_by_equality_substring_and_number() {
        assert!(found("email:'ann@example.com'") && found("email:\"ANN@example.COM\""));
        assert!(!found("email:'ann'"));
        assert!(found("email~'example'") && !found("email~'nobody'"));
        assert!(
            found("created>99") && !found("created>100") && found("created>=100") && found("created<101")
        );
        assert!(
            found("created<=100") && !found("created<100") && found("created:100") && found("created:'100'")
        );
        assert!(found(r#"name:'it\'s "Ann"'"#) && found(r#"name:"it's \"Ann\"""#));
        assert!(!found("created>9223372036854775807") && !found("created<-9223372036854775808"));
    }

    #[test]
    fn clauses_are_joined_and_negated() {
        assert!(found("created>99 AND email:'ann@example.com'") && !found("created>99 and email:'x'"));
        assert!(found("created>100 OR email:'ann@example.com'") && !found("created>100 or email:'x'"));
        assert!(found("created>99 email:'ann@example.com'") && !found("created>99 email:'x'"));
        assert!(found("-email:'x'") && !found("-created>99"));
    }

    #[test]
    fn metadata_matches_by_key_and_by_absence() {
        assert!(!found("metadata['order']:'o1'") && found("-metadata['order']:'o1'"));
        assert!(
            found("metadata[\"order\"]:null") && !found("-metadata['order']:null") && !found("email:null")
        );
    }

    #[test]
    fn an_invalid_query_is_refused() {
        for query in [
            "",
            "AND",
            "email",
            "email:",
            "email:'x",
            "email:'x'y",
            "email 'x'",
            "metadata:'x'",
            "metadata[order]:'x'",
            "shoe:'x'",
            "email>'x'",
            "email~'ab'",
            "created:'x'",
            "created~5",
            "email:'a' AND",
            "email:'a' AND created>1 OR created<2",
            "(email:'a')",
            "-",
            "email:null~",
            "created>null",
            "email:a'b",
        ] {
            assert!(parse::<Customer>(query).is_err(), "{query}");
        }
        assert!(parse::<Intent>("refunded:'true'").is_err() && parse::<Charge>("refunded:'true'").is_ok());
        let clauses = |count: usize| vec!["created>1"; count].join(" AND ");
        assert!(parse::<Customer>(&clauses(10)).is_ok() && parse::<Customer>(&clauses(11)).is_err());
    }

    proptest! {
        #[test]
        fn no_query_makes_it_panic(query in "\\PC*",
            near in "(-?(email|created|metadata\\['o'\\])(:|~|>)('a\\\\|\"é\"|5)? ?(AND |or )?){0,12}") {
            for text in [query, near] {
                if let Ok(query) = parse::<Customer>(&text) {
                    query.finds(&customer());
                }
            }
        }
    }
}

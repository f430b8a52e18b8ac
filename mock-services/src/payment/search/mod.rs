//! Stripe's search: its query language, and whether an object is found by a query.

mod fields;
mod parse;

use serde::Serialize;

pub(crate) use fields::{Searchable, Seen};
pub(crate) use parse::parse;

/// A query that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    clauses: Vec<Clause>,
    /// Whether one clause is enough.
    any: bool,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    negated: bool,
    field: Field,
    test: Test,
}

/// What a condition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    /// One of the object's own fields.
    Own(&'static str),
    /// A name of its metadata.
    Metadata(String),
}

/// What must be true of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    /// The same, whatever the case.
    Is(String),
    /// Somewhere in it.
    Contains(String),
    /// A number from one to another, both included.
    Between(i64, i64),
    /// Nothing there.
    Absent,
}

impl Query {
    /// Whether the query finds the object.
    pub(crate) fn finds(&self, object: &impl Searchable) -> bool {
        let holds = |clause: &Clause| clause.holds(object) != clause.negated;
        if self.any { self.clauses.iter().any(holds) } else { self.clauses.iter().all(holds) }
    }
}

impl Clause {
    fn holds(&self, object: &impl Searchable) -> bool {
        let seen = match &self.field {
            Field::Own(name) => object.value(name),
            Field::Metadata(name) => Seen::from(object.metadata().get(name)),
        };
        match (&self.test, seen) {
            (Test::Absent, seen) => matches!(seen, Seen::Nothing),
            (Test::Is(text), Seen::Text(have)) => have.to_lowercase() == *text,
            (Test::Contains(text), Seen::Text(have)) => have.to_lowercase().contains(text.as_str()),
            (Test::Between(from, to), Seen::Number(have)) => (from..=to).contains(&&have),
            _ => false,
        }
    }
}

/// What a search answers.
#[derive(Debug, Serialize)]
pub(crate) struct SearchResult<Row> {
    /// `search_result`.
    pub(crate) object: &'static str,
    /// What was found.
    pub(crate) data: Vec<Row>,
    /// Whether there are more.
    pub(crate) has_more: bool,
    /// Where they begin.
    pub(crate) next_page: Option<String>,
    /// How many there are in all, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_count: Option<usize>,
    /// The path of the search.
    pub(crate) url: String,
}

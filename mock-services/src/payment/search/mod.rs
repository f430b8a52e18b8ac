//! Stripe's search: its query language, and whether an object matches a query.

mod fields;
mod parse;

use serde::Serialize;

pub(crate) use fields::{FieldValue, Searchable};
pub(crate) use parse::parse;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    clauses: Vec<Clause>,
    /// Whether one matching clause is enough.
    any: bool,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    negated: bool,
    field: SearchField,
    test: ClauseTest,
}

/// The field of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SearchField {
    /// One of the object's own fields.
    Own(&'static str),
    /// A key of its metadata.
    Metadata(String),
}

/// The test of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ClauseTest {
    /// Equal, ignoring case.
    Is(String),
    /// Contains.
    Contains(String),
    /// A number in an inclusive range.
    Between(i64, i64),
    /// No value.
    Absent,
}

impl Query {
    /// Whether the object matches the query.
    pub(crate) fn finds(&self, object: &impl Searchable) -> bool {
        let holds = |clause: &Clause| clause.holds(object) != clause.negated;
        if self.any { self.clauses.iter().any(holds) } else { self.clauses.iter().all(holds) }
    }
}

impl Clause {
    fn holds(&self, object: &impl Searchable) -> bool {
        let value_ = match &self.field {
            SearchField::Own(name) => object.value(name),
            SearchField::Metadata(name) => FieldValue::from(object.metadata().get(name)),
        };
        match (&self.test, value_) {
            (ClauseTest::Absent, value_) => matches!(value_, FieldValue::Nothing),
            (ClauseTest::Is(text), FieldValue::Text(value)) => value.to_lowercase() == *text,
            (ClauseTest::Contains(text), FieldValue::Text(value)) => {
                value.to_lowercase().contains(text.as_str())
            }
            (ClauseTest::Between(from, to), FieldValue::Number(value)) => (from..=to).contains(&&value),
            _ => false,
        }
    }
}

/// The response to a search.
#[derive(Debug, Serialize)]
pub(crate) struct SearchResult<Row> {
    /// `search_result`.
    pub(crate) object: &'static str,
    /// The matching objects.
    pub(crate) data: Vec<Row>,
    /// Whether more follow.
    pub(crate) has_more: bool,
    /// The token of the next page.
    pub(crate) next_page: Option<String>,
    /// The total number of matches, when requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_count: Option<usize>,
    /// The path of the search.
    pub(crate) url: String,
}

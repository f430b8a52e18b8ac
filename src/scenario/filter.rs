//! Filter expressions: `tag(payment) & keys=stripe & !reply=429`. Plain data; nothing is loaded here.

use mock_services::catalog::is_glob_match;
use yaml_reader::{Problem, Problems, Source, Span, nearest, shown};

use super::Case;

/// The deepest nesting of parentheses and negations.
const MAX_DEPTH: usize = 32;

/// What an expression is, for messages.
const FORM: &str = "write for example 'tag(payment) & keys=stripe & !reply=429'; terms are tag(…), scenario(…), \
    service(…), id(…), NAME=VALUE, or a word as without -E; `*` stands for any text";

/// An expression that selects cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterExpression(Expression);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Term(Term),
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Tag(String),
    Scenario(String),
    Service(String),
    Id(String),
    Value(String, String),
    /// A word that names a folder of scenarios.
    Folder(String),
    Word(String),
}

impl FilterExpression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        let mut parser = Parser { text, at: 0 };
        let parsed = parser.any(0).and_then(|expression| match parser.next() {
            None => Ok(expression),
            Some(_) => Err(parser.expected("`&`, `|` or the end")),
        });
        parsed.map(FilterExpression).map_err(|problem| Problems::from(*problem))
    }

    /// The expression for these cases: a word that names a folder of their scenarios is that folder.
    #[must_use]
    pub(super) fn with_folders(self, cases: &[Case]) -> Self {
        FilterExpression(self.0.with_folders(cases))
    }

    /// Whether it selects a case.
    #[must_use]
    pub fn matches(&self, case: &Case) -> bool {
        self.0.matches(case)
    }

    /// The terms that no case meets, each with a suggestion. A negated term with a mistake would otherwise
    /// select everything.
    pub(super) fn unmet(&self, cases: &[Case]) -> Vec<(String, Option<String>)> {
        let mut terms = Vec::new();
        self.0.terms(&mut terms);
        let unmet = terms.into_iter().filter(|term| !cases.iter().any(|case| term.matches(case)));
        unmet.map(|term| (term.text(), term.suggestion(cases))).collect()
    }
}

impl Expression {
    fn with_folders(self, cases: &[Case]) -> Self {
        let all = |parts: Vec<Expression>| parts.into_iter().map(|part| part.with_folders(cases)).collect();
        match self {
            Expression::All(parts) => Expression::All(all(parts)),
            Expression::Any(parts) => Expression::Any(all(parts)),
            Expression::Not(part) => Expression::Not(Box::new(part.with_folders(cases))),
            Expression::Term(Term::Word(word)) if is_folder(cases, &word) => {
                Expression::Term(Term::Folder(word))
            }
            term @ Expression::Term(_) => term,
        }
    }

    fn matches(&self, case: &Case) -> bool {
        match self {
            Expression::All(parts) => parts.iter().all(|part| part.matches(case)),
            Expression::Any(parts) => parts.iter().any(|part| part.matches(case)),
            Expression::Not(part) => !part.matches(case),
            Expression::Term(term) => term.matches(case),
        }
    }

    fn terms<'e>(&'e self, terms: &mut Vec<&'e Term>) {
        match self {
            Expression::All(parts) | Expression::Any(parts) => {
                parts.iter().for_each(|part| part.terms(terms));
            }
            Expression::Not(part) => part.terms(terms),
            Expression::Term(term) => terms.push(term),
        }
    }
}

impl Term {
    fn matches(&self, case: &Case) -> bool {
        match self {
            Term::Tag(glob) => case.tags.iter().any(|tag| is_glob_match(glob, tag)),
            Term::Scenario(glob) => is_glob_match(glob, &case.scenario),
            Term::Service(glob) => case.services.iter().any(|service| is_glob_match(glob, &service.name)),
            Term::Id(glob) => is_glob_match(glob, &case.id),
            Term::Value(name, glob) => {
                case.variant.iter().any(|(have, value)| have == name && is_glob_match(glob, value))
            }
            Term::Folder(folder) => is_in_folder(case, folder),
            Term::Word(word) => is_named(case, word),
        }
    }

    fn text(&self) -> String {
        match self {
            Term::Tag(glob) => format!("tag({glob})"),
            Term::Scenario(glob) => format!("scenario({glob})"),
            Term::Service(glob) => format!("service({glob})"),
            Term::Id(glob) => format!("id({glob})"),
            Term::Value(name, glob) => format!("{name}={glob}"),
            Term::Folder(word) | Term::Word(word) => word.clone(),
        }
    }

    /// A term like this one that some case meets.
    fn suggestion(&self, cases: &[Case]) -> Option<String> {
        let mut known: Vec<String> = match self {
            Term::Tag(_) => {
                cases.iter().flat_map(|case| &case.tags).map(|tag| format!("tag({tag})")).collect()
            }
            Term::Scenario(_) => cases.iter().map(|case| format!("scenario({})", case.scenario)).collect(),
            Term::Service(_) => {
                let services = cases.iter().flat_map(|case| &case.services);
                services.map(|service| format!("service({})", service.name)).collect()
            }
            Term::Id(_) => cases.iter().map(|case| format!("id({})", case.id)).collect(),
            Term::Value(..) => {
                let values = cases.iter().flat_map(|case| &case.variant);
                values.map(|(name, value)| format!("{name}={value}")).collect()
            }
            Term::Folder(_) | Term::Word(_) => {
                cases.iter().flat_map(|case| case.tags.iter().cloned()).collect()
            }
        };
        known.sort();
        known.dedup();
        nearest(&self.text(), known.iter().map(String::as_str)).map(str::to_owned)
    }
}

/// Whether a word is the name of a folder of scenarios, with or without a slash at its end.
pub(crate) fn is_folder(cases: &[Case], word: &str) -> bool {
    let folder = format!("{}/", word.trim_end_matches('/'));
    folder.len() > 1 && cases.iter().any(|case| case.scenario.starts_with(&folder))
}

/// Whether the scenario of a case is in a folder. A scenario with the name of the folder belongs to it, so that its
/// cases can be named.
pub(crate) fn is_in_folder(case: &Case, folder: &str) -> bool {
    match case.scenario.strip_prefix(folder.trim_end_matches('/')) {
        Some(rest) => rest.starts_with('/') || (rest.is_empty() && !folder.ends_with('/')),
        None => false,
    }
}

/// Whether a word is a tag of the case, a part of its id, or names its scenario and values in any order:
/// `lost-reply@reply=drop,keys=none`.
pub(crate) fn is_named(case: &Case, word: &str) -> bool {
    let (scenario, values) = word.split_once('@').unwrap_or(("", word));
    let has = |pair: &str| {
        pair.split_once('=').is_some_and(|(name, value)| {
            case.variant.iter().any(|(have, of_case)| have == name && of_case == value)
        })
    };
    !word.is_empty()
        && (case.tags.iter().any(|tag| tag == word)
            || case.id.contains(word)
            || (case.scenario.contains(scenario) && values.split(',').all(has)))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

type Parsed = Result<Expression, Box<Problem>>;

impl<'t> Parser<'t> {
    /// The next word or sign, without taking it.
    fn next(&mut self) -> Option<&'t str> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        let first = rest.chars().next()?;
        if "&|!()".contains(first) {
            return Some(&rest[..1]);
        }
        let end = rest.find(|one: char| one.is_whitespace() || "&|!()".contains(one)).unwrap_or(rest.len());
        Some(&rest[..end])
    }

    fn take(&mut self, words: [&str; 2]) -> bool {
        let next = self.next().filter(|next| words.contains(next));
        self.at += next.map_or(0, str::len);
        next.is_some()
    }

    fn expected(&mut self, what: &str) -> Box<Problem> {
        let found = match self.next() {
            None => "the end".to_owned(),
            Some(next) => format!("`{}`", shown(next)),
        };
        let end = self.at + self.next().map_or(0, str::len);
        let source = Source::new("--expression", self.text);
        let problem =
            Problem::new(&source, Span::new(self.at, end), format!("expected {what}, found {found}"));
        Box::new(problem.with_help(FORM))
    }

    fn any(&mut self, depth: usize) -> Parsed {
        let mut parts = vec![self.all(depth)?];
        while self.take(["|", "or"]) {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self, depth: usize) -> Parsed {
        let mut parts = vec![self.one(depth)?];
        while self.take(["&", "and"]) {
            parts.push(self.one(depth)?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn one(&mut self, depth: usize) -> Parsed {
        if depth > MAX_DEPTH {
            return Err(self.expected("fewer nested parts"));
        }
        if self.take(["!", "not"]) {
            return Ok(Expression::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take(["(", "("]) {
            let inner = self.any(depth + 1)?;
            return if self.take([")", ")"]) { Ok(inner) } else { Err(self.expected("`)`")) };
        }
        let word = match self.next() {
            Some(word) if !["&", "|", ")", "and", "or"].contains(&word) => word,
            _ => return Err(self.expected("a term")),
        };
        let from = self.at;
        self.at += word.len();
        if self.text[self.at..].starts_with('(') {
            return self.function(word, from);
        }
        Ok(Expression::Term(match word.split_once('=') {
            Some((name, value)) if !word.contains(['@', ',', '/']) => {
                Term::Value(name.to_owned(), value.to_owned())
            }
            _ => Term::Word(word.to_owned()),
        }))
    }

    /// The term `name(…)`, whose name has been taken.
    fn function(&mut self, name: &str, from: usize) -> Parsed {
        let make: fn(String) -> Term = match name {
            "tag" => Term::Tag,
            "scenario" => Term::Scenario,
            "service" => Term::Service,
            "id" => Term::Id,
            _ => {
                self.at = from;
                return Err(self.expected("tag(…), scenario(…), service(…) or id(…)"));
            }
        };
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.find(')') else {
            self.at = self.text.len();
            return Err(self.expected("`)`"));
        };
        self.at += end + 2;
        Ok(Expression::Term(make(rest[..end].trim().to_owned())))
    }
}

fn one_or(mut parts: Vec<Expression>, several: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => several(parts),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::shipped;

    fn ids(text: &str) -> Vec<String> {
        let expression = FilterExpression::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
        let cases = shipped().unwrap();
        cases.into_iter().filter(|case| expression.matches(case)).map(|case| case.id).collect()
    }

    fn problem(text: &str) -> String {
        FilterExpression::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn terms_are_combined_as_in_other_test_runners() {
        let all = ids("scenario(payment/lost-reply)");
        let both = ids("scenario(payment/lost-reply) & keys=stripe & !reply=429");
        assert!(both.iter().all(|id| id.contains("keys=stripe") && !id.contains("429")), "{both:?}");
        assert_eq!(both.len(), all.len() / 2 - 1);
        assert_eq!(ids("scenario(payment/lost-reply) and keys=stripe and not reply=429"), both);
        assert_eq!(ids("!(!scenario(payment/lost-reply) | !keys=stripe | reply=429)"), both);
        let either = ids("scenario(payment/lost-reply) & reply=drop | scenario(email/clean)");
        assert_eq!(either.len(), 2 + ids("scenario(email/clean)").len(), "& comes before |");
    }

    #[test]
    fn patterns_and_plain_words_select_cases() {
        assert_eq!(
            ids("scenario(payment/lost-*)"),
            ids("scenario(payment/lost-reply) | payment/lost-request")
        );
        assert!(ids("service(email)").iter().any(|id| id.starts_with("workflow/")));
        assert_eq!(ids("tag(crash)"), ids("crash & tag(cr?sh)"));
        assert_eq!(
            ids("id(payment/lost-reply@keys=stripe,reply=drop)"),
            ids("payment/lost-reply@reply=drop,keys=stripe"),
            "the order of matrix names does not matter"
        );
    }

    #[test]
    fn a_word_that_names_a_folder_is_the_folder_and_not_its_tag() {
        let cases = shipped().unwrap();
        let selected = |text: &str| -> Vec<String> {
            let expression = FilterExpression::parse(text).unwrap().with_folders(&cases);
            cases.iter().filter(|case| expression.matches(case)).map(|case| case.id.clone()).collect()
        };
        assert_eq!(selected("payment"), selected("scenario(payment/*)"));
        assert_eq!(selected("payment"), selected("payment/"));
        assert_eq!(selected("!payment"), selected("!scenario(payment/*)"));
        assert!(selected("tag(payment)").len() > selected("payment").len());
        assert_eq!(selected("ambiguous"), selected("tag(ambiguous)"), "no folder has this name");
    }

    #[test]
    fn a_mistake_is_shown_with_its_place() {
        insta::assert_snapshot!(
            ["", "tag(payment", "tag(payment) keys=stripe", "& crash", "(crash", "tga(payment)", "crash &"]
                .map(problem)
                .join("\n")
        );
        let deep = "!".repeat(1000) + "crash";
        assert!(problem(&deep).contains("fewer nested parts"));
    }

    #[test]
    fn a_term_that_no_case_meets_is_found_even_if_it_is_negated() {
        let cases = shipped().unwrap();
        let unmet = |text: &str| FilterExpression::parse(text).unwrap().unmet(&cases);
        assert_eq!(unmet("tag(payment) & !reply=429"), []);
        assert_eq!(unmet("!tag(paymnt)"), [("tag(paymnt)".to_owned(), Some("tag(payment)".to_owned()))]);
        assert_eq!(unmet("crash & !kys=stripe"), [("kys=stripe".to_owned(), Some("keys=stripe".to_owned()))]);
    }

    proptest! {
        #[test]
        fn no_expression_makes_the_parser_panic(text in "[a-z()&|!=*? ,@äß]{0,40}") {
            let _ = FilterExpression::parse(&text);
        }
    }
}

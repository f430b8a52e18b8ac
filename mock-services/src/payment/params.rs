//! The parameters of one request: read once, checked against the names that its endpoint accepts, and
//! converted to their types.

use std::borrow::Cow;

use super::errors::{PaymentError, Refused, missing, not_a_form, unsupported_part};
use super::form::{self, Pairs};
use crate::service::Request;

/// The parameters of one request.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    pairs: Pairs<'a>,
}

impl<'a> Params<'a> {
    /// Reads the query and, for a POST, the body.
    pub(crate) fn read(request: &'a Request) -> Result<Self, Refused> {
        let mut pairs = Pairs::new();
        form::read(request.query().as_bytes(), &mut pairs).map_err(|_| not_a_form())?;
        if request.method() == "POST" && !request.bytes().is_empty() {
            let kind = request.header_value("content-type").unwrap_or("application/x-www-form-urlencoded");
            let is_form = |kind: &str| {
                kind.split(';')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .eq_ignore_ascii_case("application/x-www-form-urlencoded")
            };
            if kind != "application/x-www-form-urlencoded" && !is_form(kind) {
                return Err(not_a_form());
            }
            form::read(request.bytes(), &mut pairs).map_err(|_| not_a_form())?;
        }
        Ok(Params { pairs })
    }

    /// Refuses names that the endpoint does not accept.
    pub(crate) fn check(&self, allowed: &[&[&str]]) -> Result<(), Refused> {
        let known = |name: &str| {
            let root = form::root(name);
            allowed.iter().any(|names| names.contains(&root)) && form::is_well_formed(name)
        };
        let mut unknown: Vec<&str> =
            self.pairs.iter().map(|(name, _)| &**name).filter(|name| !known(name)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        for name in &mut unknown {
            if form::is_well_formed(name) {
                *name = form::root(name);
            }
        }
        unknown.dedup();
        if let [name] = unknown.as_slice() {
            return Err(unknown_parameter((*name).to_owned()));
        }
        let message = format!("Received unknown parameters: {}", unknown.join(", "));
        Err(Box::new(PaymentError::invalid(message).code("parameter_unknown").param(unknown[0].to_owned())))
    }

    /// Also refuses names that Stripe accepts and this service does not support. A name with a bracket,
    /// `card[x]`, only stands for that part. An empty value counts as absent.
    pub(crate) fn check_supported(
        &self,
        allowed: &[&[&str]],
        unsupported: &[&str],
        endpoint: &str,
    ) -> Result<(), Refused> {
        let known: Vec<&[&str]> = allowed.iter().copied().chain([unsupported]).collect();
        self.check(&known)?;
        let is_under = |name: &str, unsupported_name: &str| {
            name.strip_prefix(unsupported_name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        for (name, _) in self.pairs.iter().filter(|(_, value)| !value.is_empty()) {
            if let Some(unsupported_name) =
                unsupported.iter().find(|unsupported_name| is_under(name, unsupported_name))
            {
                return Err(unsupported_part(
                    &format!("the parameter `{unsupported_name}`"),
                    endpoint,
                    (*unsupported_name).to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// The value under exactly this name; the last of several.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// Whether there is a value under this name, with or without brackets.
    pub(crate) fn has(&self, name: &str) -> bool {
        let stands = |other: &str| {
            other.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        self.pairs.iter().any(|(other, _)| stands(other))
    }

    /// The values in brackets after `root`: the first bracket, the rest of the name, and the value.
    pub(crate) fn inside<'s>(&'s self, root: &'s str) -> impl Iterator<Item = (&'s str, &'s str, &'s str)> {
        self.pairs.iter().filter_map(move |(name, value)| {
            let (first, rest) = form::inner(name, root)?;
            Some((first, rest, &**value))
        })
    }

    /// The names and values directly below `root`, which can have brackets itself: `a[b]`.
    pub(crate) fn below<'s>(&'s self, root: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        self.pairs.iter().filter_map(move |(name, value)| {
            let inner = name.strip_prefix(root)?.strip_prefix('[')?.split(']').next()?;
            Some((inner, &**value))
        })
    }

    /// A text; an empty text is refused.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&str>, Refused> {
        match self.plain(name)? {
            Some("") => Err(Box::new(
                PaymentError::invalid(format!(
                    "You passed an empty string for '{name}'. We assume empty values are an attempt to \
                     unset a field; however \
                     '{name}' cannot be unset. You should remove '{name}' from your request or supply a \
                     non-empty value."
                ))
                .code("parameter_invalid_empty")
                .param(name),
            )),
            value => Ok(value),
        }
    }

    /// A text that an empty text clears: `Some(None)`.
    pub(crate) fn clearable(&self, name: &'static str) -> Result<Option<Option<String>>, Refused> {
        Ok(self.plain(name)?.map(|value| (!value.is_empty()).then(|| value.to_owned())))
    }

    /// An owned text, if there is one.
    pub(crate) fn owned(&self, name: &'static str) -> Result<Option<String>, Refused> {
        Ok(self.text(name)?.map(str::to_owned))
    }

    /// A required text.
    pub(crate) fn required(&self, name: &'static str) -> Result<&str, Refused> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// An integer.
    pub(crate) fn integer(&self, name: &'static str) -> Result<Option<i64>, Refused> {
        self.text(name)?.map(|text| integer(text, name)).transpose()
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self, name: &'static str) -> Result<Option<bool>, Refused> {
        match self.text(name)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(Box::new(
                PaymentError::invalid(format!("Invalid boolean: {other}"))
                    .code("parameter_invalid_boolean")
                    .param(name),
            )),
        }
    }

    /// One of the given words.
    pub(crate) fn choice(
        &self,
        name: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, Refused> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match words.iter().find(|word| **word == text) {
            Some(word) => Ok(Some(word)),
            None => Err(Box::new(
                PaymentError::invalid(format!("Invalid {name}: must be one of {}", any_of(words)))
                    .param(name),
            )),
        }
    }

    /// The paths of `expand[]`.
    pub(crate) fn expand(&self) -> Vec<String> {
        self.inside("expand").map(|(_, _, path)| path.to_owned()).collect()
    }

    fn plain(&self, name: &'static str) -> Result<Option<&str>, Refused> {
        let mut found = None;
        let first = name.as_bytes().first();
        // Most names differ in their first letter.
        for (other, value) in self.pairs.iter().filter(|(other, _)| other.as_bytes().first() == first) {
            match other.strip_prefix(name) {
                Some("") => found = Some(&**value),
                Some(rest) if rest.starts_with('[') => {
                    let inside = form::inner(other, name).map_or("", |(first, _)| first);
                    let message = format!("Invalid string: {{\"{inside}\"=>\"{value}\"}}");
                    return Err(Box::new(PaymentError::invalid(message).param(name)));
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The endpoint does not have this parameter.
pub(crate) fn unknown_parameter(name: String) -> Refused {
    let message = format!("Received unknown parameter: {name}");
    Box::new(PaymentError::invalid(message).code("parameter_unknown").param(name))
}

/// Parses an integer.
pub(crate) fn integer(text: &str, param: impl Into<Cow<'static, str>>) -> Result<i64, Refused> {
    text.parse().map_err(|_| {
        Box::new(
            PaymentError::invalid(format!("Invalid integer: {text}"))
                .code("parameter_invalid_integer")
                .param(param),
        )
    })
}

fn any_of(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{}, or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(body: &str) -> Request {
        Request::new("POST", "/v1/charges").body(body)
    }

    #[test]
    fn the_last_of_two_equal_names_wins() {
        let request = post("amount=1&amount=2");
        assert_eq!(Params::read(&request).unwrap().integer("amount").unwrap(), Some(2));
    }

    #[test]
    fn unknown_names_are_refused_and_known_ones_are_not() {
        let request = post("amount=1&metadata[order]=o1&expand[]=x");
        let params = Params::read(&request).unwrap();
        assert!(params.check(&[&["amount", "metadata"], &["expand"]]).is_ok());
        assert!(params.check(&[&["amount"]]).is_err());
        let request = post("metadata[order=o1");
        assert!(Params::read(&request).unwrap().check(&[&["metadata"]]).is_err());
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused() {
        let request = post("amount=1.5&flag=yes&customer[x]=1&empty=&reason=other");
        let params = Params::read(&request).unwrap();
        assert!(params.integer("amount").is_err());
        assert!(params.boolean("flag").is_err());
        assert!(params.text("customer").is_err());
        assert!(params.text("empty").is_err());
        assert_eq!(params.clearable("empty").unwrap(), Some(None));
        assert!(params.choice("reason", &["duplicate", "fraudulent"]).is_err());
        assert!(params.required("absent").is_err());
    }

    #[test]
    fn a_body_of_another_content_type_is_not_a_form() {
        let json = post("{\"amount\":1}").header("Content-Type", "application/json");
        assert!(Params::read(&json).is_err());
        let form =
            post("amount=1").header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        assert!(Params::read(&form).is_ok());
    }
}

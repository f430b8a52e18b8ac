//! Lists: the requested page, and the objects on it. Newest first, as Stripe sends them.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use super::errors::{PaymentError, Refused, no_such};
use super::money::below_one;
use super::objects::Object;
use super::params::{self, Params};

/// The page of a list that a request asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageRequest {
    limit: usize,
    starting_after: Option<String>,
    ending_before: Option<String>,
    created: CreatedRange,
}

/// The range of creation times that a list is limited to.
#[derive(Debug, Clone, Copy)]
struct CreatedRange {
    from: i64,
    to: i64,
}

impl Default for CreatedRange {
    fn default() -> Self {
        CreatedRange { from: i64::MIN, to: i64::MAX }
    }
}

/// A list as Stripe sends it.
#[derive(Debug, Serialize)]
pub(crate) struct ListObject<Row> {
    object: &'static str,
    data: Vec<Row>,
    has_more: bool,
    url: Cow<'static, str>,
}

impl<Row> ListObject<Row> {
    /// A list with these rows.
    pub(crate) fn new(url: impl Into<Cow<'static, str>>, data: Vec<Row>, has_more: bool) -> Self {
        ListObject { object: "list", data, has_more, url: url.into() }
    }
}

/// The requested number of rows.
pub(crate) fn limit(params: &Params<'_>) -> Result<usize, Refused> {
    match params.integer("limit")? {
        None => Ok(10),
        Some(limit) if limit < 1 => Err(Box::new(below_one("limit"))),
        Some(limit) if limit > 100 => Err(Box::new(
            PaymentError::invalid("This value must be less than or equal to 100.")
                .code("parameter_invalid_integer")
                .param("limit"),
        )),
        Some(limit) => Ok(usize::try_from(limit).unwrap_or(10)),
    }
}

impl PageRequest {
    /// Reads the parameters that all lists have.
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let page = PageRequest {
            limit: limit(params)?,
            starting_after: params.owned("starting_after")?,
            ending_before: params.owned("ending_before")?,
            created: CreatedRange::read(params)?,
        };
        if page.starting_after.is_some() && page.ending_before.is_some() {
            let message = "You may only specify one of these parameters: ending_before, starting_after.";
            return Err(Box::new(PaymentError::invalid(message).param("starting_after")));
        }
        Ok(page)
    }

    /// The rows on this page, newest first, and whether more follow. `rows` are oldest first.
    pub(crate) fn of<'a, T: Object>(
        &self,
        rows: &'a [Arc<T>],
        keep: impl Fn(&T) -> bool,
    ) -> Result<(Vec<&'a Arc<T>>, bool), Refused> {
        let keep = |row: &&Arc<T>| self.created.includes(row.created()) && keep(row);
        let place = |id: &str, param: &'static str| {
            rows.iter().rposition(|row| row.id() == id).ok_or_else(|| no_such(T::KIND, id, param))
        };
        let wanted = self.limit + 1;
        let mut found: Vec<_> = match (&self.starting_after, &self.ending_before) {
            (Some(id), _) => {
                rows[..place(id, "starting_after")?].iter().rev().filter(keep).take(wanted).collect()
            }
            (None, Some(id)) => {
                rows[place(id, "ending_before")? + 1..].iter().filter(keep).take(wanted).collect()
            }
            (None, None) => rows.iter().rev().filter(keep).take(wanted).collect(),
        };
        let has_more = found.len() > self.limit;
        found.truncate(self.limit);
        if self.ending_before.is_some() {
            found.reverse();
        }
        Ok((found, has_more))
    }
}

impl CreatedRange {
    fn read(params: &Params<'_>) -> Result<Self, Refused> {
        let mut created = CreatedRange::default();
        if let Some(exact) = params.raw("created") {
            let exact = params::integer(exact, "created")?;
            return Ok(CreatedRange { from: exact, to: exact });
        }
        for (bound, _, value) in params.inside("created") {
            let time = params::integer(value, "created")?;
            match bound {
                "gt" => created.from = time.saturating_add(1),
                "gte" => created.from = time,
                "lt" => created.to = time.saturating_sub(1),
                "lte" => created.to = time,
                other => {
                    let message = format!("Received unknown parameter: created[{other}]");
                    return Err(Box::new(
                        PaymentError::invalid(message)
                            .code("parameter_unknown")
                            .param(format!("created[{other}]")),
                    ));
                }
            }
        }
        Ok(created)
    }

    fn includes(self, time: i64) -> bool {
        (self.from..=self.to).contains(&time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::objects::Customer;
    use crate::service::Request;

    fn rows() -> Vec<Arc<Customer>> {
        (1..=5).map(|number| Arc::new(Customer::bare(&format!("cus_{number}"), number))).collect()
    }

    fn page(query: &str) -> Result<(Vec<String>, bool), Refused> {
        let request = Request::new("GET", &format!("/v1/customers?{query}"));
        let page = PageRequest::read(&Params::read(&request)?)?;
        let rows = rows();
        let (found, more) = page.of(&rows, |_| true)?;
        Ok((found.iter().map(|row| row.id[4..].to_owned()).collect(), more))
    }

    #[test]
    fn pages_follow_each_other_in_both_directions() {
        let is = |query: &str, ids: &[&str], more: bool| {
            assert_eq!(
                page(query).unwrap(),
                (ids.iter().map(|id| (*id).to_owned()).collect(), more),
                "{query}"
            );
        };
        is("", &["5", "4", "3", "2", "1"], false);
        is("limit=2", &["5", "4"], true);
        is("limit=2&starting_after=cus_4", &["3", "2"], true);
        is("limit=2&starting_after=cus_2", &["1"], false);
        is("limit=2&ending_before=cus_2", &["4", "3"], true);
        is("limit=2&ending_before=cus_4", &["5"], false);
        is("limit=5", &["5", "4", "3", "2", "1"], false);
    }

    #[test]
    fn a_list_is_limited_to_a_range_of_creation_times() {
        assert_eq!(page("created[gte]=2&created[lt]=4").unwrap().0, ["3", "2"]);
        assert_eq!(page("created=3").unwrap().0, ["3"]);
        assert_eq!(page("created[gt]=3&created[lte]=4").unwrap().0, ["4"]);
    }

    #[test]
    fn an_invalid_page_is_refused() {
        for query in ["limit=0", "limit=101", "limit=x", "starting_after=cus_9", "created[x]=1", "created=x"]
        {
            assert!(page(query).is_err(), "{query}");
        }
        assert!(page("starting_after=cus_1&ending_before=cus_2").is_err());
    }
}

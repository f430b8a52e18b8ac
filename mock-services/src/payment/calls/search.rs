//! `GET /v1/charges/search` and its like.

use std::sync::Arc;

use serde::Serialize;

use super::expand::{Expand, Expands, Fresh};
use super::read::{Kept, Shared};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::errors::{Problem, Refused};
use crate::payment::list::limit;
use crate::payment::objects::Customer;
use crate::payment::params::Params;
use crate::payment::search::{Query, SearchResult, Searchable, parse};
use crate::service::Fields;

/// A search.
#[derive(Debug)]
pub(crate) struct Search<T> {
    query: Query,
    limit: usize,
    /// The last object of the page before.
    page: Option<String>,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

impl<T: Searchable> Search<T> {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::SEARCH, allowed::COMMON])?;
        let query = params.required("query")?;
        fields.set("object", T::KIND);
        fields.set("query", query);
        Ok(Search {
            query: parse::<T>(query)?,
            limit: limit(params)?,
            page: params.owned("page")?,
            expand: Expand::of_list::<T>(params)?,
            kind: std::marker::PhantomData,
        })
    }

    fn answer(&self, rows: &[Arc<T>], world: &World<'_>) -> Result<Outcome, Refused>
    where
        T: Expands + Serialize,
    {
        let end = match &self.page {
            None => rows.len(),
            Some(page) => rows.iter().rposition(|row| row.id() == page).ok_or_else(|| {
                Box::new(
                    Problem::invalid("Invalid page token. Please use the next_page of a previous search.")
                        .param("page"),
                )
            })?,
        };
        let total_count = self
            .expand
            .wants("total_count")
            .then(|| rows.iter().filter(|row| self.query.finds(&***row)).count());
        let mut found: Vec<_> = rows[..end]
            .iter()
            .rev()
            .filter(|row| self.query.finds(&***row))
            .take(self.limit + 1)
            .cloned()
            .collect();
        let has_more = found.len() > self.limit;
        found.truncate(self.limit);
        let next_page = found.last().filter(|_| has_more).map(|row| row.id().to_owned());
        let data: Vec<_> = found
            .into_iter()
            .map(|row| Shared(row.expanded(&self.expand, world, &Fresh::default())))
            .collect();
        let url = format!("{}/search", T::URL);
        let result = SearchResult { object: "search_result", data, has_more, next_page, total_count, url };
        Ok(Outcome::read(answers::ok(&result)))
    }
}

impl<T: Kept + Searchable> Call for Search<T> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        self.answer(T::table(world.state).rows(), world)
    }
}

impl Call for Search<Customer> {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        self.answer(&world.state.all_customers(world.options), world)
    }
}

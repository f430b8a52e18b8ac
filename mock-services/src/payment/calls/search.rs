//! `GET /v1/charges/search` and the other searches.

use std::sync::Arc;

use serde::Serialize;

use super::expand::{Expand, Expands, Fresh};
use super::read::{SharedObject, Stored};
use super::{ApiCall, CallContext, CallOutcome};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::errors::{PaymentError, Refused};
use crate::payment::list::limit;
use crate::payment::objects::{Customer, Price, Product};
use crate::payment::params::Params;
use crate::payment::search::{Query, SearchResult, Searchable, parse};
use crate::service::Fields;

/// A search.
#[derive(Debug)]
pub(crate) struct SearchObjects<T> {
    query: Query,
    limit: usize,
    /// The last object of the previous page.
    page: Option<String>,
    expand: Expand,
    kind: std::marker::PhantomData<T>,
}

impl<T: Searchable> SearchObjects<T> {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::SEARCH, allowed::COMMON])?;
        let query = params.required("query")?;
        fields.set("object", T::KIND);
        fields.set("query", query);
        Ok(SearchObjects {
            query: parse::<T>(query)?,
            limit: limit(params)?,
            page: params.owned("page")?,
            expand: Expand::of_list::<T>(params)?,
            kind: std::marker::PhantomData,
        })
    }

    fn answer(&self, rows: &[Arc<T>], context: &CallContext<'_>) -> Result<CallOutcome, Refused>
    where
        T: Expands + Serialize,
    {
        let end = match &self.page {
            None => rows.len(),
            Some(page) => rows.iter().rposition(|row| row.id() == page).ok_or_else(|| {
                Box::new(
                    PaymentError::invalid(
                        "Invalid page token. Please use the next_page of a previous search.",
                    )
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
            .map(|row| SharedObject(row.expanded(&self.expand, context, &Fresh::default())))
            .collect();
        let url = format!("{}/search", T::URL);
        let result = SearchResult { object: "search_result", data, has_more, next_page, total_count, url };
        Ok(CallOutcome::read(answers::ok(&result)))
    }
}

impl<T: Stored + Searchable> ApiCall for SearchObjects<T> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(T::table(context.state).rows(), context)
    }
}

impl ApiCall for SearchObjects<Customer> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_customers(context.options), context)
    }
}

impl ApiCall for SearchObjects<Product> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_products(context.options), context)
    }
}

impl ApiCall for SearchObjects<Price> {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        self.answer(&context.state.all_prices(context.options), context)
    }
}

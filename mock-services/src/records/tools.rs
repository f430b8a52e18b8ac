//! The tools of the record store, for agents that get tools and not an API.

use crate::description::{ParameterType, ToolDescription};

const KEY: &str = "The key of the record.";
const COUNTER: &str = "The name of the counter.";
const MATCH: &str = "Only if the record still has this version: \"3\", with the quotation marks.";

/// All tools.
pub(super) fn all() -> Vec<ToolDescription> {
    use ParameterType::{Any, Integer, Text};
    let all = [
        ToolDescription::new(
            "records_put",
            "records.put",
            "PUT",
            "/records/{key}",
            "Writes a record. It replaces the value and gives the record a new version.",
        )
        .json()
        .keyed()
        .destructive()
        .path("key", KEY)
        .required("value", Any, "The value: any JSON.")
        .header("if_match", "If-Match", MATCH)
        .header("if_none_match", "If-None-Match", "`*`: only if there is no such record."),
        ToolDescription::new(
            "records_delete",
            "records.delete",
            "DELETE",
            "/records/{key}",
            "Removes a record.",
        )
        .destructive()
        .repeatable()
        .path("key", KEY)
        .header("if_match", "If-Match", MATCH),
        ToolDescription::new(
            "records_increment",
            "records.increment",
            "POST",
            "/counters/{counter}/increment",
            "Adds to a counter. A second call adds again, unless both calls have the same idempotency key.",
        )
        .json()
        .keyed()
        .path("counter", COUNTER)
        .optional("by", Integer, "The number to add; 1 by default."),
        ToolDescription::new(
            "records_get",
            "records.get",
            "GET",
            "/records/{key}",
            "Returns a record and its version.",
        )
        .path("key", KEY),
        ToolDescription::new(
            "records_list",
            "records.list",
            "GET",
            "/records",
            "Lists records, sorted by key.",
        )
        .query("prefix", Text, "Only keys that begin with this text.")
        .query("after", Text, "Only keys after this one.")
        .query("limit", Integer, "The maximum number of records, from 1 to 1000; 100 by default."),
        ToolDescription::new(
            "records_get_counter",
            "records.counter",
            "GET",
            "/counters/{counter}",
            "Returns the value of a counter.",
        )
        .path("counter", COUNTER),
    ];
    all.into_iter().map(ToolDescription::closed_world).collect()
}

//! Requests to the record store, and what its reads show. Everything here is right: each write has a condition, so it
//! can be sent again.

use serde_json::{Value, json};

use crate::once::{Sight, once};
use crate::program::Outcome;
use crate::world::{Reply, Request, World, escaped};

/// The version that a write expects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// The record does not exist.
    Nothing,
    /// Whatever is there.
    Anything,
}

/// The request that writes a record.
pub(crate) fn put(key: &str, value: &Value, expected: Expected) -> Request {
    let request = Request::json("records", "PUT", &path(key), &json!({ "value": value }));
    match expected {
        Expected::Nothing => request.header("If-None-Match", "*"),
        Expected::Anything => request,
    }
}

/// Reads a record once: `null` if there is none, `None` without an answer.
pub(crate) fn get(world: &World, key: &str) -> Option<Value> {
    world.read("records", &path(key), 1)
}

/// Reads once whether a record has been written this often, which a later value shows as well.
pub(crate) fn look_version(world: &World, key: &str, version: u64) -> Sight {
    let read = get(world, key);
    Sight::of(read.map(|record| record["version"].as_u64() >= Some(version) && record["key"] == key))
}

/// Creates a record once, unless it exists.
pub(crate) fn create_once(world: &World, key: &str, value: &Value) -> (Outcome, Reply) {
    once(world, |_| put(key, value, Expected::Nothing), || look_version(world, key, 1))
}

/// Creates the record with which every worker says that it has begun, unless it exists.
pub(crate) fn begin(world: &World, what: &str) -> Outcome {
    create_once(world, what, &json!("begun")).0
}

fn path(key: &str) -> String {
    format!("/records/{}", escaped(key))
}

//! The shipped profiles as one table: for the terminal, as JSON, and as a page of the docs.

use std::fmt::Write;

use serde_json::Value;
use yaml_reader::write_duration;

use super::{ConcurrencyRule, ExpiryRule, KeyPlace, KeyRules, Lifetime, MismatchRule, Profile, ReplayRule};
use crate::after::After;

/// The columns with facts: their title, the field that each is about, and its value.
type Column = (&'static str, &'static str, fn(&KeyRules) -> String);

const COLUMNS: [Column; 9] = [
    ("key", "key", key),
    ("scope", "scope", scope),
    ("kept", "lifetime", kept),
    ("stored", "stores", |rules| rules.stores.to_string()),
    ("repeated request", "replay", repeated),
    ("other body", "mismatch", other_body),
    ("at the same time", "concurrent", at_the_same_time),
    ("later", "after", later),
    ("429", "rate_limit", |rules| format!("{} the key", rules.rate_limit)),
];

fn key(rules: &KeyRules) -> String {
    let Some(place) = &rules.key else { return "–".to_owned() };
    let required = if rules.required { ", required" } else { "" };
    let condition = rules.with.as_ref().map(|(place, value)| format!(", with {place}: {value}"));
    let mark = mark(rules, "max");
    let lengths = match (place, rules.min) {
        (KeyPlace::Content | KeyPlace::Id, _) => String::new(),
        (_, 1) => format!(", up to {}{mark}", rules.max),
        (_, min) => format!(", {min} to {}{mark}", rules.max),
    };
    format!("{place}{lengths}{required}{}", condition.unwrap_or_default())
}

fn scope(rules: &KeyRules) -> String {
    match rules.identity.as_slice() {
        [] => rules.scope.to_string(),
        fields => format!("{}, {}", rules.scope, fields.join(", ")),
    }
}

fn kept(rules: &KeyRules) -> String {
    let time = match rules.lifetime {
        Lifetime::For(After::Time(time)) => in_words(time),
        Lifetime::For(After::Requests(requests)) => format!("{requests} requests"),
        Lifetime::For(After::Settled) => "for ever".to_owned(),
        Lifetime::WhileOpen(_) => "while it is open".to_owned(),
    };
    match rules.budget {
        Some(budget) => {
            let marked = [mark(rules, "lifetime"), mark(rules, "budget")];
            format!("{time}{}, at most {budget} answers{}", marked[0], marked[1])
        }
        None => time + mark(rules, "lifetime"),
    }
}

/// `6 h` for `360m`.
fn in_words(time: std::time::Duration) -> String {
    const HOUR: u64 = 60 * 60;
    match time.as_secs() {
        seconds if seconds >= 48 * HOUR && seconds % (24 * HOUR) == 0 => {
            format!("{} d", seconds / (24 * HOUR))
        }
        seconds if seconds >= HOUR && seconds % HOUR == 0 => format!("{} h", seconds / HOUR),
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => write_duration(time),
    }
}

fn repeated(rules: &KeyRules) -> String {
    let sure = mark(rules, "replay");
    if rules.replay == ReplayRule::Refuse {
        return format!("{}{sure}", rules.refusals.used.status);
    }
    let status = rules.replay_status.map(|status| format!(", {status}")).unwrap_or_default();
    let headers = rules.marker.iter().map(|(name, _)| format!(", {name}{}", mark(rules, "marker")));
    format!("{}{sure}{status}{}", rules.replay, headers.collect::<String>())
}

/// A `?` for a field that is not verified.
fn mark(rules: &KeyRules, field: &str) -> &'static str {
    if rules.unverified.iter().any(|name| name == field) { " ?" } else { "" }
}

fn other_body(rules: &KeyRules) -> String {
    match rules.mismatch {
        MismatchRule::Refuse if rules.key == Some(KeyPlace::Content) => "–".to_owned(),
        MismatchRule::Refuse => rules.refusals.other_body.status.to_string(),
        other => other.to_string(),
    }
}

fn at_the_same_time(rules: &KeyRules) -> String {
    match rules.concurrent {
        ConcurrencyRule::Refuse => rules.refusals.in_flight.status.to_string(),
        other => other.to_string(),
    }
}

fn later(rules: &KeyRules) -> String {
    match (rules.lifetime, rules.after) {
        (Lifetime::For(After::Settled), _) => "–".to_owned(),
        (_, ExpiryRule::Refuse) => rules.refusals.ended.status.to_string(),
        (_, rule) => rule.to_string(),
    }
}

/// The file of a provider, to be changed.
const OWN: &str = "\
  # acme.yaml
  about: \"Acme: what is special about its keys.\"
  source: docs.acme.example/idempotency
  key: header.Idempotency-Key
  stores: started
  replay: first
  mismatch: refuse
  concurrent: refuse
  lifetime: 1440m
";

/// The cells of a profile: its name, and what is known of it. A `?` marks what is not verified.
fn cells(profile: Profile) -> Vec<String> {
    let rules = profile.idempotency().rules();
    let cell = |(_, field, value): &Column| {
        let text = if rules.key.is_none() { "–".to_owned() } else { value(rules) };
        // The cells with several facts have marked each of them.
        let is_one = !["lifetime", "replay"].contains(field) && text != "–";
        if is_one { format!("{text}{}", mark(rules, field)) } else { text }
    };
    std::iter::once(profile.to_string()).chain(COLUMNS.iter().map(cell)).collect()
}

fn titles() -> impl Iterator<Item = &'static str> {
    std::iter::once("profile").chain(COLUMNS.iter().map(|(title, ..)| *title))
}

/// The table for a terminal.
#[must_use]
pub fn profiles_text() -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(titles().map(str::to_owned).collect()).chain(Profile::ALL.map(cells)).collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(wide).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out.push_str("\n?: the provider's documentation does not confirm it\n");
    let _ = write!(
        out,
        "\nYour provider is not among them? Write its file, and name it: `idempotency: acme.yaml`\n{OWN}"
    );
    out
}

/// One JSON object for each profile, on one line each.
#[must_use]
pub fn profiles_json() -> String {
    let line = |profile: Profile| {
        let mut value = serde_json::to_value(profile.idempotency().rules()).unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.insert("name".to_owned(), profile.as_str().into());
            members.remove("only_there");
        }
        format!("{value}\n")
    };
    Profile::ALL.map(line).concat()
}

/// The page of the docs.
#[must_use]
pub fn profiles_page() -> String {
    let mut out = String::from(
        "# Idempotency profiles\n\nHow real providers treat a repeated write. `idempotency: NAME` gives a service \
         of a scenario that behavior,\nand a map changes it: `{ extends: stripe, lifetime: { requests: 3 } }` \
         ([scenarios](scenarios.md)).\nA `?` marks what the documentation of the provider does not \
         confirm. Most providers are as `none`.\n\n",
    );
    // Writing into a string cannot fail.
    let _ = writeln!(out, "| {} |", titles().collect::<Vec<_>>().join(" | "));
    let _ = writeln!(out, "|{}", " --- |".repeat(COLUMNS.len() + 1));
    for profile in Profile::ALL {
        let mut cells = cells(profile);
        cells[0] = format!("`{}`", cells[0]);
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let own = OWN.lines().map(|line| line.trim_start()).collect::<Vec<_>>().join("\n");
    let _ = writeln!(
        out,
        "\n## Your own\n\nA provider that is not among them is a file beside the scenario, or beside `hapax.yaml`: \
         `idempotency: acme.yaml`.\n\n```yaml\n{own}\n```\n\nThe place of the key must identify a \
         request. Headers that a client sends with every request (`User-Agent`, `Authorization`, `Cookie`,\n`Host`, \
         `Accept…`, `Content-…`, API keys) are refused: every write would be a repetition of the first, and no \
         duplicate would be seen.\nA field with one value for two intents makes the trial void, and one with one value \
         in two different tasks the run."
    );
    out.push_str("\n## Sources\n\n| profile | what it is | source | hosts |\n| --- | --- | --- | --- |\n");
    for profile in Profile::ALL {
        let KeyRules { about, source, hosts, .. } = profile.idempotency().rules();
        let hosts: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
        let hosts = if hosts.is_empty() { "–".to_owned() } else { hosts.join(", ") };
        let _ = writeln!(out, "| `{profile}` | {about} | {source} | {hosts} |");
    }
    out
}

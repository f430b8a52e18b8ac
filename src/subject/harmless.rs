//! Requests to hosts outside of a trial that programs send by themselves, and that no task asks for: telemetry, and files
//! that are the same for everybody. The rows are in `harmless_hosts.txt`. Pure.

use std::sync::LazyLock;

use mock_services::catalog::is_match;

static ROWS: LazyLock<Vec<HarmlessRow>> =
    LazyLock::new(|| lines().filter_map(|line| HarmlessRow::parse(line).ok()).collect());

/// The lines of the file that have a row.
fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("harmless_hosts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// What a host is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostUse {
    /// For nothing but the requests of its row.
    Own,
    /// For other things, too.
    Shared,
}

/// A row of the file. Who sends it, and the source, are for readers.
#[derive(Debug)]
struct HarmlessRow {
    host: &'static str,
    port: Option<u16>,
    methods: Vec<&'static str>,
    paths: Vec<&'static str>,
    host_use: HostUse,
}

impl HarmlessRow {
    fn parse(line: &'static str) -> Result<Self, String> {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kind, host, methods, paths, host_use, sender, source] = columns[..] else {
            return Err(format!("{} columns and not seven: {line}", columns.len()));
        };
        if !["telemetry", "static"].contains(&kind) {
            return Err(format!("the kind is `{kind}`, not `telemetry` or `static`: {line}"));
        }
        if [host, methods, paths, sender, source].iter().any(|column| column.is_empty()) {
            return Err(format!("an empty column: {line}"));
        }
        let (host, port) = match host.split_once(':') {
            None => (host, None),
            Some((host, port)) => (host, Some(port.parse().map_err(|_| format!("not a port: {line}"))?)),
        };
        let host_use = match host_use {
            "own" => HostUse::Own,
            "shared" => HostUse::Shared,
            other => return Err(format!("the host is `{other}`, not `own` or `shared`: {line}")),
        };
        let (methods, paths) = (methods.split(',').collect(), paths.split(' ').collect());
        Ok(HarmlessRow { host, port, methods, paths, host_use })
    }

    fn is_of(&self, host: &str, port: u16) -> bool {
        is_match(self.host, host) && self.port.is_none_or(|own| own == port)
    }
}

fn rows_of(host: &str, port: u16) -> impl Iterator<Item = &'static HarmlessRow> {
    ROWS.iter().filter(move |row| row.is_of(host, port))
}

/// Whether some requests to this host, whose name is in lower case, are harmless.
pub(super) fn is_listed(host: &str, port: u16) -> bool {
    rows_of(host, port).next().is_some()
}

/// Whether a request is harmless. The path is without its query.
pub(super) fn is_harmless(host: &str, port: u16, method: &str, path: &str) -> bool {
    rows_of(host, port)
        .any(|row| row.methods.contains(&method) && row.paths.iter().any(|pattern| is_match(pattern, path)))
}

/// Whether a connection is harmless of which nobody can read the requests.
pub(super) fn is_harmless_unread(host: &str, port: u16) -> bool {
    is_listed(host, port) && rows_of(host, port).all(|row| row.host_use == HostUse::Own)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::real_hosts;

    #[test]
    fn every_row_can_be_read_and_has_a_sender_and_a_source() {
        let problems: Vec<String> = lines().filter_map(|line| HarmlessRow::parse(line).err()).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        assert!(ROWS.len() >= 30, "{}", ROWS.len());
        let methods: BTreeSet<&str> = ROWS.iter().flat_map(|row| row.methods.iter().copied()).collect();
        assert_eq!(methods, BTreeSet::from(["GET", "HEAD", "PATCH", "POST"]));
        for row in ROWS.iter() {
            assert_eq!(row.host, row.host.to_lowercase());
            assert!(row.paths.iter().all(|path| path.starts_with('/')), "{row:?}");
            assert!(row.paths.iter().all(|path| *path != "/*"), "{row:?} has every path");
        }
    }

    #[test]
    fn a_row_with_a_mistake_is_not_read() {
        let row = "static | a.example | GET | /a | own | a program | a page";
        assert!(HarmlessRow::parse(row).is_ok());
        for (right, wrong) in [
            ("static", "file"),
            ("own", "all"),
            ("a.example", "a.example:x"),
            ("| a page", "|"),
            (" | /a", ""),
        ] {
            let line: &'static str = Box::leak(row.replacen(right, wrong, 1).into_boxed_str());
            assert!(HarmlessRow::parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn another_method_another_path_and_another_host_are_not_harmless() {
        for (host, method, path) in [
            ("errors.stripe.com", "POST", "/api/426/store/"),
            ("r.stripe.com", "POST", "/0"),
            ("openaipublic.blob.core.windows.net", "GET", "/encodings/o200k_base.tiktoken"),
            ("api.smith.langchain.com", "POST", "/runs/batch"),
            ("o1.ingest.us.sentry.io", "POST", "/api/1/envelope/"),
        ] {
            assert!(is_harmless(host, 443, method, path), "{method} {host}{path}");
            assert!(!is_harmless(host, 443, "DELETE", path), "{host}");
            assert!(!is_harmless(host, 443, method, "/v1/charges"), "{host}");
            assert!(!is_harmless(&format!("{host}.example"), 443, method, path), "{host}");
            assert!(!is_harmless("api.example.com", 443, method, path), "{path}");
        }
        assert!(!is_harmless(
            "openaipublic.blob.core.windows.net",
            443,
            "PUT",
            "/encodings/o200k_base.tiktoken"
        ));
        assert!(!is_harmless("api.smith.langchain.com", 443, "POST", "/datasets"));
        assert!(is_harmless("collector", 4318, "POST", "/v1/traces"));
        assert!(!is_harmless("collector", 4318, "POST", "/v1/charges"));
        assert!(!is_harmless("collector", 80, "POST", "/v1/traces"));
    }

    #[test]
    fn only_a_host_that_does_nothing_else_is_harmless_where_nothing_can_be_read() {
        for (host, port) in [
            ("o1.ingest.us.sentry.io", 443),
            ("telemetry.crewai.com", 4319),
            ("errors.stripe.com", 443),
            ("openaipublic.blob.core.windows.net", 443),
            ("collector", 4317),
        ] {
            assert!(is_harmless_unread(host, port), "{host}:{port}");
        }
        for host in [
            "api.stripe.com",
            "sentry.io",
            "us.posthog.com",
            "ingest.sentry.io.example.com",
            "huggingface.co",
        ] {
            assert!(!is_harmless_unread(host, 443), "{host}");
        }
    }

    #[test]
    fn no_real_host_of_a_service_is_listed() {
        for (_, real) in real_hosts() {
            assert!(!is_listed(real.host, 443), "{}", real.host);
        }
    }
}

//! The live page at the address of the admin API: services, faults and the ledger as it grows. The page itself has
//! no data and no token: its script asks the API with the token that the user gives it.

use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse, Response};
use maud::html;

use crate::report::{Frame, PageScript, frame};

const SCRIPT: &str = concat!("'use strict';\n", include_str!("live.js"));

/// What the button for a reset does.
const RESET: &str = "A reset removes all effects and starts a new ledger. It does not clear faults: a fault that was \
                     already applied is armed again.";

/// Headers against frames around the page, copies of it, and its address in requests to others.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The page as a response.
pub(super) async fn live() -> Response {
    (HEADERS, Html(page())).into_response()
}

fn page() -> String {
    let body = html! {
        header {
            p.brand {
                span #state.verdict.void role="status" { "○ not connected" }
                " hapax " (env!("CARGO_PKG_VERSION"))
            }
            h1 { "Mock services" }
            form #login hidden {
                label { "Token " input #token name="token" type="password" autocomplete="off" required; }
                " " button { "Connect" }
                p.faint {
                    "`hapax serve` prints it when it starts, as HAPAX_ADMIN_TOKEN, and in the link to this page."
                }
            }
            noscript { p.warning { "This page needs JavaScript. The admin API works without it." } }
        }
        main #live hidden {
            section aria-labelledby="services-title" {
                h2 #services-title { "Services" }
                div.wide-table { table.stacked { tbody #services {} } }
            }
            section aria-labelledby="faults-title" {
                h2 #faults-title { "Faults" }
                p.legend {
                    "What the service commits (rows) × what the caller sees (columns). Select a cell to arm it, and "
                    "again to clear it."
                }
                p.actions {
                    label { "Operation " select #operation {} }
                    label { "For " select #attempts {
                        option value="1" { "the next attempt" }
                        option value="every" { "every attempt" }
                    } }
                    button #clear type="button" { "Clear all faults" }
                }
                div.squares { table #square.square {} }
                p #problem.warning role="alert" hidden {}
                ul #armed {}
            }
            section aria-labelledby="effects-title" {
                h2 #effects-title { "Effects" }
                p #no-effects { "Nothing was committed." }
                div.wide-table { table.stacked { tbody #effects {} } }
            }
            section #outbox aria-labelledby="events-title" hidden {
                h2 #events-title { "Events" }
                p.actions {
                    label { input #hold type="checkbox"; " Hold new events, to send them in another order" }
                    button #newest-first type="button" { "Send all, newest first" }
                }
                p #no-events { "No event was made." }
                div.wide-table { table.stacked { tbody #events {} } }
            }
            section aria-labelledby="ledger-title" {
                h2 #ledger-title { "Ledger" }
                p.actions {
                    button #settle type="button" { "Commit what is outstanding" }
                    button #reset type="button" title=(RESET) aria-describedby="reset-does" {
                        "Reset services and ledger"
                    }
                    output #count {}
                }
                p #reset-does.faint { (RESET) }
                ol #entries.ledger tabindex="0" aria-label="Entries of the ledger" {}
            }
        }
    };
    frame(Frame { title: "hapax serve", body, style: "", script: PageScript::Connected(SCRIPT) })
        .into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_only_its_own_server_and_loads_nothing() {
        let page = page();
        assert!(page.contains("default-src 'none'") && page.contains("connect-src 'self'"), "{page}");
        for asking in ["src=", "@import", "url(", "XMLHttpRequest", "<iframe", "innerHTML", "https://"] {
            assert!(!page.contains(asking), "{asking}");
        }
        let lower = SCRIPT.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("<!--"));
    }
}

//! The driver itself: it catches every page that does something that a page must not do.

use crate::kit::browser::check;
use crate::kit::needs::{Test, tests};

const QUIET: &str = "a_page_opens_without_errors";

/// The error of the driver for a page with this body.
fn caught(body: &str) -> String {
    let page = format!("<!doctype html><html lang=en><meta charset=utf-8><title>t</title><body>{body}");
    check(QUIET, &page).expect_err("the page should be caught")
}

async fn a_page_that_does_nothing_is_not_caught() {
    let page =
        "<!doctype html><html lang=en><title>t</title><p>hello <script>console.log(document.title)</script>";
    assert_eq!(check(QUIET, page), Ok(()));
}

async fn a_page_that_logs_an_error_is_caught() {
    assert!(caught("<script>console.error('oh')</script>").contains("it logged an error: oh"));
}

async fn a_page_whose_script_fails_is_caught() {
    assert!(caught("<script>missing.call()</script>").contains("a script failed: ReferenceError"));
    assert!(
        caught("<script>Promise.reject(new Error('later'))</script>")
            .contains("a script failed: Error: later")
    );
}

async fn a_page_that_asks_for_something_is_caught() {
    for body in [
        "<img src='https://example.com/a.png'>",
        "<link rel=stylesheet href='https://example.com/a.css'>",
        "<style>@import 'https://example.com/a.css';</style>",
        "<style>body { background: url('https://example.com/a.png') }</style>",
        "<iframe src='https://example.com/a'></iframe>",
        "<img src='a.png'>",
        "<script>fetch('https://example.com/a').catch(() => {})</script>",
        "<script>navigator.sendBeacon('https://example.com/a')</script>",
    ] {
        let error = caught(body);
        assert!(error.contains("it requested"), "{body}: {error}");
    }
}

async fn a_page_that_opens_a_connection_is_caught() {
    let error = caught("<script>new WebSocket('wss://example.com/a')</script>");
    assert!(error.contains("it opened a connection to wss://example.com/a"), "{error}");
}

async fn a_page_that_opens_a_dialog_is_caught() {
    assert!(caught("<img src='data:,' onerror='alert(1)'>").contains("it opened a dialog: 1"));
}

async fn a_check_that_does_not_exist_is_an_error() {
    assert!(
        check("no_such_check", "").expect_err("it should fail").contains("there is no check no_such_check")
    );
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_page_that_does_nothing_is_not_caught,
        a_page_that_logs_an_error_is_caught,
        a_page_whose_script_fails_is_caught,
        a_page_that_asks_for_something_is_caught,
        a_page_that_opens_a_connection_is_caught,
        a_page_that_opens_a_dialog_is_caught,
        a_check_that_does_not_exist_is_an_error,
    ]
}

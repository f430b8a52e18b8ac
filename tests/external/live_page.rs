//! The live page of `hapax serve` in a real Chromium.

use crate::kit::browser;
use crate::kit::needs::{self, Test};
use crate::kit::serve::Serve;

fn holds(check: &str, with_token: bool) {
    holds_for(&["payment"], check, with_token);
}

fn holds_for(arguments: &[&str], check: &str, with_token: bool) {
    let serve = Serve::start(arguments);
    let page = serve.page();
    let page = if with_token { page } else { page.split('#').next().unwrap_or_default() };
    let found = browser::check_at(check, page).err().unwrap_or_default();
    assert!(found.is_empty(), "{found}");
}

/// The checks of this file.
pub(crate) const CHECKED: &[&str] = &[
    "the_live_page_shows_services_and_the_ledger_as_it_grows",
    "a_cell_of_the_live_square_arms_and_clears_a_fault",
    "every_attempt_can_fail_until_all_faults_are_cleared",
    "a_reset_empties_the_ledger_of_the_live_page",
    "the_live_page_requires_the_token",
    "an_event_is_sent_again_out_of_order_or_signed_wrongly_from_the_live_page",
];

async fn the_live_page_shows_services_and_the_ledger_as_it_grows() {
    holds(CHECKED[0], true);
}

async fn a_cell_of_the_live_square_arms_and_clears_a_fault() {
    holds(CHECKED[1], true);
}

async fn every_attempt_can_fail_until_all_faults_are_cleared() {
    holds(CHECKED[2], true);
}

async fn a_reset_empties_the_ledger_of_the_live_page() {
    holds(CHECKED[3], true);
}

async fn the_live_page_requires_the_token() {
    holds(CHECKED[4], false);
}

async fn an_event_is_sent_again_out_of_order_or_signed_wrongly_from_the_live_page() {
    // No process listens at this port.
    holds_for(&["payment", "--send-to", "http://127.0.0.1:9/hooks"], CHECKED[5], true);
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    needs::tests![
        the_live_page_shows_services_and_the_ledger_as_it_grows,
        a_cell_of_the_live_square_arms_and_clears_a_fault,
        every_attempt_can_fail_until_all_faults_are_cleared,
        a_reset_empties_the_ledger_of_the_live_page,
        the_live_page_requires_the_token,
        an_event_is_sent_again_out_of_order_or_signed_wrongly_from_the_live_page,
    ]
}

//! The page of a report in a real Chromium: with the mouse, with the keyboard, in dark mode and on paper.

use super::runs;
use crate::kit::browser;
use crate::kit::needs::{self, Test};
use hapax::report::{RunLinks, compare_page, history_page, page, page_so_far};
use hapax::results::{Report, SavedLedgers, compare, history};

fn holds(check: &str, (report, ledgers): (Report, SavedLedgers)) {
    holds_on(check, &page(&report, &ledgers));
}

fn holds_on(check: &str, page: &str) {
    let found = browser::check(check, page).err().unwrap_or_default();
    assert!(found.is_empty(), "{found}");
}

/// One test for each check, with the run whose page it checks.
macro_rules! checks {
    ($($run:ident { $($check:ident,)+ })+) => {
        $($(
            async fn $check() {
                holds(stringify!($check), runs::$run());
            }
        )+)+

        const CHECKED: &[&str] = &[$($(stringify!($check)),+),+];

        fn checks() -> Vec<Test> {
            needs::tests![$($($check),+),+]
        }
    };
}

checks! {
    usual {
        a_page_opens_without_errors,
        a_page_says_what_it_is,
        a_page_can_be_read_everywhere,
        the_page_leads_with_what_happened_to_the_customer,
        a_cell_of_a_square_shows_only_its_cases,
        failures_come_first_and_passes_are_folded,
        the_list_can_be_sorted,
        every_cell_of_a_square_has_a_shape_and_words,
        a_phone_shows_the_words_of_the_timeline,
        twelve_callers_can_be_told_apart,
        enter_shows_the_request_and_the_reply_of_an_entry,
        the_request_and_the_reply_are_shown_on_demand,
        a_link_and_the_replay_command_can_be_copied,
        the_controls_are_explained_and_folded,
        a_tag_shows_only_its_cases,
        an_outcome_shows_only_its_cases,
        a_service_shows_only_its_cases,
        a_text_shows_only_the_cases_that_contain_it,
        filters_combine_and_can_be_reset,
        the_worst_case_is_open_at_first_unless_filters_hide_it,
        the_number_of_visible_cases_is_shown,
        a_reload_keeps_filters_and_the_open_case,
        going_back_undoes_the_last_step,
        a_link_to_a_case_leads_to_it,
        what_to_fix_first_links_to_its_case_even_if_filters_hide_it,
        an_address_with_unknown_names_does_no_harm,
        a_link_to_an_unknown_case_says_so,
        filters_open_the_first_case_that_they_show,
        keys_in_the_text_filter_open_the_first_case,
        a_square_that_scrolls_says_so,
        tab_reaches_everything_in_order,
        enter_opens_a_case_and_escape_goes_back_to_it,
        arrows_go_from_case_to_case_and_skip_hidden_ones,
        a_slash_goes_to_the_text_filter,
        the_filters_work_by_keyboard,
        arrows_go_through_the_timeline,
        a_finding_is_chosen_by_keyboard_and_keeps_the_focus,
        a_trial_is_chosen_by_keyboard_and_keeps_the_focus,
        the_skip_link_keeps_the_filters,
        a_double_charge_is_drawn,
        the_entries_are_listed_beside_the_drawing,
        hovering_an_entry_shows_it,
        focusing_an_entry_shows_it,
        choosing_a_finding_highlights_its_entries,
        a_kill_and_a_restart_are_drawn,
        another_trial_of_the_case_can_be_chosen,
        light_can_be_read,
        dark_can_be_read,
        every_case_shows_its_outcome_in_words,
        paper_has_all_of_the_timeline_and_no_controls,
        a_small_screen_scrolls_in_one_direction_only,
    }
    crashed {
        the_standard_error_of_a_crash_is_open,
    }
    crowded {
        twelve_callers_and_a_thousand_entries_are_drawn,
    }
    large {
        five_thousand_trials_open_and_can_be_filtered,
        hundreds_of_cases_fit_a_few_screens,
        the_skip_link_leads_to_the_heading_of_the_cases,
    }
}

/// Of the site, not of a page of a report.
const RUN_BY_DOCS_SITE: &str = "the_search_of_the_site_finds_a_page";
const FILLS_UP: &str = "a_page_of_a_running_run_fills_up";
const DOES_NOTHING: &str = "a_hostile_text_is_shown_and_does_nothing";
const BREAKS_NO_WORDS: &str = "the_words_of_a_comparison_do_not_break";
const BREAKS_NO_LAYOUT: &str = "a_hostile_text_breaks_no_layout";
const CAN_BE_READ: &str = "a_hostile_text_can_be_read";

/// Text of a subject runs no script, loads nothing, styles nothing and does not make the page scroll
/// sideways.
fn is_harmless(text: &str) {
    for check in [DOES_NOTHING, BREAKS_NO_LAYOUT] {
        holds(check, runs::hostile(text));
    }
}

async fn a_script_in_every_field_is_shown_and_does_not_run() {
    let text =
        "</script><script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)><!--<script>";
    is_harmless(text);
    holds(CAN_BE_READ, runs::hostile(text));
}

async fn a_style_in_every_field_styles_nothing() {
    is_harmless(
        "</style></textarea></title><style>*{display:none!important}</style><base href=//example.com>",
    );
}

async fn quotes_in_every_field_stay_in_their_attribute() {
    is_harmless(
        "\" onfocus=alert(4) autofocus x=\"' onmouseover=alert(5) '`${alert(6)}`&quot;&#39;&lt;\\\" \
        \\u003cscript>",
    );
}

async fn bidirectional_marks_in_every_field_do_not_reorder_text() {
    is_harmless("\u{202e}drah\u{2066}\u{200f}\u{feff}\u{0}\u{1b}[31m\u{2028}\r\n]]>{{7*7}}");
}

async fn a_megabyte_without_a_space_in_every_field_breaks_no_layout() {
    is_harmless(&"x".repeat(1024 * 1024));
}

async fn the_page_of_a_comparison_opens_without_errors_and_can_be_read() {
    let (old, new) =
        (runs::usual().0, runs::hostile(&format!("<script>alert(1)</script>{}", "x".repeat(1024 * 1024))).0);
    for comparison in [compare(&old, &new), compare(&new, &old), compare(&old, &old)] {
        let page = compare_page(&comparison, Some(&RunLinks::to_folders("reports/a", "reports/b")));
        for check in ["a_page_says_what_it_is", "a_page_can_be_read_everywhere"] {
            holds_on(check, &page);
        }
    }
}

async fn the_page_of_a_history_opens_without_errors_and_can_be_read() {
    let long = format!("<script>alert(1)</script>{}", "x".repeat(1024));
    let (mut fixed, hostile) = (runs::usual().0, runs::hostile(&long).0);
    (fixed.started_at, fixed.cases) = (fixed.started_at + 1, fixed.cases.split_off(5));
    let named = [("a", runs::usual().0), ("b", fixed), (long.as_str(), hostile)];
    let page = history_page(&history(named.map(|(name, run)| (name.to_owned(), run)).to_vec()));
    for check in ["a_page_says_what_it_is", "a_page_can_be_read_everywhere"] {
        holds_on(check, &page);
    }
}

async fn the_words_of_a_comparison_do_not_break() {
    let (old, mut new) = (runs::usual().0, runs::usual().0);
    new.cases.truncate(3);
    for comparison in [compare(&old, &new), compare(&new, &old)] {
        let page = compare_page(&comparison, Some(&RunLinks::to_folders("reports/a", "reports/b")));
        holds_on(BREAKS_NO_WORDS, &page);
    }
}

async fn a_page_of_a_running_run_fills_up() {
    let (mut report, ledgers) = runs::usual();
    report.planned = 20;
    // Then ten trials have ended.
    report.cases.retain(|case| case.id != "payment/verified@n=4");
    holds_on(FILLS_UP, &page_so_far(&report, &ledgers));
}

async fn every_check_has_its_test() {
    let others = [DOES_NOTHING, BREAKS_NO_WORDS, BREAKS_NO_LAYOUT, CAN_BE_READ, FILLS_UP, RUN_BY_DOCS_SITE];
    let mut tested = [CHECKED, &others, super::live_page::CHECKED].concat();
    let mut checks = browser::names();
    tested.sort_unstable();
    checks.sort_unstable();
    assert_eq!(tested, checks);
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    let others: Vec<Test> = needs::tests![
        a_script_in_every_field_is_shown_and_does_not_run,
        a_style_in_every_field_styles_nothing,
        quotes_in_every_field_stay_in_their_attribute,
        bidirectional_marks_in_every_field_do_not_reorder_text,
        a_megabyte_without_a_space_in_every_field_breaks_no_layout,
        the_page_of_a_comparison_opens_without_errors_and_can_be_read,
        the_page_of_a_history_opens_without_errors_and_can_be_read,
        the_words_of_a_comparison_do_not_break,
        a_page_of_a_running_run_fills_up,
        every_check_has_its_test,
    ];
    [checks(), others].concat()
}

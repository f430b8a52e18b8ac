//! The programs, each in a file of its own.

mod audit_charges_again;
mod bad_gateway_uses_other_provider;
mod cancels_when_unsure;
mod check_replaces_key;
mod confirms_another_intent;
mod failed_list_is_empty;
mod failed_page_is_the_end;
mod failed_read_is_zero;
mod falls_back_to_other_endpoint;
mod falls_back_to_other_provider;
mod first_of_a_list_is_the_list;
mod flag_before_capture;
mod follower_takes_over;
mod garbled_hold_held_again;
mod garbled_then_limited_is_new;
mod gateway_timeout_of_the_second_mail;
mod key_changes_after_failure;
mod killed_then_reset_is_new;
mod last_writer_leads;
mod late_capture_charges_anew;
mod late_reply_then_other_endpoint;
mod lease_ends_while_frozen;
mod limited_capture_charges;
mod limited_copy_is_queued;
mod limited_refund_forgets_amount;
mod list_after_two_failures;
mod lock_ends_before_the_refund;
mod lock_file_goes_stale;
mod lock_of_a_dead_process;
mod marker_after_the_read;
mod marker_of_the_dead;
mod next_number_of_a_log;
mod note_of_doubt_changes_key;
mod one_holder_for_all;
mod outbox_sends_again;
mod overwrites_after_conflict;
mod reads_instead_of_a_key;
mod refund_key_stays_behind;
mod refunds_the_latest;
mod request_timeout_changes_key;
mod reset_then_closed_is_new;
mod restart_rolls_back;
mod resumed_refund_forgets_amount;
mod rolls_back_when_unsure;
mod second_hold_after_kill;
mod second_machine_renumbers;
mod second_mail_forgets_the_charge;
mod second_read_decides;
mod splits_the_list;
mod stale_capture_starts_anew;
mod stale_read_after_kill;
mod table_after_effect;
mod third_attempt_is_reworded;
mod third_charge_fresh_key;
mod third_mail_takes_first_key;
mod third_start_takes_new_key;
mod total_of_the_first_page;
mod tried_means_sent;
mod two_limits_other_endpoint;
mod unanswered_check_is_absent;
mod unavailable_is_not_done;
mod unlock_unchecked;
mod unread_capture_charges_anew;
mod unread_customer_is_new;
mod unreadable_staging_is_fine;
mod unseen_refund_again;
mod write_without_condition;

use crate::program::Program;

/// All programs: those that need one fault, two faults, an interrupt, and two callers.
pub(crate) const PROGRAMS: [Program; 67] = [
    third_charge_fresh_key::PROGRAM,
    limited_capture_charges::PROGRAM,
    limited_refund_forgets_amount::PROGRAM,
    failed_page_is_the_end::PROGRAM,
    refunds_the_latest::PROGRAM,
    failed_read_is_zero::PROGRAM,
    third_mail_takes_first_key::PROGRAM,
    confirms_another_intent::PROGRAM,
    unlock_unchecked::PROGRAM,
    garbled_hold_held_again::PROGRAM,
    limited_copy_is_queued::PROGRAM,
    unreadable_staging_is_fine::PROGRAM,
    total_of_the_first_page::PROGRAM,
    audit_charges_again::PROGRAM,
    unread_customer_is_new::PROGRAM,
    first_of_a_list_is_the_list::PROGRAM,
    unseen_refund_again::PROGRAM,
    reads_instead_of_a_key::PROGRAM,
    request_timeout_changes_key::PROGRAM,
    gateway_timeout_of_the_second_mail::PROGRAM,
    failed_list_is_empty::PROGRAM,
    unavailable_is_not_done::PROGRAM,
    bad_gateway_uses_other_provider::PROGRAM,
    late_capture_charges_anew::PROGRAM,
    key_changes_after_failure::PROGRAM,
    third_attempt_is_reworded::PROGRAM,
    falls_back_to_other_endpoint::PROGRAM,
    falls_back_to_other_provider::PROGRAM,
    unanswered_check_is_absent::PROGRAM,
    stale_capture_starts_anew::PROGRAM,
    cancels_when_unsure::PROGRAM,
    tried_means_sent::PROGRAM,
    stale_read_after_kill::PROGRAM,
    second_read_decides::PROGRAM,
    overwrites_after_conflict::PROGRAM,
    outbox_sends_again::PROGRAM,
    check_replaces_key::PROGRAM,
    reset_then_closed_is_new::PROGRAM,
    late_reply_then_other_endpoint::PROGRAM,
    rolls_back_when_unsure::PROGRAM,
    splits_the_list::PROGRAM,
    unread_capture_charges_anew::PROGRAM,
    garbled_then_limited_is_new::PROGRAM,
    two_limits_other_endpoint::PROGRAM,
    list_after_two_failures::PROGRAM,
    table_after_effect::PROGRAM,
    flag_before_capture::PROGRAM,
    refund_key_stays_behind::PROGRAM,
    marker_of_the_dead::PROGRAM,
    second_hold_after_kill::PROGRAM,
    lock_of_a_dead_process::PROGRAM,
    next_number_of_a_log::PROGRAM,
    restart_rolls_back::PROGRAM,
    third_start_takes_new_key::PROGRAM,
    resumed_refund_forgets_amount::PROGRAM,
    second_machine_renumbers::PROGRAM,
    note_of_doubt_changes_key::PROGRAM,
    killed_then_reset_is_new::PROGRAM,
    second_mail_forgets_the_charge::PROGRAM,
    follower_takes_over::PROGRAM,
    lock_ends_before_the_refund::PROGRAM,
    lock_file_goes_stale::PROGRAM,
    write_without_condition::PROGRAM,
    marker_after_the_read::PROGRAM,
    last_writer_leads::PROGRAM,
    one_holder_for_all::PROGRAM,
    lease_ends_while_frozen::PROGRAM,
];

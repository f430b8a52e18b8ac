//! The tools of the approval service, for agents that get tools and not an API.

use crate::description::{ParameterType, ToolDescription};

const ID: &str = "The id of the approval.";

/// All tools.
pub(super) fn all() -> Vec<ToolDescription> {
    use ParameterType::{Object, Text};
    let all = [
        ToolDescription::new(
            "request_approval",
            "approval.request",
            "POST",
            "/approvals",
            "Asks a person whether an operation with these fields may be done. Read the answer with get_approval.",
        )
        .json()
        .keyed()
        .required("operation", Text, "The full name of the operation.")
        .optional("fields", Object, "What the operation is about, such as an order and an amount."),
        ToolDescription::new(
            "get_approval",
            "approval.get",
            "GET",
            "/approvals/{id}",
            "Returns an approval; its status is pending, approved, denied or canceled.",
        )
        .path("id", ID)
        .query("wait", Text, "How long to wait for the answer, at most 60s: 10s."),
        ToolDescription::new(
            "cancel_approval",
            "approval.cancel",
            "POST",
            "/approvals/{id}/cancel",
            "Withdraws a question that has no answer yet.",
        )
        .json()
        .keyed()
        .path("id", ID),
        ToolDescription::new("list_approvals", "approval.list", "GET", "/approvals", "Lists all approvals."),
    ];
    all.into_iter().map(ToolDescription::closed_world).collect()
}

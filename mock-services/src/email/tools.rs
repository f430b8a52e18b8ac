//! The tools of the email service, for agents that get tools and not an API.

use crate::description::{ParameterType, ToolDescription};

/// All tools. Messages over SMTP have none.
pub(super) fn all() -> Vec<ToolDescription> {
    use ParameterType::{Any, Integer, Object, Objects, Text, Texts};
    vec![
        ToolDescription::new(
            "email_send",
            "email.send",
            "POST",
            "/emails",
            "Sends one email to one or more recipients. A second call sends it again, unless both calls have \
             the same idempotency key.",
        )
        .json()
        .keyed()
        .required(
            "from",
            Text,
            "The address of the sender: `shop@shop.example` or `Shop <shop@shop.example>`.",
        )
        .required("to", Texts, "The addresses of the recipients.")
        .required("subject", Text, "The subject.")
        .optional("text", Text, "The text.")
        .optional("html", Text, "The text as HTML.")
        .optional("cc", Texts, "The addresses that get a copy.")
        .optional("bcc", Texts, "The addresses that get a blind copy.")
        .optional("reply_to", Any, "The address for answers.")
        .optional("tags", Objects, "Labels, each with `name` and `value`, for example the order id."),
        ToolDescription::new(
            "email_send_many",
            "email.send",
            "POST",
            "/v3/mail/send",
            "Sends an email of its own to each entry of a list. A second call sends all of them again.",
        )
        .json()
        .required("from", Object, "The sender: {\"email\": \"shop@shop.example\"}.")
        .required(
            "personalizations",
            Objects,
            "One for each email: {\"to\": [{\"email\": \"ann@x.example\"}]}.",
        )
        .optional("subject", Text, "The subject of all of them.")
        .optional("content", Objects, "The text: [{\"type\": \"text/plain\", \"value\": \"…\"}].")
        .optional("custom_args", Object, "Labels, for example {\"order\": \"ord_1\"}."),
        ToolDescription::new(
            "email_list",
            "email.list",
            "GET",
            "/v3/messages",
            "Lists the messages, the newest first, each with its recipient, its subject and whether it was \
             delivered.",
        )
        .query(
            "query",
            Text,
            "A filter, for example unique_args[\"order\"]=\"ord_1\" or to_email=\"ann@x.example\".",
        )
        .query("limit", Integer, "The maximum number of messages, from 1 to 1000; 10 by default."),
        ToolDescription::new(
            "email_get",
            "email.get",
            "GET",
            "/emails/{email}",
            "Returns one email that was sent with email_send.",
        )
        .path("email", "The id that email_send returned."),
    ]
}

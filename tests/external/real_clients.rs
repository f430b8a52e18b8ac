//! Real clients with their default settings: what each does after a lost reply, a false error and a false
//! success. Attempts, effects and keys are from the ledger; the rest is what the client itself reports. The
//! rows are measured: a new version of a client that behaves differently changes them.

use insta::assert_snapshot;

use crate::kit::client::Client;
use crate::kit::needs::{Test, tests};

const fn client(script: &'static str, arguments: &'static [&'static str], operation: &'static str) -> Client {
    Client { script, arguments, operation }
}

async fn a_stripe_client_in_python_sends_a_key_and_does_not_retry() {
    assert_snapshot!(client("python/stripe_client.py", &["client"], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       one       ok                              yes          1
    drop  1        1       one       error: APIConnectionError       -            1
    503   1        1       one       error: APIError                 -            1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
    ");
}

async fn the_stripe_module_in_python_retries_with_the_same_key() {
    assert_snapshot!(client("python/stripe_client.py", &["module"], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
    ");
}

async fn stripe_in_python_makes_a_payment_method_and_charges_it_once() {
    assert_snapshot!(client("python/stripe_methods.py", &[], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
    ");
}

async fn stripe_in_node_retries_with_the_same_key() {
    assert_snapshot!(client("node/stripe.mjs", &[], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: StripeRateLimitError     -            1
    lie   1        0       one       ok                              no           0
    ");
}

async fn resend_in_python_sends_no_key_and_does_not_retry() {
    assert_snapshot!(client("python/resend_client.py", &[], "email.send").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ResendError              -            1
    503   1        1       none      error: ResendError              -            1
    429   1        1       none      error: RateLimitError           -            1
    lie   1        0       none      ok                              no           0
    ");
}

async fn resend_in_node_sends_no_key_and_does_not_retry() {
    assert_snapshot!(client("node/resend.mjs", &[], "email.send").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: application_error        -            1
    503   1        1       none      error: application_error        -            1
    429   1        1       none      error: rate_limit_exceeded      -            1
    lie   1        0       none      ok                              no           0
    ");
}

async fn sendgrid_in_python_does_not_retry() {
    assert_snapshot!(client("python/sendgrid_client.py", &[], "email.send").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: RemoteDisconnected       -            1
    503   1        1       none      error: ServiceUnavailableError  -            1
    429   1        1       none      error: TooManyRequestsError     -            1
    lie   1        0       none      ok                              no           0
    ");
}

async fn sendgrid_in_node_does_not_retry() {
    assert_snapshot!(client("node/sendgrid.mjs", &[], "email.send").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ECONNRESET               -            1
    503   1        1       none      error: 503                      -            1
    429   1        1       none      error: 429                      -            1
    lie   1        0       none      ok                              no           0
    ");
}

async fn pygithub_retries_without_a_key_and_deploys_twice() {
    assert_snapshot!(client("python/github_client.py", &[], "deploy.deploy").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  2        2       none      ok                              yes          2
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
    ");
}

async fn octokit_retries_without_a_key_and_deploys_twice() {
    assert_snapshot!(client("node/octokit.mjs", &[], "deploy.deploy").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  2        2       none      ok                              yes          2
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
    ");
}

async fn smtplib_does_not_retry() {
    assert_snapshot!(client("python/smtp_client.py", &[], "email.send").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              -            1
    drop  1        1       none      error: SMTPServerDisconnected   -            1
    503   1        1       none      error: SMTPDataError            -            1
    429   1        1       none      error: SMTPDataError            -            1
    lie   1        0       none      ok                              -            0
    ");
}

async fn curl_does_not_retry_by_itself() {
    assert_snapshot!(client("curl.sh", &["payment"], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: exit 52                  -            1
    503   1        1       none      error: exit 22                  -            1
    429   1        1       none      error: exit 22                  -            1
    lie   1        0       none      ok                              no           0
    ");
}

async fn curl_that_may_retry_pays_twice_after_an_error() {
    assert_snapshot!(client("curl.sh", &["payment", "--retry", "2"], "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: exit 52                  -            1
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
    ");
}

async fn curl_that_may_retry_and_has_a_key_pays_once() {
    let arguments = &["payment", "--retry", "2", "--retry-all-errors", "-H", "Idempotency-Key: order-o1"];
    assert_snapshot!(client("curl.sh", arguments, "payment.charge").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   2        1       the same  ok                              yes          1
    lie   1        0       one       ok                              no           0
    ");
}

async fn curl_that_may_retry_counts_twice_after_an_error() {
    assert_snapshot!(client("curl.sh", &["records", "--retry", "2"], "records.increment").table().await, @r"
    fault attempts effects keys      client says                     finds its id sees
    none  1        1       none      ok                              -            1
    drop  1        1       none      error: exit 52                  -            1
    503   2        2       none      ok                              -            2
    429   2        2       none      ok                              -            2
    lie   1        0       none      ok                              -            0
    ");
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_stripe_client_in_python_sends_a_key_and_does_not_retry,
        the_stripe_module_in_python_retries_with_the_same_key,
        stripe_in_python_makes_a_payment_method_and_charges_it_once,
        stripe_in_node_retries_with_the_same_key,
        resend_in_python_sends_no_key_and_does_not_retry,
        resend_in_node_sends_no_key_and_does_not_retry,
        sendgrid_in_python_does_not_retry,
        sendgrid_in_node_does_not_retry,
        pygithub_retries_without_a_key_and_deploys_twice,
        octokit_retries_without_a_key_and_deploys_twice,
        smtplib_does_not_retry,
        curl_does_not_retry_by_itself,
        curl_that_may_retry_pays_twice_after_an_error,
        curl_that_may_retry_and_has_a_key_pays_once,
        curl_that_may_retry_counts_twice_after_an_error,
    ]
}

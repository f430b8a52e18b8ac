//! What each real client does with its default settings after a lost reply, a false error and a false
//! success: one row for each fault on the first attempt of its main write. Attempts, effects and keys are
//! from the ledger; the rest is what the client itself reports. The rows are measured: a new version of a
//! client that behaves differently changes them.

use crate::kit::client::{Client, MeasuredClient};

const fn client(
    script: &'static str,
    arguments: &'static [&'static str],
    operation: &'static str,
    rows: &'static str,
) -> MeasuredClient {
    MeasuredClient { client: Client { script, arguments, operation }, rows }
}

// The columns of the rows:
//  fault attempts effects keys      client says                     finds its id sees

pub(crate) const STRIPE_CLIENT_PYTHON: MeasuredClient = client(
    "python/stripe_client.py",
    &["client"],
    "payment.charge",
    "
    none  1        1       one       ok                              yes          1
    drop  1        1       one       error: APIConnectionError       -            1
    503   1        1       one       error: APIError                 -            1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const STRIPE_MODULE_PYTHON: MeasuredClient = client(
    "python/stripe_client.py",
    &["module"],
    "payment.charge",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const STRIPE_METHODS_PYTHON: MeasuredClient = client(
    "python/stripe_methods.py",
    &[],
    "payment.charge",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const STRIPE_PRODUCTS_PYTHON: MeasuredClient = client(
    "python/stripe_products.py",
    &[],
    "payment.product",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: RateLimitError           -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const STRIPE_PRICES_NODE: MeasuredClient = client(
    "node/stripe_prices.mjs",
    &[],
    "payment.price",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: StripeRateLimitError     -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const STRIPE_NODE: MeasuredClient = client(
    "node/stripe.mjs",
    &[],
    "payment.charge",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   1        1       one       error: StripeRateLimitError     -            1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const RESEND_PYTHON: MeasuredClient = client(
    "python/resend_client.py",
    &[],
    "email.send",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ResendError              -            1
    503   1        1       none      error: ResendError              -            1
    429   1        1       none      error: RateLimitError           -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const RESEND_NODE: MeasuredClient = client(
    "node/resend.mjs",
    &[],
    "email.send",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: application_error        -            1
    503   1        1       none      error: application_error        -            1
    429   1        1       none      error: rate_limit_exceeded      -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const SENDGRID_PYTHON: MeasuredClient = client(
    "python/sendgrid_client.py",
    &[],
    "email.send",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: RemoteDisconnected       -            1
    503   1        1       none      error: ServiceUnavailableError  -            1
    429   1        1       none      error: TooManyRequestsError     -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const SENDGRID_NODE: MeasuredClient = client(
    "node/sendgrid.mjs",
    &[],
    "email.send",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ECONNRESET               -            1
    503   1        1       none      error: 503                      -            1
    429   1        1       none      error: 429                      -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const PYGITHUB: MeasuredClient = client(
    "python/github_client.py",
    &[],
    "deploy.deploy",
    "
    none  1        1       none      ok                              yes          1
    drop  2        2       none      ok                              yes          2
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const OCTOKIT: MeasuredClient = client(
    "node/octokit.mjs",
    &[],
    "deploy.deploy",
    "
    none  1        1       none      ok                              yes          1
    drop  2        2       none      ok                              yes          2
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const SMTPLIB: MeasuredClient = client(
    "python/smtp_client.py",
    &[],
    "email.send",
    "
    none  1        1       none      ok                              -            1
    drop  1        1       none      error: SMTPServerDisconnected   -            1
    503   1        1       none      error: SMTPDataError            -            1
    429   1        1       none      error: SMTPDataError            -            1
    lie   1        0       none      ok                              -            0
",
);

pub(crate) const CURL: MeasuredClient = client(
    "curl.sh",
    &["payment"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: exit 52                  -            1
    503   1        1       none      error: exit 22                  -            1
    429   1        1       none      error: exit 22                  -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const CURL_RETRY: MeasuredClient = client(
    "curl.sh",
    &["payment", "--retry", "2"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: exit 52                  -            1
    503   2        2       none      ok                              yes          2
    429   2        2       none      ok                              yes          2
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const CURL_RETRY_KEY: MeasuredClient = client(
    "curl.sh",
    &["payment", "--retry", "2", "--retry-all-errors", "-H", "Idempotency-Key: order-o1"],
    "payment.charge",
    "
    none  1        1       one       ok                              yes          1
    drop  2        1       the same  ok                              yes          1
    503   2        1       the same  ok                              yes          1
    429   2        1       the same  ok                              yes          1
    lie   1        0       one       ok                              no           0
",
);

pub(crate) const CURL_RETRY_COUNTER: MeasuredClient = client(
    "curl.sh",
    &["records", "--retry", "2"],
    "records.increment",
    "
    none  1        1       none      ok                              -            1
    drop  1        1       none      error: exit 52                  -            1
    503   2        2       none      ok                              -            2
    429   2        2       none      ok                              -            2
    lie   1        0       none      ok                              -            0
",
);

pub(crate) const REQUESTS: MeasuredClient = client(
    "python/http_library.py",
    &["requests"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ConnectionError          -            1
    503   1        1       none      error: HTTPError                -            1
    429   1        1       none      error: HTTPError                -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const HTTPX: MeasuredClient = client(
    "python/http_library.py",
    &["httpx"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: RemoteProtocolError      -            1
    503   1        1       none      error: HTTPStatusError          -            1
    429   1        1       none      error: HTTPStatusError          -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const AIOHTTP: MeasuredClient = client(
    "python/http_library.py",
    &["aiohttp"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: ServerDisconnectedError  -            1
    503   1        1       none      error: ClientResponseError      -            1
    429   1        1       none      error: ClientResponseError      -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const URLLIB: MeasuredClient = client(
    "python/http_library.py",
    &["urllib"],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: RemoteDisconnected       -            1
    503   1        1       none      error: HTTPError                -            1
    429   1        1       none      error: HTTPError                -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const GO_NET_HTTP: MeasuredClient = client(
    "go/client.go",
    &[],
    "payment.charge",
    "
    none  1        1       none      ok                              yes          1
    drop  1        1       none      error: EOF                      -            1
    503   1        1       none      error: 503                      -            1
    429   1        1       none      error: 429                      -            1
    lie   1        0       none      ok                              no           0
",
);

pub(crate) const BOTO3_SES: MeasuredClient = client(
    "python/ses_client.py",
    &[],
    "web.post",
    "
    none  1        1       none      ok                              -            1
    drop  2        2       none      ok                              -            2
    503   2        2       none      ok                              -            2
    429   2        2       none      ok                              -            2
    lie   1        0       none      ok                              -            0
",
);

//! Real clients with their default settings against the services: the rows of `client_rows.rs`.

use super::client_rows;
use crate::kit::needs::{Test, tests};

async fn a_stripe_client_in_python_sends_a_key_and_does_not_retry() {
    client_rows::STRIPE_CLIENT_PYTHON.assert_rows().await;
}

async fn the_stripe_module_in_python_retries_with_the_same_key() {
    client_rows::STRIPE_MODULE_PYTHON.assert_rows().await;
}

async fn stripe_in_python_makes_a_payment_method_and_charges_it_once() {
    client_rows::STRIPE_METHODS_PYTHON.assert_rows().await;
}

async fn stripe_in_python_creates_a_product_once() {
    client_rows::STRIPE_PRODUCTS_PYTHON.assert_rows().await;
}

async fn stripe_in_node_creates_a_price_once() {
    client_rows::STRIPE_PRICES_NODE.assert_rows().await;
}

async fn stripe_in_node_retries_with_the_same_key() {
    client_rows::STRIPE_NODE.assert_rows().await;
}

async fn resend_in_python_sends_no_key_and_does_not_retry() {
    client_rows::RESEND_PYTHON.assert_rows().await;
}

async fn resend_in_node_sends_no_key_and_does_not_retry() {
    client_rows::RESEND_NODE.assert_rows().await;
}

async fn sendgrid_in_python_does_not_retry() {
    client_rows::SENDGRID_PYTHON.assert_rows().await;
}

async fn sendgrid_in_node_does_not_retry() {
    client_rows::SENDGRID_NODE.assert_rows().await;
}

async fn pygithub_retries_without_a_key_and_deploys_twice() {
    client_rows::PYGITHUB.assert_rows().await;
}

async fn octokit_retries_without_a_key_and_deploys_twice() {
    client_rows::OCTOKIT.assert_rows().await;
}

async fn smtplib_does_not_retry() {
    client_rows::SMTPLIB.assert_rows().await;
}

async fn curl_does_not_retry_by_itself() {
    client_rows::CURL.assert_rows().await;
}

async fn curl_that_may_retry_pays_twice_after_an_error() {
    client_rows::CURL_RETRY.assert_rows().await;
}

async fn curl_that_may_retry_and_has_a_key_pays_once() {
    client_rows::CURL_RETRY_KEY.assert_rows().await;
}

async fn curl_that_may_retry_counts_twice_after_an_error() {
    client_rows::CURL_RETRY_COUNTER.assert_rows().await;
}

async fn requests_does_not_retry() {
    client_rows::REQUESTS.assert_rows().await;
}

async fn httpx_does_not_retry() {
    client_rows::HTTPX.assert_rows().await;
}

async fn aiohttp_does_not_retry() {
    client_rows::AIOHTTP.assert_rows().await;
}

async fn urllib_does_not_retry() {
    client_rows::URLLIB.assert_rows().await;
}

async fn net_http_of_go_does_not_retry() {
    client_rows::GO_NET_HTTP.assert_rows().await;
}

async fn boto3_retries_without_a_key_and_sends_twice() {
    client_rows::BOTO3_SES.assert_rows().await;
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_stripe_client_in_python_sends_a_key_and_does_not_retry,
        the_stripe_module_in_python_retries_with_the_same_key,
        stripe_in_python_makes_a_payment_method_and_charges_it_once,
        stripe_in_python_creates_a_product_once,
        stripe_in_node_creates_a_price_once,
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
        requests_does_not_retry,
        httpx_does_not_retry,
        aiohttp_does_not_retry,
        urllib_does_not_retry,
        net_http_of_go_does_not_retry,
        boto3_retries_without_a_key_and_sends_twice,
    ]
}

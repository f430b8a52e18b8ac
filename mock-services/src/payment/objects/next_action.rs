//! What the payer must do before an intent can continue: authenticate in a browser.

use serde::Serialize;

/// The next action of the payer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NextAction {
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_to_url: Option<RedirectToUrl>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_stripe_sdk: Option<UseStripeSdk>,
}

#[derive(Debug, Clone, Serialize)]
struct RedirectToUrl {
    return_url: String,
    url: String,
}

#[derive(Debug, Clone, Serialize)]
struct UseStripeSdk {
    source: String,
    stripe_js: String,
    r#type: &'static str,
}

impl NextAction {
    /// Authentication: on a page that returns to `return_url`, or without one with Stripe's own script.
    pub(crate) fn authenticate(source: String, client_secret: &str, return_url: Option<&str>) -> Self {
        let url =
            format!("https://hooks.stripe.com/redirect/authenticate/{source}?client_secret={client_secret}");
        match return_url {
            Some(return_url) => NextAction {
                redirect_to_url: Some(RedirectToUrl { return_url: return_url.to_owned(), url }),
                r#type: "redirect_to_url",
                use_stripe_sdk: None,
            },
            None => NextAction {
                redirect_to_url: None,
                r#type: "use_stripe_sdk",
                use_stripe_sdk: Some(UseStripeSdk {
                    source,
                    stripe_js: url,
                    r#type: "three_d_secure_redirect",
                }),
            },
        }
    }
}

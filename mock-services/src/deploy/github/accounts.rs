//! The account objects in GitHub's deployments, statuses and repositories.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// An account.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    login: String,
    id: u64,
    node_id: String,
    avatar_url: String,
    gravatar_id: &'static str,
    url: String,
    html_url: String,
    #[serde(flatten)]
    urls: BTreeMap<&'static str, String>,
    r#type: &'static str,
    user_view_type: &'static str,
    site_admin: bool,
}

const URLS: [(&str, &str); 9] = [
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
    ("organizations_url", "/orgs"),
    ("repos_url", "/repos"),
    ("events_url", "/events{/privacy}"),
    ("received_events_url", "/received_events"),
];

/// The account with this name; `base` is the address of the API.
pub(crate) fn account(base: &str, login: &str) -> Account {
    let url = format!("{base}/users/{login}");
    let id = stable_number("user", login);
    Account {
        id,
        node_id: stable_text("U_kgDO", login),
        avatar_url: format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
        gravatar_id: "",
        html_url: format!("https://github.com/{login}"),
        urls: URLS.iter().map(|(name, path)| (*name, format!("{url}{path}"))).collect(),
        url,
        r#type: "User",
        user_view_type: "public",
        site_admin: false,
        login: login.to_owned(),
    }
}

/// A number derived from the name: the id of an object that exists before the first request.
pub(crate) fn stable_number(kind: &str, name: &str) -> u64 {
    let digest = digest(kind, name);
    let word = digest.iter().take(4).fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    10_000_000 + word % 900_000_000
}

/// A text id derived from the name.
pub(crate) fn stable_text(prefix: &str, name: &str) -> String {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let symbol = |byte: &u8| char::from(SYMBOLS[usize::from(*byte) % SYMBOLS.len()]);
    prefix.chars().chain(digest(prefix, name).iter().take(6).map(symbol)).collect()
}

fn digest(kind: &str, name: &str) -> Vec<u8> {
    Sha256::new()
        .chain_update(kind)
        .chain_update([0])
        .chain_update(name.to_ascii_lowercase())
        .finalize()
        .to_vec()
}

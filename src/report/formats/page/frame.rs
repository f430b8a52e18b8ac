//! The frame of every page: styles, script, data, and a content security policy that allows nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::text::ci_commands;

const STYLE: &str = include_str!("page.css");
/// The script of the page of a run.
pub(super) const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("timeline.js"),
    include_str!("detail.js"),
    include_str!("page.js")
);

/// The script of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageScript {
    /// It has none.
    None,
    /// A script that makes no requests.
    Alone(&'static str),
    /// A script that loads files beside the page, as scripts: from a file, a page can read nothing else.
    WithFiles(&'static str),
    /// A script that makes requests to the server of the page.
    Connected(&'static str),
}

/// The content of the frame.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: Markup,
    /// Styles that only this page has.
    pub(crate) style: &'static str,
    pub(crate) script: PageScript,
}

/// The whole page.
pub(crate) fn frame(frame: Frame<'_>) -> Markup {
    let (script, files, connect) = match frame.script {
        PageScript::None => (None, "", ""),
        PageScript::Alone(script) => (Some(script), "", ""),
        PageScript::WithFiles(script) => (Some(script), " 'self'", ""),
        PageScript::Connected(script) => (Some(script), "", "connect-src 'self'; "),
    };
    let style = [STYLE, frame.style].concat();
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src {}{files}; {connect}img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash_source(&style),
        script.map_or_else(|| "'none'".to_owned(), |script| format!("'{}'", hash_source(script)))
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (frame.title) }
                style { (PreEscaped(&style)) }
            }
            body {
                (frame.body)
                @if let Some(script) = script {
                    script { (PreEscaped(script)) }
                }
            }
        }
    }
}

/// The source expression of a text in a content security policy.
fn hash_source(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text.as_bytes())))
}

/// The data as JSON for a script element, which it cannot end: JSON has the characters that are escaped here only in strings.
pub(super) fn json_in_script(data: &impl Serialize) -> Markup {
    // Plain data written into memory cannot fail.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    PreEscaped(ci_commands::json(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_style_nor_script_can_end_its_own_element() {
        for text in [STYLE, SCRIPT] {
            let lower = text.to_lowercase();
            assert!(!lower.contains("</style") && !lower.contains("</script") && !lower.contains("<!--"));
        }
    }

    #[test]
    fn no_text_can_leave_the_script_element_and_all_are_read_back() {
        let text = "</script><!--&amp;\u{2028}\u{2029}\"\\";
        let embedded = json_in_script(&[text]).into_string();
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{embedded}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&embedded).unwrap(), [text]);
    }
}

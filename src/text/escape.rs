//! Escapes text for Markdown, so that it has no effect.

use std::fmt::Write as _;

/// Text in a paragraph or in a cell of a table.
#[must_use]
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            // In its own element, an `@` mentions no user.
            '@' => out.push_str("<span>@</span>"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&' | '~' | '$' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            other => out.push(other),
        }
    }
    // These turn plain text into links.
    out.replace("://", "&#58;//").replace("www.", "www&#46;").replace("::", COLONS)
}

/// Text as code, within a line.
#[must_use]
pub(crate) fn code(text: &str) -> String {
    format!(
        "<code>{}</code>",
        html(&text.replace(['\n', '\r'], " ")).replace('|', "&#124;").replace('`', "&#96;")
    )
}

/// Text as a block of code. Markdown ends a block of HTML at a blank line, so there is none.
#[must_use]
pub(crate) fn pre(text: &str) -> String {
    let lines: Vec<String> = text
        .trim_end()
        .lines()
        .map(|line| if line.trim().is_empty() { "&#32;".to_owned() } else { html(line) })
        .collect();
    format!("<pre>\n{}\n</pre>", lines.join("\n"))
}

/// Two colons, which at the start of a line would be a command for a runner of GitHub that prints the text.
const COLONS: &str = "&#58;&#58;";

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Markdown reads on within a line of HTML.
            '*' | '_' | '[' | ']' | '\\' | '~' | '$' | '#' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.replace("::", COLONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_markdown_knows_is_left() {
        assert_eq!(markdown("a|b *c* @me\nd"), "a&#124;b &#42;c&#42; <span>@</span>me d");
        assert_eq!(markdown("https://x.y www.z"), "https&#58;//x.y www&#46;z");
        assert_eq!(code("a|`<b>"), "<code>a&#124;&#96;&lt;b&gt;</code>");
    }

    #[test]
    fn no_text_is_a_command_to_a_runner() {
        let wrote = "::error::x\n ::debug::y ##[group]z ##vso[x]";
        for written in [markdown(wrote), code(wrote), pre(wrote)] {
            assert!(!written.contains("::") && !written.contains("##"), "{written}");
        }
    }

    #[test]
    fn a_blank_line_does_not_end_a_block() {
        assert_eq!(pre("a\n\nb <c>\n"), "<pre>\na\n&#32;\nb &lt;c&gt;\n</pre>");
    }
}

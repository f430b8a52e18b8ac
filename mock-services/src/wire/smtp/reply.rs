//! Replies as bytes: a code, a text of one or more lines, and nothing in it that could end a line early.

use crate::service::Answer;

/// An answer as an SMTP reply: its status is the code, each line of its body one line of the text.
pub(crate) fn encode(answer: &Answer) -> Vec<u8> {
    lines(answer.status, &String::from_utf8_lossy(&answer.body))
}

/// A reply with this code; all lines but the last are marked as continued.
pub(super) fn lines(code: u16, text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 8);
    let mut rest = text.trim_end_matches(['\r', '\n']).lines().peekable();
    if rest.peek().is_none() {
        return format!("{code:03} \r\n").into_bytes();
    }
    while let Some(line) = rest.next() {
        let mark = if rest.peek().is_some() { '-' } else { ' ' };
        bytes.extend_from_slice(format!("{code:03}{mark}").as_bytes());
        bytes.extend(line.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_text_is_one_line_of_reply() {
        let answer = Answer::bare(250, b"2.0.0 Ok: queued as 4F1");
        assert_eq!(encode(&answer), b"250 2.0.0 Ok: queued as 4F1\r\n");
        assert_eq!(encode(&Answer::empty(354)), b"354 \r\n");
    }

    #[test]
    fn all_lines_but_the_last_are_continued() {
        let answer = Answer::bare(550, b"first\r\nsecond\nthird\r\n");
        assert_eq!(encode(&answer), b"550-first\r\n550-second\r\n550 third\r\n");
    }

    #[test]
    fn a_text_cannot_end_its_line_early() {
        let answer = Answer::bare(451, b"a\rb\0c");
        assert_eq!(encode(&answer), b"451 a b c\r\n");
    }
}

//! Reads server-sent events. Pure.

/// The data of the last event of many streams.
const END_MARKER: &str = "[DONE]";

/// The events of a stream that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventStream {
    /// The data of each event.
    pub(super) data: Vec<String>,
    /// Whether it has its end marker.
    pub(super) has_end_marker: bool,
}

/// Reads events from the bytes of a stream as they arrive.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// The bytes after the last line that is complete.
    rest: Vec<u8>,
    /// The lines of data of the event that is being read.
    lines: Vec<String>,
    data: Vec<String>,
    has_end_marker: bool,
    is_begun: bool,
}

impl EventReader {
    /// Takes further bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some(length) = self.rest[taken..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let end = taken + length;
            let next = match (self.rest[end], self.rest.get(end + 1)) {
                (b'\r', Some(b'\n')) => end + 2,
                // The other half of the line break may follow.
                (b'\r', None) => break,
                _ => end + 1,
            };
            let line = String::from_utf8_lossy(&self.rest[taken..end]).into_owned();
            self.line(&line);
            taken = next;
        }
        self.rest.drain(..taken);
    }

    /// Whether the end marker has come. What follows it does not count.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_end_marker
    }

    /// The events; an error if the stream ended inside of one.
    pub(super) fn finish(mut self) -> Result<EventStream, String> {
        if self.rest.last() == Some(&b'\r') {
            self.push(b"\n");
        }
        let is_between_events = self.rest.is_empty() && self.lines.is_empty();
        if !self.has_end_marker && !is_between_events {
            return Err(
                "its stream broke off inside of an event; end every event with an empty line".to_owned()
            );
        }
        Ok(EventStream { data: self.data, has_end_marker: self.has_end_marker })
    }

    fn line(&mut self, line: &str) {
        let line = if self.is_begun { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        self.is_begun = true;
        if self.has_end_marker {
            return;
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.lines).join("\n");
            if data.trim() == END_MARKER {
                self.has_end_marker = true;
            } else if !data.is_empty() {
                self.data.push(data);
            }
            return;
        }
        // A line that begins with a colon is a comment; the names and ids of events do not matter here.
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name == "data" {
            self.lines.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<EventStream, String> {
        let mut reader = EventReader::default();
        reader.push(text.as_bytes());
        reader.finish()
    }

    fn stream(data: &[&str], has_end_marker: bool) -> EventStream {
        EventStream { data: data.iter().map(|data| (*data).to_owned()).collect(), has_end_marker }
    }

    #[test]
    fn the_data_of_each_event_is_put_together() {
        let text =
            "\u{feff}: hello\nevent: token\nid: 1\ndata: a\ndata:  b\n\nretry: 5\n\ndata:c\n\ndata\n\n";
        assert_eq!(read(text), Ok(stream(&["a\n b", "c"], false)));
        assert_eq!(read("data: a\r\n\r\ndata: b\r\r"), Ok(stream(&["a", "b"], false)));
        assert_eq!(read(""), Ok(stream(&[], false)));
    }

    #[test]
    fn what_follows_the_end_marker_does_not_count() {
        assert_eq!(read("data: a\n\ndata: [DONE]\n\ndata: b\n\ndata: c"), Ok(stream(&["a"], true)));
    }

    #[test]
    fn a_stream_that_ends_inside_of_an_event_is_broken() {
        for text in ["data: a", "data: a\n", "data: a\n\ndata: [DONE]\n", "data: a\n\ndata: \"b", "dat"] {
            assert!(read(text).unwrap_err().contains("broke off"), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(text in "(data: ?|[:a\\[é]|\r|\n|\n\n){0,20}", at in 0usize..60) {
            let bytes = text.as_bytes();
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            let mut reader = EventReader::default();
            reader.push(first);
            reader.push(second);
            prop_assert_eq!(reader.finish(), read(&text));
        }
    }
}

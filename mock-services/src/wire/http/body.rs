//! A chunked body, decoded as it comes.

const LONGEST_SIZE_LINE: usize = 256;
const LONGEST_TRAILERS: usize = 8 * 1024;

/// The position of the decoder.
#[derive(Debug, Default, Clone, Copy)]
enum ChunkPosition {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailers,
}

/// Decodes one chunked body.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    place: ChunkPosition,
    trailers: usize,
}

/// The result of a piece of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyProgress {
    /// More input is needed; this many bytes were used.
    More(usize),
    /// The body is complete; this many bytes were used.
    Done(usize),
}

impl Chunked {
    /// Decodes the input. An error is the status of the refusal.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        body: &mut Vec<u8>,
        longest: usize,
    ) -> Result<BodyProgress, u16> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            match self.place {
                ChunkPosition::Size => {
                    let Some((line, length)) = line(rest, LONGEST_SIZE_LINE)? else {
                        return Ok(BodyProgress::More(at));
                    };
                    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                    let size = size(digits)?;
                    if size > longest.saturating_sub(body.len()) {
                        return Err(413);
                    }
                    self.place = if size == 0 { ChunkPosition::Trailers } else { ChunkPosition::Data(size) };
                    at += length;
                }
                ChunkPosition::Data(left) => {
                    if rest.is_empty() {
                        return Ok(BodyProgress::More(at));
                    }
                    let take = left.min(rest.len());
                    body.extend_from_slice(&rest[..take]);
                    at += take;
                    self.place =
                        if take == left { ChunkPosition::DataEnd } else { ChunkPosition::Data(left - take) };
                }
                ChunkPosition::DataEnd => {
                    let Some((line, length)) = line(rest, 2)? else { return Ok(BodyProgress::More(at)) };
                    if !line.is_empty() {
                        return Err(400);
                    }
                    at += length;
                    self.place = ChunkPosition::Size;
                }
                ChunkPosition::Trailers => {
                    let Some((line, length)) = line(rest, LONGEST_TRAILERS)? else {
                        return Ok(BodyProgress::More(at));
                    };
                    at += length;
                    self.trailers += length;
                    if line.is_empty() {
                        return Ok(BodyProgress::Done(at));
                    }
                    if self.trailers > LONGEST_TRAILERS {
                        return Err(431);
                    }
                }
            }
        }
    }
}

/// The line at the start, without its end, and how many bytes it took.
fn line(input: &[u8], longest: usize) -> Result<Option<(&[u8], usize)>, u16> {
    match input.iter().position(|byte| *byte == b'\n') {
        Some(at) if at >= 1 && input[at - 1] == b'\r' => Ok(Some((&input[..at - 1], at + 1))),
        Some(_) => Err(400),
        None if input.len() > longest => Err(400),
        None => Ok(None),
    }
}

fn size(digits: &[u8]) -> Result<usize, u16> {
    let valid = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| valid).ok_or(400u16)?;
    // More digits than a number has is more than any limit.
    Ok(usize::from_str_radix(text, 16).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(input: &[u8]) -> Result<(BodyProgress, Vec<u8>), u16> {
        let mut body = Vec::new();
        let progress = Chunked::default().feed(input, &mut body, 1000)?;
        Ok((progress, body))
    }

    #[test]
    fn chunks_extensions_and_trailers_are_read() {
        let input = b"3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\nnext";
        assert_eq!(whole(input).unwrap(), (BodyProgress::Done(input.len() - 4), b"abc0123456789".to_vec()));
    }

    #[test]
    fn sizes_that_are_none_and_bodies_that_are_too_long_are_refused() {
        assert_eq!(whole(b"x\r\n").unwrap_err(), 400);
        assert_eq!(whole(b"-1\r\n").unwrap_err(), 400);
        assert_eq!(whole(b"3\r\nabcdef\r\n").unwrap_err(), 400);
        assert_eq!(whole(b"ffffffffffffffffff\r\n").unwrap_err(), 413);
        assert_eq!(whole(b"3e9\r\n").unwrap_err(), 413);
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_how_the_input_is_split(
            cuts in proptest::collection::vec(1usize..7, 0..40)
        ) {
            let input = b"3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n";
            let (mut decoder, mut body, mut buffer, mut at) = (Chunked::default(), Vec::new(), Vec::new(), 0);
            let mut done = false;
            for cut in cuts.into_iter().chain(std::iter::once(input.len())) {
                let end = (at + cut).min(input.len());
                buffer.extend_from_slice(&input[at..end]);
                at = end;
                match decoder.feed(&buffer, &mut body, 1000).unwrap() {
                    BodyProgress::More(used) => { buffer.drain(..used); }
                    BodyProgress::Done(used) => { buffer.drain(..used); done = true; break; }
                }
            }
            prop_assert!(done && buffer.is_empty());
            prop_assert_eq!(body, b"abc0123456789".to_vec());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = whole(&bytes);
        }
    }
}

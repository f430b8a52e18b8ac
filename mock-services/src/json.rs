//! JSON as `serde_json` writes it, byte for byte, but faster: the names of members, which are known to need
//! no escapes, are most of an object. Indented by two spaces, as Stripe's objects are.

use serde::Serialize;
use serde::ser::{self, Error as _, Impossible};

/// What is never written with it, such as a floating-point number.
pub(crate) type Unsupported = serde_json::Error;

/// Writes the value, which is so deep inside of others, behind what is there. On an error the buffer is as it
/// was.
pub(crate) fn write<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &T,
    depth: usize,
) -> Result<(), Unsupported> {
    let start = out.len();
    let written = value.serialize(Writer { out, depth });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Writes one value.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: usize,
}

/// Writes the members of a list or a map.
struct Members<'a> {
    out: &'a mut Vec<u8>,
    /// That of the members.
    depth: usize,
    empty: bool,
    close: u8,
}

impl Members<'_> {
    /// Begins the next member.
    fn next(&mut self) -> Writer<'_> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        new_line(self.out, self.depth);
        Writer { out: self.out, depth: self.depth }
    }

    fn finish(self) {
        if !self.empty {
            new_line(self.out, self.depth.saturating_sub(1));
        }
        self.out.push(self.close);
    }
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    const BLANKS: &[u8] = b"\n                                                                ";
    let length = 1 + 2 * depth;
    match BLANKS.get(..length) {
        Some(blanks) => out.extend_from_slice(blanks),
        None => {
            out.push(b'\n');
            out.resize(out.len() + length - 1, b' ');
        }
    }
}

impl<'a> Writer<'a> {
    fn number(self, number: impl itoa::Integer) -> Result<(), Unsupported> {
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        Ok(())
    }

    fn open(self, open: u8, close: u8) -> Members<'a> {
        self.out.push(open);
        Members { out: self.out, depth: self.depth + 1, empty: true, close }
    }
}

/// Writes a text with its quotes.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    if needs_escape(text.as_bytes()) {
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether JSON cannot hold the bytes of a text as they are.
fn needs_escape(bytes: &[u8]) -> bool {
    holds_special(bytes, b'"')
}

/// Whether a control character, a quote, a backslash or `another` is among the bytes; eight of them are
/// looked at together.
#[inline]
pub(crate) fn holds_special(bytes: &[u8], another: u8) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // The highest bit of some byte is set where one of them is below `limit`, which is at most 128.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGHS;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let special = |word: u64| below(word, 0x20) | is(word, b'"') | is(word, b'\\') | is(word, another);
    match bytes.last_chunk::<8>() {
        // The last eight may have been looked at in part.
        Some(last) => {
            let mut words = bytes.as_chunks::<8>().0.iter().chain(std::iter::once(last));
            words.any(|word| special(u64::from_le_bytes(*word)) != 0)
        }
        None => bytes.iter().any(|byte| matches!(byte, ..0x20 | b'"' | b'\\') || *byte == another),
    }
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Members<'a>;
    type SerializeTuple = Members<'a>;
    type SerializeTupleStruct = Impossible<(), Unsupported>;
    type SerializeTupleVariant = Impossible<(), Unsupported>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Impossible<(), Unsupported>;

    fn serialize_bool(self, value: bool) -> Result<(), Unsupported> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }
    fn serialize_i8(self, value: i8) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_i16(self, value: i16) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_i32(self, value: i32) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_i64(self, value: i64) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_u8(self, value: u8) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_u16(self, value: u16) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_u32(self, value: u32) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_u64(self, value: u64) -> Result<(), Unsupported> {
        self.number(value)
    }
    fn serialize_f32(self, _: f32) -> Result<(), Unsupported> {
        Err(Unsupported::custom("a floating-point number"))
    }
    fn serialize_f64(self, _: f64) -> Result<(), Unsupported> {
        Err(Unsupported::custom("a floating-point number"))
    }
    fn serialize_char(self, value: char) -> Result<(), Unsupported> {
        text(self.out, value.encode_utf8(&mut [0; 4]));
        Ok(())
    }
    fn serialize_str(self, value: &str) -> Result<(), Unsupported> {
        text(self.out, value);
        Ok(())
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), Unsupported> {
        Err(Unsupported::custom("bytes"))
    }
    fn serialize_none(self) -> Result<(), Unsupported> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unsupported> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Unsupported> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unsupported> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Unsupported> {
        text(self.out, variant);
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unsupported> {
        Err(Unsupported::custom("a variant with a value"))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'a>, Unsupported> {
        Ok(self.open(b'[', b']'))
    }
    fn serialize_tuple(self, _: usize) -> Result<Members<'a>, Unsupported> {
        Ok(self.open(b'[', b']'))
    }
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unsupported> {
        Err(Unsupported::custom("a tuple"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        Err(Unsupported::custom("a variant with a value"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a>, Unsupported> {
        Ok(self.open(b'{', b'}'))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a>, Unsupported> {
        Ok(self.open(b'{', b'}'))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unsupported> {
        Err(Unsupported::custom("a variant with a value"))
    }
}

impl ser::SerializeSeq for Members<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        value.serialize(self.next())
    }
    fn end(self) -> Result<(), Unsupported> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeTuple for Members<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        value.serialize(self.next())
    }
    fn end(self) -> Result<(), Unsupported> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unsupported> {
        let start = self.out.len();
        key.serialize(self.next())?;
        let quoted = self.out[start..].last() == Some(&b'"');
        if quoted { Ok(()) } else { Err(Unsupported::custom("a name that is no text")) }
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        self.out.extend_from_slice(b": ");
        value.serialize(Writer { out: self.out, depth: self.depth })
    }
    fn end(self) -> Result<(), Unsupported> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        let Writer { out, depth } = self.next();
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\": ");
        value.serialize(Writer { out, depth })
    }
    fn end(self) -> Result<(), Unsupported> {
        self.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Serialize)]
    struct Sample {
        id: String,
        nothing: Option<u8>,
        amount: i64,
        paid: bool,
        metadata: BTreeMap<String, String>,
        rows: Vec<(u8, String)>,
        inner: Inner,
    }

    #[derive(Serialize)]
    struct Inner {}

    proptest! {
        #[test]
        fn the_bytes_are_those_of_serde_json(
            id: String,
            nothing: Option<u8>,
            amount: i64,
            paid: bool,
            metadata: BTreeMap<String, String>,
            rows: Vec<(u8, String)>,
        ) {
            let sample = Sample { id, nothing, amount, paid, metadata, rows, inner: Inner {} };
            let mut out = Vec::new();
            write(&mut out, &sample, 0).unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string_pretty(&sample).unwrap());
        }
    }

    #[test]
    fn what_it_cannot_write_leaves_the_buffer_as_it_was() {
        let mut out = b"before".to_vec();
        assert!(write(&mut out, &[1.5], 0).is_err());
        assert_eq!(out, b"before");
    }
}

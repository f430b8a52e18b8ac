//! JSON as `serde_json` writes it, byte for byte, but faster: the names of members, which are known to need no escapes, are most of an
//! object. Compact for the ledger, indented by two spaces for Stripe's objects.

use serde::Serialize;
use serde::ser::{self, Error as _, Impossible};

/// What is never written with it, such as a floating-point number.
pub(crate) type Unsupported = serde_json::Error;

/// Where members stand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Layout {
    /// All on one line, without blanks.
    Compact,
    /// Each on a line of its own; so deep is the value.
    Indented(usize),
}

impl Layout {
    fn deeper(self) -> Self {
        match self {
            Layout::Compact => Layout::Compact,
            Layout::Indented(depth) => Layout::Indented(depth + 1),
        }
    }

    /// What stands behind the name of a member.
    fn colon(self) -> &'static [u8] {
        match self {
            Layout::Compact => b":",
            Layout::Indented(_) => b": ",
        }
    }
}

/// Writes the value behind what is there. On an error the buffer is as it was.
pub(crate) fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T, layout: Layout) -> Result<(), Unsupported> {
    let start = out.len();
    let written = value.serialize(Writer { out, layout });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Writes one value.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    layout: Layout,
}

/// Writes the members of a list or a map.
struct Members<'a> {
    out: &'a mut Vec<u8>,
    /// That of the members.
    layout: Layout,
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
        if let Layout::Indented(depth) = self.layout {
            new_line(self.out, depth);
        }
        Writer { out: self.out, layout: self.layout }
    }

    fn finish(self) {
        if let (Layout::Indented(depth), false) = (self.layout, self.empty) {
            new_line(self.out, depth.saturating_sub(1));
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
        Members { out: self.out, layout: self.layout.deeper(), empty: true, close }
    }
}

fn text(out: &mut Vec<u8>, text: &str) -> Result<(), Unsupported> {
    // All bytes are looked at, without a way out: the compiler makes one comparison of many.
    let needs_escape = |found: bool, byte: &u8| found | (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    if text.as_bytes().iter().fold(false, needs_escape) {
        return serde_json::to_writer(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
    Ok(())
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
        text(self.out, value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<(), Unsupported> {
        text(self.out, value)
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
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Unsupported> {
        text(self.out, variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Unsupported> {
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
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unsupported> {
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
        self.out.extend_from_slice(self.layout.colon());
        value.serialize(Writer { out: self.out, layout: self.layout })
    }
    fn end(self) -> Result<(), Unsupported> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unsupported> {
        let Writer { out, layout } = self.next();
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.push(b'"');
        out.extend_from_slice(layout.colon());
        value.serialize(Writer { out, layout })
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
            let written = |layout| {
                let mut out = Vec::new();
                write(&mut out, &sample, layout).unwrap();
                String::from_utf8(out).unwrap()
            };
            prop_assert_eq!(written(Layout::Indented(0)), serde_json::to_string_pretty(&sample).unwrap());
            prop_assert_eq!(written(Layout::Compact), serde_json::to_string(&sample).unwrap());
        }
    }

    #[test]
    fn what_it_cannot_write_leaves_the_buffer_as_it_was() {
        let mut out = b"before".to_vec();
        assert!(write(&mut out, &[1.5], Layout::Compact).is_err());
        assert_eq!(out, b"before");
    }
}

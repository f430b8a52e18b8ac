//! Ids in the form of the real service. They depend only on the seed, the caller and the number of its
//! request, so that what a caller sees does not depend on what was committed.

use sha2::{Digest, Sha256};

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// The ids of one request. Each name has its own id; the same name always has the same one.
#[derive(Debug, Clone, Copy)]
pub struct Ids {
    origin: u64,
    caller: u32,
}

impl Ids {
    /// The ids of one delivery of one request: `delivery` is 0, and 1 for the second of a fault's `twice`.
    #[must_use]
    pub fn new(seed: u64, service: &str, caller: u32, request: u64, delivery: u32) -> Self {
        IdSource::new(seed, service).ids(caller, request, delivery)
    }

    /// The caller of the request, counted from 1.
    #[must_use]
    pub const fn caller(&self) -> u32 {
        self.caller
    }

    /// `prefix` followed by `length` letters and digits: `ch_3Kq…`.
    #[must_use]
    pub fn alphanumeric(&self, prefix: &str, length: usize) -> String {
        self.text(prefix, prefix, length, ALPHANUMERIC)
    }

    /// `length` hexadecimal digits; each `name` of a request has other ones.
    #[must_use]
    pub fn hex(&self, name: &str, length: usize) -> String {
        self.text(name, "", length, HEX)
    }

    /// A version 4 UUID.
    #[must_use]
    pub fn uuid(&self, name: &str) -> String {
        let digits = self.hex(name, 32);
        format!(
            "{}-{}-4{}-a{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[13..16],
            &digits[17..20],
            &digits[20..]
        )
    }

    /// A whole number below `limit`.
    #[must_use]
    pub fn number(&self, name: &str, limit: u64) -> u64 {
        mix(self.stream(name)) % limit.max(1)
    }

    /// Fills the buffer with the letters and digits that [`Ids::alphanumeric`] puts after the prefix.
    pub(crate) fn fill(&self, prefix: &str, buffer: &mut [u8]) {
        fill(self.stream(prefix), buffer, ALPHANUMERIC);
    }

    fn text<const BASE: usize>(
        &self,
        name: &str,
        prefix: &str,
        length: usize,
        digits: &[u8; BASE],
    ) -> String {
        let mut text = Vec::with_capacity(prefix.len() + length);
        text.extend_from_slice(prefix.as_bytes());
        text.resize(prefix.len() + length, b'0');
        fill(self.stream(name), &mut text[prefix.len()..], digits);
        // Digits are ASCII.
        String::from_utf8(text).unwrap_or_default()
    }

    fn stream(&self, name: &str) -> u64 {
        name.bytes().fold(self.origin, |state, byte| mix(state ^ u64::from(byte)))
    }
}

/// The source of the ids of one service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdSource {
    origin: u64,
}

impl IdSource {
    pub(crate) fn new(seed: u64, service: &str) -> Self {
        let origin = mix(seed ^ 0x6861_7061_785f_6964);
        IdSource { origin: service.bytes().fold(origin, |origin, byte| mix(origin ^ u64::from(byte))) }
    }

    /// The ids of one delivery of one request.
    pub(crate) fn ids(self, caller: u32, request: u64, delivery: u32) -> Ids {
        Ids { origin: mix(mix(mix(self.origin ^ u64::from(caller)) ^ request) ^ u64::from(delivery)), caller }
    }
}

fn fill<const BASE: usize>(mut state: u64, buffer: &mut [u8], digits: &[u8; BASE]) {
    // Half of the state has enough bits for five digits of base 62.
    for chunk in buffer.chunks_mut(5) {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // The upper half of the state is a fraction, and each multiplication by the base gives its next
        // digit: as uniform as remainders, without divisions.
        let mut fraction = state >> 32;
        for digit in chunk {
            fraction *= BASE as u64;
            *digit = digits[usize::try_from(fraction >> 32).unwrap_or_default()];
            fraction &= u64::from(u32::MAX);
        }
    }
}

/// One step of SplitMix64: every bit of the input affects every bit of the output.
#[must_use]
pub(crate) const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Generates the API key of a service from the seed: long, and with the prefix that its clients expect.
#[must_use]
pub fn generate_key(seed: u64, service: &str, caller: u32, prefix: &str) -> String {
    let digest = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(service)
        .chain_update(caller.to_le_bytes())
        .finalize();
    let mut key = prefix.to_owned();
    key.extend(digest.iter().map(|byte| char::from(ALPHANUMERIC[usize::from(*byte) % ALPHANUMERIC.len()])));
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_the_same_for_the_same_origin_and_differ_in_every_part_of_it() {
        let id = |seed, service, caller, request, delivery| {
            Ids::new(seed, service, caller, request, delivery).alphanumeric("ch_", 24)
        };
        let ids = [
            id(1, "payment", 1, 1, 0),
            id(2, "payment", 1, 1, 0),
            id(1, "email", 1, 1, 0),
            id(1, "payment", 2, 1, 0),
            id(1, "payment", 1, 2, 0),
            id(1, "payment", 1, 1, 1),
        ];
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        assert_eq!(ids[0], id(1, "payment", 1, 1, 0));
    }

    #[test]
    fn a_hundred_thousand_requests_have_as_many_ids() {
        let ids: HashSet<_> = (0..100_000)
            .map(|request| Ids::new(7, "payment", 1, request, 0).alphanumeric("ch_", 24))
            .collect();
        assert_eq!(ids.len(), 100_000);
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let uuid = Ids::new(1, "email", 1, 1, 0).uuid("id");
        assert_eq!((uuid.len(), &uuid[14..15], &uuid[19..20]), (36, "4", "a"), "{uuid}");
    }
}

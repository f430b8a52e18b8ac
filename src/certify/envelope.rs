//! A DSSE envelope: the payload, its type, and signatures over both (Dead Simple Signing Envelope, version
//! 1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::key::{SigningKey, VerifyingKey};

/// The type of the payload: an in-toto statement.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// An envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SignedEnvelope {
    /// The payload, in base64.
    payload: String,
    /// The type of the payload.
    payload_type: String,
    /// The signatures; none if it is unsigned.
    signatures: Vec<EnvelopeSignature>,
}

/// A signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnvelopeSignature {
    /// The identifier of the public key.
    keyid: String,
    /// The signature, in base64.
    sig: String,
}

/// Whether the signature of an envelope is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureCheck {
    /// It was made with the private key of this public key, over exactly this payload.
    Good,
    /// It was not: the payload, its type or the signature was changed.
    Bad,
    /// It names another key.
    OtherKey,
    /// There is no signature.
    Unsigned,
}

impl SignedEnvelope {
    /// An envelope of this payload, signed if there is a key.
    pub(super) fn new(payload: &[u8], key: Option<&SigningKey>) -> Self {
        let signatures = key.map(|key| EnvelopeSignature {
            keyid: key.public().id(),
            sig: BASE64.encode(key.sign(&signed_bytes(PAYLOAD_TYPE, payload))),
        });
        SignedEnvelope {
            payload: BASE64.encode(payload),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: signatures.into_iter().collect(),
        }
    }

    /// Its file: JSON with a line break at the end.
    pub(super) fn written(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads the file. It must be exactly as hapax writes it, byte by byte, so that every change is noticed.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let envelope: SignedEnvelope = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if envelope.written().map_err(|error| error.to_string())? != bytes {
            return Err(
                "it was changed after it was written: it is not formatted as hapax formats it".to_owned()
            );
        }
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(format!("its payload is not of the type {PAYLOAD_TYPE}"));
        }
        Ok(envelope)
    }

    /// The bytes of the payload.
    pub(super) fn payload(&self) -> Result<Vec<u8>, String> {
        BASE64.decode(&self.payload).map_err(|error| format!("its payload is not base64: {error}"))
    }

    /// The identifier of the key that signed it.
    pub(super) fn signed_by(&self) -> Option<&str> {
        self.signatures.first().map(|signature| signature.keyid.as_str())
    }

    /// Whether its signature was made with this key.
    pub(super) fn check(&self, key: &VerifyingKey) -> SignatureCheck {
        let Some(signature) = self.signatures.first() else { return SignatureCheck::Unsigned };
        if self.signatures.len() > 1 {
            return SignatureCheck::Bad;
        }
        if signature.keyid != key.id() {
            return SignatureCheck::OtherKey;
        }
        let good =
            BASE64.decode(&signature.sig).ok().zip(self.payload().ok()).is_some_and(|(sig, payload)| {
                key.verifies(&signed_bytes(&self.payload_type, &payload), &sig)
            });
        if good { SignatureCheck::Good } else { SignatureCheck::Bad }
    }
}

/// The bytes that are signed: the pre-authentication encoding of DSSE.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::key::write_key_pair;
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        // The example of the specification of DSSE.
        let bytes = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(bytes, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn every_changed_byte_of_a_signed_envelope_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = (folder.path().join("key"), folder.path().join("pub"));
        let key = write_key_pair(&private, &public).unwrap();
        let envelope = SignedEnvelope::new(b"{\"a\": 1}", Some(&SigningKey::load(&private).unwrap()));
        let file = envelope.written().unwrap();
        assert_eq!(SignedEnvelope::read(&file).unwrap().check(&key), SignatureCheck::Good);
        for place in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.clone();
                changed[place] ^= 1 << bit;
                let is_good =
                    SignedEnvelope::read(&changed).is_ok_and(|read| read.check(&key) == SignatureCheck::Good);
                assert!(!is_good, "bit {bit} of byte {place}");
            }
        }
        let unsigned = SignedEnvelope::new(b"{}", None);
        assert_eq!(unsigned.check(&key), SignatureCheck::Unsigned);
    }
}

//! Signatures that a receiver verifies with a public key: ECDSA on P-256 with SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};

/// What precedes the point in a public key of P-256 in the form of X.509.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A new private key, in base64; empty if the system has no random numbers.
pub(crate) fn new_key() -> String {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
    key.map_or_else(|_| String::new(), |key| STANDARD.encode(key.as_ref()))
}

/// The public key of a private one, as senders show it: X.509 in base64.
pub(crate) fn public_key(key: &str) -> String {
    let head = PUBLIC_KEY_HEAD.as_slice();
    key_pair(key)
        .map_or_else(String::new, |pair| STANDARD.encode([head, pair.public_key().as_ref()].concat()))
}

/// The signature of these parts, in base64.
pub(crate) fn sign(key: &str, parts: &[&str]) -> String {
    let signed =
        key_pair(key).and_then(|pair| pair.sign(&SystemRandom::new(), parts.concat().as_bytes()).ok());
    signed.map_or_else(String::new, |signature| STANDARD.encode(signature))
}

/// Whether this is a signature of these parts by the owner of the public key.
pub(crate) fn is_signed(public_key: &str, signature: &str, parts: &[&str]) -> bool {
    let key = STANDARD.decode(public_key).ok();
    let point = key.as_deref().and_then(|key| key.strip_prefix(PUBLIC_KEY_HEAD.as_slice()));
    let Some((point, signature)) = point.zip(STANDARD.decode(signature).ok()) else { return false };
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
    key.verify(parts.concat().as_bytes(), &signature).is_ok()
}

fn key_pair(key: &str) -> Option<EcdsaKeyPair> {
    let key = STANDARD.decode(key).ok()?;
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &key, &SystemRandom::new()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values with which SendGrid tests its own libraries.
    const PUBLIC: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+\
                          2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
    const SIGNATURE: &str =
        "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=";
    const BODY: &str = "[{\"email\":\"hello@world.com\",\"event\":\"dropped\",\"reason\":\"Bounced Address\",\
                        \"sg_event_id\":\"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA\",\
                        \"sg_message_id\":\"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0\",\
                        \"smtp-id\":\"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>\",\"timestamp\":1600112492}]\r\n";

    #[test]
    fn a_signature_of_sendgrid_is_right_only_for_its_time_and_body() {
        assert!(is_signed(PUBLIC, SIGNATURE, &["1600112502", BODY]));
        assert!(!is_signed(PUBLIC, SIGNATURE, &["1600112503", BODY]));
        assert!(!is_signed(PUBLIC, SIGNATURE, &["1600112502", BODY.trim_end()]));
        assert!(!is_signed(&public_key(&new_key()), SIGNATURE, &["1600112502", BODY]));
        assert!(!is_signed("no key", "no signature", &[]));
    }

    #[test]
    fn what_a_key_signs_is_right_for_its_public_key_only() {
        let [one, other] = [new_key(), new_key()];
        let signature = sign(&one, &["1", "body"]);
        assert!(is_signed(&public_key(&one), &signature, &["1", "body"]));
        assert!(!is_signed(&public_key(&other), &signature, &["1", "body"]));
    }
}

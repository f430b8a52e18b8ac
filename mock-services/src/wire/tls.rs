//! The certificates for SMTP over TLS: a certificate authority that each process creates and whose key never
//! leaves its memory, and a certificate for the local machine that it signs. A client that trusts
//! the authority can verify the services.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use jiff::{Span, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// The validity of the certificates. Some clients refuse more than 398 days.
const VALID_DAYS: i64 = 365;

type CertificateIssuer = CertifiedIssuer<'static, KeyPair>;

/// The certificate of this process's certificate authority, as PEM: what a client must trust to verify the
/// services. `None` if no certificate could be created; TLS is not offered then.
#[must_use]
pub fn certificate_authority() -> Option<&'static str> {
    static PEM: OnceLock<Option<String>> = OnceLock::new();
    PEM.get_or_init(|| issuer().map(|issuer| issuer.pem())).as_deref()
}

fn issuer() -> Option<&'static CertificateIssuer> {
    static ISSUER: OnceLock<Option<CertificateIssuer>> = OnceLock::new();
    ISSUER.get_or_init(|| make_issuer().ok()).as_ref()
}

fn make_issuer() -> Result<CertificateIssuer, rcgen::Error> {
    let mut params = with_validity(CertificateParams::new(Vec::new())?);
    params.distinguished_name.push(DnType::CommonName, "hapax test CA, made for one run");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

/// Sets the validity: from yesterday, because clocks differ.
fn with_validity(mut params: CertificateParams) -> CertificateParams {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let day = |days: i64| {
        let date = today.checked_add(Span::new().days(days)).unwrap_or(today);
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    (params.not_before, params.not_after) = (day(-1), day(VALID_DAYS));
    params
}

/// The TLS configuration for the ports at this address; `None` if no certificate could be created; TLS is not
/// offered then.
pub(super) fn server_config(address: IpAddr) -> Option<Arc<ServerConfig>> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let address = address.to_string();
    if !names.contains(&address) {
        names.push(address);
    }
    let mut params = with_validity(CertificateParams::new(names).ok()?);
    params.distinguished_name.push(DnType::CommonName, "localhost");
    // Strict clients want each of these: Python since 3.13, and those of Apple.
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let (key, issuer) = (KeyPair::generate().ok()?, issuer()?);
    let certificate = params.signed_by(&key, issuer).ok()?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).ok()?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .ok()?;
    Some(Arc::new(config))
}

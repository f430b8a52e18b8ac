//! The certificates of the services: a certificate authority that is made in each process and whose key never
//! leaves its memory, and under it a certificate for the local machine and for each name that a client asks
//! for. A client that trusts the authority can verify the services.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::{Span, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

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
    Some(Arc::new(config(names)?))
}

/// TLS for HTTP/1.1 with a certificate for whatever name the client asks for: for a program that answers in
/// place of other hosts. `None` where no certificate can be made.
#[must_use]
pub fn https_config() -> Option<Arc<ServerConfig>> {
    static CONFIG: OnceLock<Option<Arc<ServerConfig>>> = OnceLock::new();
    let make = || {
        let mut config = config(vec!["localhost".to_owned()])?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Some(Arc::new(config))
    };
    CONFIG.get_or_init(make).clone()
}

fn config(own_names: Vec<String>) -> Option<ServerConfig> {
    let certificates = CertificatesByName::new(own_names)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificates));
    Some(config)
}

/// The most names for which certificates are kept; a client that asks for more gets that of the local machine.
const MAX_NAMES: usize = 1000;

/// A certificate for each name that a client asks for, made when it is asked for first.
#[derive(Debug)]
struct CertificatesByName {
    key: KeyPair,
    own: Arc<CertifiedKey>,
    by_name: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl CertificatesByName {
    fn new(own_names: Vec<String>) -> Option<Self> {
        let key = KeyPair::generate().ok()?;
        let own = Arc::new(certificate(own_names, &key)?);
        Some(CertificatesByName { key, own, by_name: Mutex::default() })
    }
}

impl ResolvesServerCert for CertificatesByName {
    fn resolve(&self, client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let Some(name) = client.server_name().filter(|name| *name != "localhost") else {
            return Some(Arc::clone(&self.own));
        };
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_name.get(name) {
            return Some(Arc::clone(known));
        }
        if by_name.len() >= MAX_NAMES {
            return Some(Arc::clone(&self.own));
        }
        let made = Arc::new(certificate(vec![name.to_owned()], &self.key)?);
        by_name.insert(name.to_owned(), Arc::clone(&made));
        Some(made)
    }
}

/// A certificate for these names, with its key.
fn certificate(names: Vec<String>, key: &KeyPair) -> Option<CertifiedKey> {
    let common_name = names.first().cloned().unwrap_or_default();
    let mut params = with_validity(CertificateParams::new(names).ok()?);
    params.distinguished_name.push(DnType::CommonName, common_name);
    // Strict clients want each of these: Python since 3.13, and those of Apple.
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.signed_by(key, issuer()?).ok()?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).ok()?;
    let signing = ring::sign::any_supported_type(&private).ok()?;
    Some(CertifiedKey::new(vec![certificate.der().clone()], signing))
}

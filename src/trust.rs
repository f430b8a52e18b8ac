//! The files with which a client verifies the mail server: the certificate authority of this process, alone
//! and appended to the certificates that the system trusts. A client that trusts only the authority could not
//! reach other servers.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::process_env;

/// The files with the trusted certificates of systems; the first one that exists counts.
const SYSTEM: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// A larger file is not a list of certificates.
const MAX_CERTIFICATE_BYTES: u64 = 16 * 1024 * 1024;
/// The variables with all certificates that a client trusts.
const BUNDLE: [&str; 3] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
/// The variable with the certificates that Node trusts in addition to its own list.
const EXTRA: &str = "NODE_EXTRA_CA_CERTS";

/// The files with which a client verifies the mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// The certificate authority alone.
    pub ca: PathBuf,
    /// The certificates that the system trusts, followed by the certificate authority.
    pub bundle: PathBuf,
    /// The additional certificates for Node: the authority, or the bundle if the user sets more for Node,
    /// which is part of it.
    pub extra: PathBuf,
}

impl Trust {
    /// Writes the files; `None` where there is no certificate authority.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn write(ca: &Path, bundle: &Path) -> io::Result<Option<Self>> {
        let Some(pem) = mock_services::certificate_authority() else { return Ok(None) };
        fs::write(ca, pem)?;
        fs::write(bundle, [trusted(), pem.as_bytes()].concat())?;
        let (ca, bundle) = (std::path::absolute(ca)?, std::path::absolute(bundle)?);
        let has_extra = process_env::value(EXTRA).is_some();
        let extra = if has_extra { bundle.clone() } else { ca.clone() };
        Ok(Some(Trust { ca, bundle, extra }))
    }

    /// The variables for clients, and hapax's own.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let own = [("HAPAX_CA_FILE", &self.ca), (EXTRA, &self.extra)];
        let bundle = BUNDLE.map(|name| (name, &self.bundle));
        own.into_iter().chain(bundle).map(|(name, path)| (name.to_owned(), text(path))).collect()
    }
}

/// The certificates that the user or the system trusts, read once.
pub(crate) fn trusted() -> &'static [u8] {
    static TRUSTED: OnceLock<Vec<u8>> = OnceLock::new();
    TRUSTED.get_or_init(|| trusted_certificates(&process_env::value, &SYSTEM.map(PathBuf::from)))
}

/// The file that `SSL_CERT_FILE` names, or that of the system; then the files that the other variables name.
fn trusted_certificates(variable: &dyn Fn(&str) -> Option<OsString>, system: &[PathBuf]) -> Vec<u8> {
    let named =
        |name: &str| variable(name).filter(|path| !path.is_empty()).and_then(|path| read(Path::new(&path)));
    let first = named(BUNDLE[0]).or_else(|| system.iter().find_map(|path| read(path)));
    let mut parts: Vec<Vec<u8>> = first.into_iter().collect();
    for name in BUNDLE[1..].iter().chain(&[EXTRA]) {
        parts.extend(named(name).filter(|more| !parts.contains(more)));
    }
    parts.concat()
}

/// A list of certificates with a final line break.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut list = Vec::new();
    File::open(path).ok()?.take(MAX_CERTIFICATE_BYTES).read_to_end(&mut list).ok()?;
    if !list.ends_with(b"\n") {
        list.push(b'\n');
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_user_come_first_and_no_certificate_is_listed_twice() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (system, own, extra) = (file("system", "SYSTEM\n"), file("own", "OWN"), file("extra", "EXTRA\n"));
        let missing = folder.path().join("missing");
        let list = |variables: &[(&str, &PathBuf)]| {
            let found = |name: &str| {
                variables.iter().find(|(have, _)| *have == name).map(|(_, path)| path.as_os_str().to_owned())
            };
            String::from_utf8(trusted_certificates(&found, &[missing.clone(), system.clone()])).unwrap()
        };
        assert_eq!(list(&[]), "SYSTEM\n");
        assert_eq!(list(&[("SSL_CERT_FILE", &own)]), "OWN\n");
        assert_eq!(list(&[("SSL_CERT_FILE", &missing), (EXTRA, &extra)]), "SYSTEM\nEXTRA\n");
        assert_eq!(
            list(&[("SSL_CERT_FILE", &own), ("CURL_CA_BUNDLE", &own), ("REQUESTS_CA_BUNDLE", &extra)]),
            "OWN\nEXTRA\n"
        );
    }

    #[test]
    fn the_authority_is_appended_to_the_certificates_of_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let trust =
            Trust::write(&folder.path().join("ca.pem"), &folder.path().join("all.pem")).unwrap().unwrap();
        let (ca, all) = (fs::read(&trust.ca).unwrap(), fs::read(&trust.bundle).unwrap());
        assert!(ca.starts_with(b"-----BEGIN CERTIFICATE-----"));
        assert!(all.ends_with(&ca) && all.starts_with(trusted()));
        let variables = trust.variables();
        let of = |name: &str| &variables.iter().find(|(have, _)| have == name).unwrap().1;
        assert_eq!(Path::new(of("HAPAX_CA_FILE")), trust.ca);
        assert!(BUNDLE.iter().all(|name| Path::new(of(name)) == trust.bundle));
    }
}

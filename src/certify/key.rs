//! Ed25519 keys in PEM files: a private key in PKCS#8, readable only by its owner, and a public key in the
//! usual form (SubjectPublicKeyInfo), as `openssl pkey` reads and writes them.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use super::evidence::sha256;

/// A larger file is not a key.
const MAX_KEY_BYTES: u64 = 64 * 1024;
/// The bytes before the key itself in a SubjectPublicKeyInfo of Ed25519.
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The length of a public key.
const PUBLIC_BYTES: usize = 32;
const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";

/// Why a key cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("cannot read the key {path}: {error}", path = path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{path} is not an Ed25519 {expected}: {problem}", path = path.display())]
    NotAKey { path: PathBuf, expected: &'static str, problem: String },
    #[error("other users can read the private key {path}", path = .0.display())]
    Readable(PathBuf),
    #[error("{path} exists already, and is not overwritten", path = .0.display())]
    Exists(PathBuf),
    #[error("cannot write {path}: {error}", path = path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot make a key: the system does not provide random numbers")]
    Random,
}

impl KeyError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            KeyError::Read { .. } => "check the path, and that you may read the file".to_owned(),
            KeyError::NotAKey { .. } => "`hapax certify keygen` makes a pair of keys".to_owned(),
            KeyError::Readable(path) => format!("chmod 600 {}", path.display()),
            KeyError::Exists(_) => "choose another name with --out".to_owned(),
            KeyError::Write { .. } => "name a folder that exists and that can be written".to_owned(),
            KeyError::Random => "run it on another machine".to_owned(),
        }
    }
}

/// A private key.
#[derive(Debug)]
pub(crate) struct SigningKey(Ed25519KeyPair);

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifyingKey(Vec<u8>);

impl SigningKey {
    /// Reads a private key.
    pub(crate) fn load(path: &Path) -> Result<Self, KeyError> {
        let not_a_key = |problem: String| KeyError::NotAKey {
            path: path.to_owned(),
            expected: "private key (PKCS#8, PEM)",
            problem,
        };
        let text = read_text(path)?;
        let mode =
            fs::metadata(path).map_err(|error| KeyError::Read { path: path.to_owned(), error })?.mode();
        if mode & 0o077 != 0 {
            return Err(KeyError::Readable(path.to_owned()));
        }
        let bytes = from_pem(&text, PRIVATE_LABEL).map_err(not_a_key)?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes)
            .map_err(|error| not_a_key(error.to_string()))?;
        Ok(SigningKey(pair))
    }

    /// Its public key.
    pub(crate) fn public(&self) -> VerifyingKey {
        VerifyingKey(self.0.public_key().as_ref().to_vec())
    }

    /// The signature of these bytes.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}

impl VerifyingKey {
    /// Reads a public key.
    pub(crate) fn load(path: &Path) -> Result<Self, KeyError> {
        let not_a_key = |problem: String| KeyError::NotAKey {
            path: path.to_owned(),
            expected: "public key (PEM)",
            problem,
        };
        let bytes = from_pem(&read_text(path)?, PUBLIC_LABEL).map_err(not_a_key)?;
        match bytes.strip_prefix(&PUBLIC_PREFIX) {
            Some(key) if key.len() == PUBLIC_BYTES => Ok(VerifyingKey(key.to_vec())),
            _ => Err(not_a_key("it is a key of another kind".to_owned())),
        }
    }

    /// Its identifier in a signature: the SHA-256 of its file content without the PEM frame.
    pub(crate) fn id(&self) -> String {
        sha256(&[&PUBLIC_PREFIX, self.0.as_slice()].concat())
    }

    /// Whether a signature of these bytes was made with its private key.
    pub(crate) fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(bytes, signature).is_ok()
    }

    fn pem(&self) -> String {
        to_pem(&[&PUBLIC_PREFIX, self.0.as_slice()].concat(), PUBLIC_LABEL)
    }
}

/// Makes a pair of keys, and writes it to two files that must not exist.
pub(crate) fn write_key_pair(private: &Path, public: &Path) -> Result<VerifyingKey, KeyError> {
    for path in [private, public] {
        if fs::symlink_metadata(path).is_ok() {
            return Err(KeyError::Exists(path.to_owned()));
        }
    }
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::Random)?;
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| KeyError::Random)?;
    let key = SigningKey(pair).public();
    write_new(private, &to_pem(document.as_ref(), PRIVATE_LABEL), 0o600)?;
    write_new(public, &key.pem(), 0o644)?;
    Ok(key)
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), KeyError> {
    let opened = File::options().write(true).create_new(true).mode(mode).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all())).map_err(
        |error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
            _ => KeyError::Write { path: path.to_owned(), error },
        },
    )
}

fn read_text(path: &Path) -> Result<String, KeyError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_KEY_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(KeyError::Read { path: path.to_owned(), error }),
    }
}

fn to_pem(bytes: &[u8], label: &str) -> String {
    let encoded = BASE64.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + &format!("-----END {label}-----\n")
}

fn from_pem(text: &str, label: &str) -> Result<Vec<u8>, String> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let Some((_, rest)) = text.split_once(&begin) else {
        return Err(format!("it has no line `{begin}`"));
    };
    let Some((body, _)) = rest.split_once(&end) else {
        return Err(format!("it has no line `{end}`"));
    };
    let encoded: String = body.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    BASE64.decode(encoded).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn pair(folder: &Path) -> (PathBuf, PathBuf) {
        let (private, public) = (folder.join("a.key"), folder.join("a.pub"));
        write_key_pair(&private, &public).unwrap();
        (private, public)
    }

    #[test]
    fn a_pair_signs_and_verifies_and_only_its_owner_can_read_the_private_key() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = pair(folder.path());
        assert_eq!(fs::metadata(&private).unwrap().mode() & 0o777, 0o600);
        let (signing, verifying) =
            (SigningKey::load(&private).unwrap(), VerifyingKey::load(&public).unwrap());
        assert_eq!(signing.public(), verifying);
        let signature = signing.sign(b"statement");
        assert!(verifying.verifies(b"statement", &signature));
        assert!(!verifying.verifies(b"statemenT", &signature));
        let other = tempfile::tempdir().unwrap();
        let (_, other) = pair(other.path());
        let other = VerifyingKey::load(&other).unwrap();
        assert!(!other.verifies(b"statement", &signature));
        assert_ne!(other.id(), verifying.id());
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = pair(folder.path());
        let before = fs::read(&private).unwrap();
        let new = folder.path().join("new");
        for (one, other) in [(&private, &new), (&new, &public)] {
            let error = write_key_pair(one, other).unwrap_err();
            assert!(matches!(error, KeyError::Exists(_)), "{error}");
        }
        assert!(!new.exists(), "nothing is written if one of the files exists");
        assert_eq!(fs::read(&private).unwrap(), before);
    }

    #[test]
    fn a_private_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (private, _) = pair(folder.path());
        fs::set_permissions(&private, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(SigningKey::load(&private), Err(KeyError::Readable(_))));
    }

    #[test]
    fn what_is_not_a_key_is_an_error_that_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = pair(folder.path());
        let text = |error: KeyError| error.to_string().replace(&folder.path().display().to_string(), "DIR");
        let mut errors = vec![
            text(VerifyingKey::load(&private).unwrap_err()),
            text(SigningKey::load(&folder.path().join("none")).unwrap_err()),
        ];
        fs::set_permissions(&public, fs::Permissions::from_mode(0o600)).unwrap();
        errors.push(text(SigningKey::load(&public).unwrap_err()));
        for content in [
            "",
            "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ] {
            fs::write(&private, content).unwrap();
            errors.push(text(SigningKey::load(&private).unwrap_err()));
        }
        insta::assert_snapshot!(errors.join("\n"));
    }
}

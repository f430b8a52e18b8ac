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
    let (signing, verifying) = (SigningKey::load(&private).unwrap(), VerifyingKey::load(&public).unwrap());
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
    assert!(!new.exists(), "nothing is written where one of the files exists");
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

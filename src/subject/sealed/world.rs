//! What all sealed starts of a run share: the files that the subject sees in place of others, and the variables
//! that name them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::host_sockets::HostSockets;
use super::needed_files;
use super::order::{FileView, ReplacedFile};
use super::trust_stores::StartContext;
use crate::process_env;
use crate::subject::environment::TEMPORARY;
use crate::subject::{Machine, Settings};

/// Folders with sockets of the machine: each would be a way out.
const SOCKETS: [&str; 2] = ["/run", "/var/run"];
/// Where a sealed subject has its temporary files.
const TEMPORARY_PLACE: &str = Machine::PLACES[0];
/// The folder of hapax's own files in the namespace.
const OWN: &str = "/run/hapax";
/// The variables that name a file with everything that a client trusts.
const BUNDLE_VARIABLES: [&str; 6] =
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT"];
/// The variable that names what Node trusts beside its own list.
const NODE_VARIABLE: &str = "NODE_EXTRA_CA_CERTS";

/// The files of the namespaces of a run. They are removed with the folder that has them.
#[derive(Debug)]
pub struct SealedWorld {
    hidden: Vec<PathBuf>,
    sockets: HostSockets,
    replaced: Vec<ReplacedFile>,
    variables: Vec<(String, String)>,
    /// The folders of this machine in place of which each trial has its own, by their places.
    own: Vec<(&'static str, PathBuf)>,
    /// What the subject needs of these folders.
    needed: Vec<PathBuf>,
}

impl SealedWorld {
    /// Writes the files for a subject with this command and these settings into `folder`.
    ///
    /// # Errors
    /// When a file cannot be written, or there is no certificate authority.
    pub(in crate::subject) fn prepare(
        folder: &Path,
        hidden: Vec<PathBuf>,
        program: &[String],
        settings: &Settings,
    ) -> io::Result<Self> {
        let own = folder.join("sealed");
        fs::create_dir(&own)?;
        let directory = match &settings.directory {
            Some(directory) => std::path::absolute(directory)?,
            None => std::env::current_dir()?,
        };
        let env = process_env::all();
        let hidden = hidden.into_iter().map(std::path::absolute).collect::<io::Result<_>>()?;
        let subject = StartContext { program, directory: &directory, env: &env };
        let mut named: Vec<PathBuf> =
            settings.env.iter().filter_map(|(_, text)| Some(text.fill(&[])?.into())).collect();
        named.extend(std::env::current_exe());
        named.extend(std::env::current_dir());
        // What a part of hapax has in common with the subject is in one of them.
        named.extend(crate::scratch::folders());
        SealedWorld::write(&own, hidden, subject, &named)
    }

    /// Writes the files into an empty folder. `hidden` are the folders of hapax that no subject may see, and `named` are
    /// paths that the subject needs, if they exist.
    ///
    /// # Errors
    /// When a file cannot be written, or there is no certificate authority.
    fn write(
        folder: &Path,
        hidden: Vec<PathBuf>,
        subject: StartContext<'_>,
        named: &[PathBuf],
    ) -> io::Result<Self> {
        let authority = mock_services::certificate_authority()
            .ok_or_else(|| io::Error::other("no certificate authority could be made"))?;
        let mut replaced = Vec::new();
        let mut add = |path: &Path, content: &[&[u8]]| -> io::Result<()> {
            let file = folder.join(format!("file-{}", replaced.len()));
            let mut written = fs::File::create(&file)?;
            content.iter().try_for_each(|part| written.write_all(part))?;
            replaced.push(ReplacedFile { path: path.to_owned(), content: file });
            Ok(())
        };
        add(Path::new("/etc/resolv.conf"), &[b"nameserver 127.0.0.1\noptions timeout:1 attempts:2\n"])?;
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        add(Path::new("/etc/hosts"), &[format!("127.0.0.1 localhost {host}\n").as_bytes()])?;
        let names = Path::new("/etc/nsswitch.conf");
        if let Ok(text) = fs::read_to_string(names) {
            add(names, &[files_and_dns(&text).as_bytes()])?;
        }
        let own = |name: &str| Path::new(OWN).join(name);
        add(&own("ca.pem"), &[authority.as_bytes()])?;
        add(&own("ca-bundle.pem"), &[crate::trust::trusted(), b"\n", authority.as_bytes()])?;
        for store in subject.trust_stores() {
            let content = fs::read(&store)?;
            add(&store, &[&content, b"\n", authority.as_bytes()])?;
        }
        let text = |name: &str| own(name).to_string_lossy().into_owned();
        let bundle = BUNDLE_VARIABLES.map(|variable| (variable.to_owned(), text("ca-bundle.pem")));
        let mut variables = Vec::from(bundle);
        variables.push((NODE_VARIABLE.to_owned(), text("ca.pem")));
        variables.push(("HAPAX_CA_FILE".to_owned(), text("ca.pem")));
        let of_user = subject.env.iter().filter(|(name, _)| matches!(name.as_str(), "HOME" | "TMPDIR"));
        // The folders that the subject is likely to use.
        let mut used = vec![subject.directory.to_owned()];
        used.extend(
            of_user.map(|(_, folder)| PathBuf::from(folder)).chain(Machine::PLACES.map(PathBuf::from)),
        );
        let sockets = HostSockets::new(used);
        let own = own_folders(subject.directory);
        let needed = own.iter().flat_map(|(_, folder)| needed_files::below(folder, subject, named));
        let needed = needed.filter(|path| !hidden.contains(path)).collect();
        if own.iter().any(|(place, _)| *place == TEMPORARY_PLACE) {
            variables.push((TEMPORARY.to_owned(), TEMPORARY_PLACE.to_owned()));
        }
        Ok(SealedWorld { hidden, sockets, replaced, variables, own, needed })
    }

    /// The environment variables that name the files.
    pub(in crate::subject) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().cloned()
    }

    /// What one start sees: of hapax's own folders only these, its own machine's folders for temporary files, and no
    /// socket of the machine that hapax runs on.
    pub(in crate::subject) fn files(&self, visible: Vec<PathBuf>, machine: &Machine) -> FileView {
        let folders = SOCKETS.iter().map(Path::new).filter(|path| path.is_dir() && !path.is_symlink());
        let mut hidden: Vec<PathBuf> =
            folders.map(Path::to_owned).chain(self.hidden.iter().cloned()).collect();
        hidden.extend(self.sockets.paths(&hidden));
        let own = machine.folders().filter_map(|(place, content)| {
            let (_, path) = self.own.iter().find(|(own, _)| Path::new(own) == place)?;
            Some(ReplacedFile { path: path.clone(), content: content.to_owned() })
        });
        let (own, needed) = (own.collect(), self.needed.clone());
        FileView { own, needed, hidden, visible, replaced: self.replaced.clone() }
    }
}

/// The folders for temporary files of this machine in place of which each trial has its own: not the working directory
/// itself, and not what is a link to another of them.
fn own_folders(directory: &Path) -> Vec<(&'static str, PathBuf)> {
    let mut own: Vec<(&'static str, PathBuf)> = Vec::new();
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    for place in Machine::PLACES {
        let Ok(folder) = Path::new(place).canonicalize() else { continue };
        let is_other = folder != directory && !own.iter().any(|(_, other)| *other == folder);
        if is_other && folder.is_dir() {
            own.push((place, folder));
        }
    }
    own
}

/// The trust stores of this machine and its user.
pub(crate) fn trust_stores() -> Vec<PathBuf> {
    let (directory, env) = (std::env::current_dir().unwrap_or_default(), process_env::all());
    StartContext { program: &[], directory: &directory, env: &env }.trust_stores()
}

/// The same file with `files dns` for hosts: other sources ask services of the machine.
fn files_and_dns(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start().starts_with("hosts:") {
        true => "hosts: files dns",
        false => line,
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_looked_up_in_files_and_dns_alone() {
        let text =
            "passwd: files systemd\nhosts: files mymachines resolve [!UNAVAIL=return] dns myhostname\n";
        assert_eq!(files_and_dns(text), "passwd: files systemd\nhosts: files dns\n");
    }

    #[test]
    fn every_trust_store_that_a_subject_sees_has_the_authority_of_the_run() {
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = home.path().join("lib/python3.12/site-packages/certifi/cacert.pem");
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        fs::write(&store, "what was trusted before").unwrap();
        let env = [("VIRTUAL_ENV".to_owned(), home.path().to_string_lossy().into_owned())];
        let subject = StartContext { program: &[], directory: folder.path(), env: &env };
        let world = SealedWorld::write(folder.path(), vec!["/reports".into()], subject, &[]).unwrap();
        let view = world.files(vec!["/state".into()], &Machine::default());
        let store = store.canonicalize().unwrap();
        let merged = view.replaced.iter().find(|file| file.path == store).unwrap();
        let merged = fs::read_to_string(&merged.content).unwrap();
        assert!(merged.starts_with("what was trusted before\n-----BEGIN CERTIFICATE"), "{merged}");
        assert!(view.hidden.contains(&"/reports".into()) && view.visible == [PathBuf::from("/state")]);
    }
}

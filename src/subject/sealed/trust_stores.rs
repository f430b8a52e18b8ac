//! The trust stores that a subject can read: the files with the certificates that its clients trust. In a
//! sealed run it sees copies that also have the certificate authority of the run.

use std::path::{Path, PathBuf};

use mock_services::catalog::is_match;

/// The trust stores of systems.
const SYSTEM: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The trust stores of Python packages, below a folder of packages.
const PYTHON: [&str; 6] = [
    "certifi/cacert.pem",
    "botocore/cacert.pem",
    "stripe/data/ca-certificates.crt",
    "pip/_vendor/certifi/cacert.pem",
    "httplib2/cacerts.txt",
    "grpc/_cython/_credentials/roots.pem",
];

/// Where the interpreters and tools of a user are, below the home directory.
const IN_HOME: [&str; 4] =
    [".local", ".pyenv/versions/*", ".local/share/uv/tools/*", ".local/share/pipx/venvs/*"];

/// What is known of a subject before it starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartContext<'a> {
    /// Its command.
    pub(super) program: &'a [String],
    /// Its working directory.
    pub(super) directory: &'a Path,
    /// Its environment variables.
    pub(super) env: &'a [(String, String)],
}

impl StartContext<'_> {
    /// All trust stores that it could read, each once.
    pub(super) fn trust_stores(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        for packages in self.python_packages() {
            found.extend(PYTHON.iter().map(|store| packages.join(store)));
        }
        // The same file can be reached by several paths.
        let mut found: Vec<PathBuf> = found
            .into_iter()
            .filter(|path| path.is_file())
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The folders of Python packages.
    fn python_packages(&self) -> Vec<PathBuf> {
        let mut folders = vec![PathBuf::from("/usr/lib/python3/dist-packages")];
        for prefix in self.prefixes() {
            for library in ["lib", "lib64"] {
                for python in matching(&prefix.join(library), "python3*") {
                    folders.extend(["site-packages", "dist-packages"].map(|name| python.join(name)));
                }
            }
        }
        folders
    }

    /// The folders in which interpreters are installed.
    pub(super) fn prefixes(&self) -> Vec<PathBuf> {
        let mut prefixes: Vec<PathBuf> = ["/usr", "/usr/local"].map(PathBuf::from).into();
        prefixes.extend(["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| self.variable(name)));
        for executable in self.executables() {
            // The interpreter of a virtual environment is a link to another one.
            let real = executable.canonicalize().ok();
            for path in [Some(executable), real].into_iter().flatten() {
                prefixes.extend(path.parent().and_then(Path::parent).map(Path::to_owned));
            }
        }
        for folder in
            children(self.directory).into_iter().filter(|folder| folder.join("pyvenv.cfg").is_file())
        {
            prefixes.push(folder);
        }
        if let Some(pyenv) = self.variable("PYENV_ROOT") {
            prefixes.extend(children(&pyenv.join("versions")));
        }
        if let Some(home) = self.variable("HOME") {
            for below in IN_HOME {
                match below.strip_suffix("/*") {
                    Some(folder) => prefixes.extend(children(&home.join(folder))),
                    None => prefixes.push(home.join(below)),
                }
            }
        }
        prefixes.sort();
        prefixes.dedup();
        prefixes
    }

    /// The files that words of its command name, as paths or by `PATH`.
    pub(super) fn executables(&self) -> Vec<PathBuf> {
        let search: Vec<PathBuf> =
            self.variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let files = self.program.iter().flat_map(|word| {
            if word.contains('/') {
                vec![self.directory.join(word)]
            } else {
                search.iter().map(|folder| folder.join(word)).collect()
            }
        });
        files.filter(|path| path.is_file()).collect()
    }

    pub(super) fn variable(&self, name: &str) -> Option<PathBuf> {
        let (_, value) = self.env.iter().find(|(own, value)| own == name && !value.is_empty())?;
        Some(PathBuf::from(value))
    }
}

/// The folders in a folder whose names match the pattern.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let is_one =
        |path: &PathBuf| path.file_name().is_some_and(|name| is_match(pattern, &name.to_string_lossy()));
    children(folder).into_iter().filter(is_one).collect()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn store(folder: &Path, path: &str) -> PathBuf {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "certificates").unwrap();
        path.canonicalize().unwrap()
    }

    #[test]
    fn stores_are_found_by_the_interpreter_and_by_the_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let by_interpreter =
            store(folder.path(), "opt/lib/python3.12/site-packages/stripe/data/ca-certificates.crt");
        let by_directory = store(folder.path(), "work/.venv/lib/python3.11/site-packages/certifi/cacert.pem");
        fs::write(folder.path().join("work/.venv/pyvenv.cfg"), "").unwrap();
        fs::create_dir_all(folder.path().join("opt/bin")).unwrap();
        fs::write(folder.path().join("opt/bin/python3"), "").unwrap();
        let path = ("PATH".to_owned(), folder.path().join("opt/bin").to_string_lossy().into_owned());
        let found = StartContext {
            program: &["python3".to_owned(), "agent.py".to_owned()],
            directory: &folder.path().join("work"),
            env: &[path],
        }
        .trust_stores();
        assert!(found.contains(&by_interpreter) && found.contains(&by_directory), "{found:?}");
    }

    #[test]
    fn a_store_that_several_paths_lead_to_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let real = store(folder.path(), "one/lib/python3.12/site-packages/certifi/cacert.pem");
        std::os::unix::fs::symlink(folder.path().join("one"), folder.path().join("two")).unwrap();
        let prefix = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let env = [("VIRTUAL_ENV".to_owned(), prefix("one")), ("CONDA_PREFIX".to_owned(), prefix("two"))];
        let found = StartContext { program: &[], directory: folder.path(), env: &env }.trust_stores();
        assert_eq!(found.iter().filter(|path| **path == real).count(), 1, "{found:?}");
    }
}

//! A package that `npx` or `uvx` would download is installed before the sealed start, which has no network, and is
//! then started from where it is installed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The version that is tried if none is given.
const LATEST: &str = "latest";

/// A command that can be started without a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PreparedCommand {
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
    /// The package, if it is one.
    pub(crate) package: Option<InstalledPackage>,
}

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    /// What lists all packages that are installed with it, and the list.
    pub(crate) dependencies: (&'static str, Vec<u8>),
}

/// Why a package could not be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    #[error("`{0}` names no package; write it as `npx -y PACKAGE@VERSION`")]
    NoPackage(String),
    #[error("cannot start {0}: {1}; install it, or give the command of a server that is installed")]
    Missing(String, io::Error),
    #[error("{0} failed: {1}")]
    Failed(String, String),
    #[error("{0}: {1}")]
    Files(PathBuf, io::Error),
}

/// A package and how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackageCommand {
    name: String,
    version: String,
    /// The command of the package; `None` for its only one.
    command: Option<String>,
    arguments: Vec<String>,
}

/// Prepares a command. One that starts with `npx` or `uvx` is installed below `cache`; any other is left as
/// it is.
pub(crate) fn prepare_command(command: &[String], cache: &Path) -> Result<PreparedCommand, PackageError> {
    let name = command.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
    match name {
        "npx" => npm(&npx_package(&command[1..]).ok_or_else(|| no_package(command))?, cache),
        "uvx" => python(&uvx_package(&command[1..]).ok_or_else(|| no_package(command))?, cache),
        _ => Ok(PreparedCommand { program: command.to_vec(), package: None }),
    }
}

/// Runs a command that prepares a sealed start: it has a network, which the sealed start does not have.
pub(crate) fn run_preparation(command: &[String]) -> Result<(), PackageError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    run(Command::new(program).args(arguments)).map(drop)
}

fn no_package(command: &[String]) -> PackageError {
    PackageError::NoPackage(command.join(" "))
}

/// `npx [-y] [-p PACKAGE] PACKAGE [ARGUMENTS]`.
fn npx_package(words: &[String]) -> Option<PackageCommand> {
    let (mut package, mut words) = (None, words.iter().peekable());
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        match word.as_str() {
            "-p" | "--package" => package = Some(words.next()?.clone()),
            "--" => break,
            word => {
                if let Some(named) = word.strip_prefix("--package=") {
                    package = Some(named.to_owned());
                }
            }
        }
    }
    let first = words.next().cloned();
    let (spec, command) = match package {
        Some(package) => (package, first),
        None => (first?, None),
    };
    // A scope begins with an @.
    let (name, version) = match spec.char_indices().skip(1).find(|(_, letter)| *letter == '@') {
        Some((at, _)) => (spec[..at].to_owned(), spec[at + 1..].to_owned()),
        None => (spec, LATEST.to_owned()),
    };
    Some(PackageCommand { name, version, command, arguments: words.cloned().collect() })
}

/// `uvx [--from PACKAGE] PACKAGE [ARGUMENTS]`.
fn uvx_package(words: &[String]) -> Option<PackageCommand> {
    let (mut package, mut words) = (None, words.iter().peekable());
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        match word.as_str() {
            "--from" => package = Some(words.next()?.clone()),
            "--python" | "-p" | "--with" => _ = words.next()?,
            _ => {}
        }
    }
    let first = words.next().cloned()?;
    let spec = package.unwrap_or_else(|| first.clone());
    let split = spec.split_once("==").or_else(|| spec.split_once('@'));
    let (name, version) = split.map_or((spec.as_str(), LATEST), |(name, version)| (name, version));
    let command = first.split(['@', '=']).next().unwrap_or(&first).to_owned();
    let (name, version) = (name.to_owned(), version.to_owned());
    Some(PackageCommand { name, version, command: Some(command), arguments: words.cloned().collect() })
}

fn npm(package: &PackageCommand, cache: &Path) -> Result<PreparedCommand, PackageError> {
    let spec = format!("{}@{}", package.name, package.version);
    let version = match is_exact(&package.version) {
        true => package.version.clone(),
        false => {
            let shown = run(Command::new("npm").args(["view", &spec, "version", "--json"]))?;
            last_version(&String::from_utf8_lossy(&shown.stdout)).ok_or_else(|| {
                PackageError::Failed(format!("npm view {spec}"), "it names no version".to_owned())
            })?
        }
    };
    let folder = cache.join("npm").join(format!("{}@{version}", package.name.replace('/', "+")));
    let manifest = folder.join("node_modules").join(&package.name).join("package.json");
    if !manifest.is_file() {
        make_folder(&folder)?;
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&folder);
        run(install.arg(format!("{}@{version}", package.name)))?;
    }
    let text = read(&manifest)?;
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let command = npm_command(&json, package.command.as_deref()).ok_or_else(|| {
        PackageError::Failed(spec.clone(), "the package has no command with that name".to_owned())
    })?;
    let program = folder.join("node_modules").join(".bin").join(command);
    let lock = read(&folder.join("package-lock.json"))?;
    Ok(prepared(package, version, &program, "package-lock.json", lock))
}

/// The command of a package: the one that is asked for, the one with its name, or its only one.
fn npm_command(manifest: &serde_json::Value, asked: Option<&str>) -> Option<String> {
    let name = manifest.get("name")?.as_str()?;
    let plain = name.rsplit('/').next().unwrap_or(name);
    let commands: Vec<String> = match manifest.get("bin")? {
        serde_json::Value::String(_) => vec![plain.to_owned()],
        serde_json::Value::Object(commands) => commands.keys().cloned().collect(),
        _ => return None,
    };
    match (asked, commands.as_slice()) {
        (Some(asked), _) => commands.iter().find(|command| *command == asked).cloned(),
        (None, [only]) => Some(only.clone()),
        (None, _) => commands.iter().find(|command| *command == plain).cloned(),
    }
}

fn python(package: &PackageCommand, cache: &Path) -> Result<PreparedCommand, PackageError> {
    let spec = match package.version.as_str() {
        LATEST => package.name.clone(),
        version => format!("{}=={version}", package.name),
    };
    let folder = cache.join("python").join(spec.replace('/', "+"));
    let interpreter = folder.join("bin").join("python");
    let command = package.command.clone().unwrap_or_else(|| package.name.clone());
    let program = folder.join("bin").join(&command);
    if !program.is_file() || package.version == LATEST {
        make_folder(&folder)?;
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"];
        run(Command::new(&interpreter).args(install).arg(&spec))?;
    }
    if !program.is_file() {
        let why = format!("the package has no command `{command}`; write it as `uvx --from {spec} COMMAND`");
        return Err(PackageError::Failed(spec, why));
    }
    let ask = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
    let shown = run(Command::new(&interpreter).args(["-c", ask, &package.name]))?;
    let version = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
    let frozen =
        run(Command::new(&interpreter).args(["-m", "pip", "freeze", "--disable-pip-version-check"]))?;
    Ok(prepared(package, version, &program, "pip freeze", frozen.stdout))
}

fn prepared(
    package: &PackageCommand,
    version: String,
    program: &Path,
    what: &'static str,
    list: Vec<u8>,
) -> PreparedCommand {
    let program = program.to_string_lossy().into_owned();
    let (name, dependencies) = (package.name.clone(), (what, list));
    PreparedCommand {
        program: [program].into_iter().chain(package.arguments.iter().cloned()).collect(),
        package: Some(InstalledPackage { name, version, dependencies }),
    }
}

/// Whether a version is a single one and not a tag or a range.
fn is_exact(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The version, or the last of a list of versions, as npm prints it.
fn last_version(json: &str) -> Option<String> {
    match serde_json::from_str(json).ok()? {
        serde_json::Value::String(version) => Some(version),
        serde_json::Value::Array(versions) => Some(versions.last()?.as_str()?.to_owned()),
        _ => None,
    }
}

fn run(command: &mut Command) -> Result<Output, PackageError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let words = std::iter::once(program.clone())
        .chain(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    let words: Vec<String> = words.collect();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| PackageError::Missing(program, error))?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(5)..].join(" | ");
    Err(PackageError::Failed(words.join(" "), last))
}

fn make_folder(folder: &Path) -> Result<(), PackageError> {
    std::fs::create_dir_all(folder).map_err(|error| PackageError::Files(folder.to_owned(), error))
}

fn read(path: &Path) -> Result<Vec<u8>, PackageError> {
    std::fs::read(path).map_err(|error| PackageError::Files(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn package(name: &str, version: &str, command: Option<&str>, arguments: &[&str]) -> PackageCommand {
        PackageCommand {
            name: name.to_owned(),
            version: version.to_owned(),
            command: command.map(str::to_owned),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    #[test]
    fn the_package_of_an_npx_command_is_found() {
        let found = |text: &str| npx_package(&words(text));
        assert_eq!(found("-y resend-mcp"), Some(package("resend-mcp", "latest", None, &[])));
        assert_eq!(
            found("--yes @a/b@1.2.3 --flag x"),
            Some(package("@a/b", "1.2.3", None, &["--flag", "x"]))
        );
        assert_eq!(
            found("-y -p @a/b@2.0.0 serve -v"),
            Some(package("@a/b", "2.0.0", Some("serve"), &["-v"]))
        );
        assert_eq!(found("--package=c@1.0.0 -- serve"), Some(package("c", "1.0.0", Some("serve"), &[])));
        assert_eq!(found("-y"), None);
    }

    #[test]
    fn the_package_of_a_uvx_command_is_found() {
        let found = |text: &str| uvx_package(&words(text));
        assert_eq!(
            found("mcp-server-time"),
            Some(package("mcp-server-time", "latest", Some("mcp-server-time"), &[]))
        );
        assert_eq!(found("mail-mcp@1.2 --x"), Some(package("mail-mcp", "1.2", Some("mail-mcp"), &["--x"])));
        assert_eq!(found("--from a==3.1 serve b"), Some(package("a", "3.1", Some("serve"), &["b"])));
        assert_eq!(found("--from"), None);
    }

    #[test]
    fn any_other_command_is_left_as_it_is() {
        let command = words("python3 server.py");
        assert_eq!(prepare_command(&command, Path::new("unused")).unwrap().program, command);
    }

    #[test]
    fn the_command_of_a_package_is_the_one_asked_for_or_the_one_with_its_name() {
        let one = json!({"name": "@a/server", "bin": "index.js"});
        assert_eq!(npm_command(&one, None).as_deref(), Some("server"));
        let two = json!({"name": "b", "bin": {"b": "x.js", "c": "y.js"}});
        assert_eq!(npm_command(&two, None).as_deref(), Some("b"));
        assert_eq!(npm_command(&two, Some("c")).as_deref(), Some("c"));
        assert_eq!(npm_command(&two, Some("d")), None);
        assert_eq!(npm_command(&json!({"name": "e"}), None), None);
    }

    #[test]
    fn a_tag_is_not_a_version() {
        assert!(is_exact("1.2.3") && is_exact("2025.4.8") && is_exact("1.0.0-beta.1"));
        assert!(!is_exact("latest") && !is_exact("^1.2.3") && !is_exact("1") && !is_exact("1.x.0"));
        assert_eq!(last_version("\"1.0.1\""), Some("1.0.1".to_owned()));
        assert_eq!(last_version("[\"1.0.0\", \"1.0.1\"]"), Some("1.0.1".to_owned()));
    }
}

//! Recipes: how a published agent program is started as a subject, as small data files. Those in the binary are
//! `agents/NAME.yaml` of the repository; a project can have its own in its folder `agents/`. A recipe changes nothing of
//! the program, and the program gets a home directory of its own, so nothing of the user's configuration is read.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Serialize;
use yaml_reader::shape::{MapShape, Shape, optional, required};
use yaml_reader::{Key, MAX_BYTES, Node, Problems, Reader, Source, Span, listed, nearest, parse, shown};

use super::config::{read_recipe_subject, secret_values};
use super::secret_words::shown_command;
use super::{Subject, SubjectKind};

static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/agents");
/// The folder of the recipes of a project.
const FOLDER: &str = "agents";

/// The file.
static RECIPE: MapShape<8> = MapShape::new([
    required("about", Shape::Sentence),
    required("version", Shape::Text),
    required("install", Shape::Sentence),
    required("approvals", Shape::Sentence),
    required("sandbox", Shape::Sentence),
    required("subject", Shape::Any),
    optional("notes", Shape::TEXTS),
    optional("problems", Shape::TEXT_MAP),
]);

/// How a program is started as a subject.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// The text of its file.
    pub text: String,
    /// The subject; its settings have the facts of the recipe.
    pub subject: Subject,
}

/// Whose words a recipe has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecipeOrigin {
    /// hapax ships it. A file of a project that is a copy is the same.
    Shipped,
    /// A file of a project, which can start any program and call it as it likes.
    Local(LocalRecipe),
}

/// A recipe that is a file of a project, with other content than hapax ships.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalRecipe {
    /// Its file, as the user knows it.
    pub file: String,
    /// The command that it starts, or the address of an agent that already runs.
    pub starts: String,
    /// Whether hapax ships a recipe with the same name.
    pub replaces_shipped: bool,
}

/// What a recipe says about its program, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecipeFacts {
    /// Its name.
    pub name: String,
    /// Whose words the others are.
    pub origin: RecipeOrigin,
    /// The keys with which a subject of `hapax.yaml` changes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_by_subject: Vec<String>,
    /// Which program it is.
    pub about: String,
    /// The version that it is made for.
    pub version: String,
    /// The command that installs that version.
    pub install: String,
    /// How it sets the program's approvals.
    pub approvals: String,
    /// How it sets the program's sandbox.
    pub sandbox: String,
    /// What else a reader of a report must know.
    pub notes: Vec<String>,
    /// Texts in the output of a program that cannot run, and what to do about each.
    #[serde(skip)]
    pub problems: Vec<(String, String)>,
}

impl LocalRecipe {
    /// Whose it is, and what it starts: a clause after the name of the recipe.
    #[must_use]
    pub fn clause(&self) -> String {
        let LocalRecipe { file, starts, replaces_shipped } = self;
        let replaced =
            if *replaces_shipped { ", with the name of a shipped recipe and other content" } else { "" };
        format!("({}) is local{replaced}, and starts `{}`", shown(file), shown(starts))
    }
}

impl RecipeFacts {
    /// The recipe in a sentence: `recipe "claude"`, with its file if it is local.
    #[must_use]
    pub fn named(&self) -> String {
        let name = shown(&self.name);
        match &self.origin {
            RecipeOrigin::Shipped => format!("recipe `{name}`"),
            RecipeOrigin::Local(local) => format!("local recipe `{name}` ({})", shown(&local.file)),
        }
    }

    /// The file and the command of the recipe, if it is local.
    #[must_use]
    pub fn local(&self) -> Option<&LocalRecipe> {
        match &self.origin {
            RecipeOrigin::Shipped => None,
            RecipeOrigin::Local(local) => Some(local),
        }
    }

    /// What to do about a problem that the output of the program names.
    pub(crate) fn problem_in<'a>(&self, outputs: impl IntoIterator<Item = &'a str>) -> Option<&str> {
        let texts: Vec<String> = outputs.into_iter().map(str::to_lowercase).collect();
        let is_named = |(text, _): &&(String, String)| {
            let text = text.to_lowercase();
            texts.iter().any(|output| output.contains(&text))
        };
        self.problems.iter().find(is_named).map(|(_, help)| help.as_str())
    }
}

/// Why there is no recipe.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// No file has that name.
    #[error("there is no recipe for an agent `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// What to do about it.
        help: String,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file has problems.
    #[error("problems in {file}:\n{problems}")]
    Problems {
        /// Which file.
        file: String,
        /// The problems.
        problems: Problems,
    },
}

impl RecipeError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            RecipeError::Unknown { help, .. } => help.clone(),
            RecipeError::File { .. } => "check the path and its permissions".to_owned(),
            RecipeError::Problems { .. } => {
                "fix the file, or remove it to use the recipe of hapax".to_owned()
            }
        }
    }
}

impl Recipe {
    /// The recipe with that name: of the project in one of these folders, or in the binary; or at that path.
    ///
    /// # Errors
    /// If there is none, or it has problems.
    pub fn find(name: &str, projects: &[PathBuf]) -> Result<Self, RecipeError> {
        let known_as = format!("{FOLDER}/{name}.yaml");
        let own = |project: &PathBuf| project.join(&known_as);
        let is_path = name.contains('/') || name.ends_with(".yaml");
        let path = if is_path {
            Some((PathBuf::from(name), name))
        } else {
            // A shell has already made the empty file when `hapax list --agents NAME > agents/NAME.yaml` begins.
            let has_content =
                |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
            projects.iter().map(own).find(has_content).map(|path| (path, known_as.as_str()))
        };
        if let Some((path, known_as)) = path {
            return Recipe::load_as(&path, known_as.to_owned());
        }
        match shipped_text(name) {
            Some(text) => {
                let source = Source::new(known_as.clone(), text);
                read(name, source, Path::new(""), |_| RecipeOrigin::Shipped)
            }
            None => Err(RecipeError::Unknown {
                name: shown(name),
                help: match nearest(name, names().iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!(
                        "expected {}, a file {FOLDER}/{}.yaml in this project, or the path of a recipe",
                        listed(names().iter().map(String::as_str)),
                        shown(name)
                    ),
                },
            }),
        }
    }

    /// Reads the recipe in a file.
    ///
    /// # Errors
    /// If it cannot be read, or has problems.
    pub fn load(path: &Path) -> Result<Self, RecipeError> {
        Recipe::load_as(path, path.display().to_string())
    }

    /// Reads the recipe in a file that the user knows by this name.
    fn load_as(path: &Path, known_as: String) -> Result<Self, RecipeError> {
        use std::io::Read as _;
        let failed = |error| RecipeError::File { path: path.to_owned(), error };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new(""));
        let shipped = shipped_text(&name);
        let is_copy = shipped == Some(text.as_str());
        let origin = |kind: &SubjectKind| match is_copy {
            true => RecipeOrigin::Shipped,
            false => RecipeOrigin::Local(LocalRecipe {
                file: known_as,
                starts: started_by(kind),
                replaces_shipped: shipped.is_some(),
            }),
        };
        let secrets = secret_values(&text);
        read(&name, Source::hiding(path.display().to_string(), text, secrets), folder, origin)
    }
}

/// The text of the recipe with this name in the binary.
fn shipped_text(name: &str) -> Option<&'static str> {
    SHIPPED.get_file(format!("{name}.yaml"))?.contents_utf8()
}

/// The files of the recipes of a project.
#[must_use]
pub fn recipes_of(project: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(project.join(FOLDER)).into_iter().flatten().flatten();
    let paths = files.map(|file| project.join(FOLDER).join(file.file_name()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    paths.sort();
    paths
}

/// The names of the recipes in the binary.
#[must_use]
pub fn names() -> Vec<String> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = SHIPPED.files().filter_map(|file| stem(file.path())).collect();
    names.sort();
    names
}

/// Reads a recipe; what it starts decides with `origin` whose it is.
fn read(
    name: &str,
    source: Source,
    folder: &Path,
    origin: impl FnOnce(&SubjectKind) -> RecipeOrigin,
) -> Result<Recipe, RecipeError> {
    let failed = |problems| RecipeError::Problems { file: source.name().to_owned(), problems };
    let mut subject = read_source(name, &source, folder).map_err(failed)?;
    let origin = origin(&subject.kind);
    if let Some(facts) = &mut subject.settings.recipe {
        facts.origin = origin;
    }
    Ok(Recipe { text: source.text().to_owned(), subject })
}

/// The command of a subject without secrets, or the address of one that already runs.
fn started_by(kind: &SubjectKind) -> String {
    match kind {
        SubjectKind::Command { program } | SubjectKind::Http { command: Some(program), .. } => {
            shown_command(program)
        }
        SubjectKind::Http { url: name, command: None, .. } | SubjectKind::Control(name) => name.clone(),
    }
}

fn read_source(name: &str, source: &Source, folder: &Path) -> Result<Subject, Problems> {
    let tree = parse(source)?;
    let reader = Reader::new(source);
    let subject = read_tree(&reader, &tree, name, folder);
    reader.finish(subject)
}

fn read_tree(reader: &Reader, tree: &Node, name: &str, folder: &Path) -> Option<Subject> {
    let [about, version, install, approvals, sandbox, subject, notes, problems] =
        reader.fields(tree, "a recipe", &RECIPE)?;
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).unwrap_or_default().to_owned();
    let list = notes.and_then(|node| reader.list(node)).unwrap_or_default();
    let notes = list.iter().filter_map(|node| reader.text(node)).map(str::to_owned).collect();
    let entries = problems.and_then(|node| reader.entries(node)).unwrap_or_default();
    let problems =
        entries.iter().filter_map(|(key, node)| Some((key.name.clone(), reader.text(node)?.to_owned())));
    let facts = RecipeFacts {
        name: name.to_owned(),
        origin: RecipeOrigin::Shipped,
        changed_by_subject: Vec::new(),
        about: text(about),
        version: text(version),
        install: text(install),
        approvals: text(approvals),
        sandbox: text(sandbox),
        notes,
        problems: problems.collect(),
    };
    let key = Key { name: name.to_owned(), span: Span::default() };
    let mut subject = read_recipe_subject(reader, &key, subject?, folder)?;
    subject.settings.recipe = Some(facts);
    Some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{SubjectKind, has_task};

    #[test]
    fn every_shipped_recipe_can_be_read_and_gives_the_task_to_its_program() {
        assert!(names().len() >= 6, "{:?}", names());
        for name in names() {
            let recipe = Recipe::find(&name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
            let SubjectKind::Command { program } = &recipe.subject.kind else { panic!("{name}") };
            let settings = &recipe.subject.settings;
            assert!(has_task(program), "{name}");
            assert!(settings.home.is_some(), "{name} would read the configuration of the user");
            let facts = settings.recipe.as_ref().unwrap();
            assert!(facts.install.contains(&facts.version), "{name} installs another version");
        }
    }
}

//! All cases that a user asks for: from the shipped scenarios, the user's own, and the files and folders that
//! are named.

mod find;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use mock_services::yaml::{Problem, Problems, Source, Span, nearest, shown};

use self::find::{Found, OWN, Place, in_binary, on_disk};
use crate::scenario::Case;
use crate::scenario::files::{Folder, disk_source, shown_path};
use crate::scenario::read::{place_of, read_in};

/// What was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The cases that were asked for, in the order of their scenarios.
    pub cases: Vec<Case>,
    /// How many files were read.
    pub files: usize,
}

/// Why nothing was loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Files are wrong; nothing runs until they are mended.
    #[error("{} to mend first", counted(.0.len(), "problem"))]
    Problems(Problems),
    /// Filters name nothing.
    #[error("{}", told(.0))]
    NoMatch(Vec<Unmatched>),
}

/// A filter that names nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The filter.
    pub filter: String,
    /// What would be right.
    pub help: String,
}

impl LoadError {
    /// The error as the user sees it, with the way out.
    #[must_use]
    pub fn advice(&self, colour: bool) -> String {
        match self {
            LoadError::Problems(problems) => {
                format!("{}\n\nerror: {self}", problems.render(colour).trim_end())
            }
            LoadError::NoMatch(filters) => {
                let one = |unmatched: &Unmatched| {
                    format!("error: no case matches `{}`\nhelp: {}", shown(&unmatched.filter), unmatched.help)
                };
                filters.iter().map(one).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

fn told(filters: &[Unmatched]) -> String {
    let names: Vec<String> =
        filters.iter().map(|unmatched| format!("`{}`", shown(&unmatched.filter))).collect();
    format!("no case matches {}", names.join(" and "))
}

/// A number and what is counted.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The cases of the shipped scenarios.
///
/// # Errors
/// When one of them is wrong, which the tests of hapax rule out.
pub fn shipped() -> Result<Vec<Case>, LoadError> {
    read_all(Path::new(""), &in_binary()).map(|loaded| loaded.cases)
}

/// The cases that the filters name, or all of them where there is none. A filter is a file or a folder, a
/// tag, or any part of an id; a case that one of them names is loaded. Paths are seen from the current
/// folder.
///
/// # Errors
/// All that is wrong with all files at once, or else the filters that name nothing.
pub fn load(filters: &[String]) -> Result<Loaded, LoadError> {
    load_in(Path::new(""), filters)
}

/// The same, seen from another folder.
///
/// # Errors
/// As [`load`].
pub fn load_in(base: &Path, filters: &[String]) -> Result<Loaded, LoadError> {
    let (mut named, mut words) = (Vec::new(), Vec::new());
    let mut trouble = Problems::default();
    let mut found_in = |path: &str| {
        on_disk(base, Path::new(path)).unwrap_or_else(|message| {
            trouble.push(Problem::new(&Source::new(path, ""), Span::default(), message));
            Vec::new()
        })
    };
    for filter in filters {
        match found_in(filter) {
            found if found.is_empty() => words.push(filter),
            found => named.extend(found),
        }
    }
    // A user's file takes the place of a shipped one of its name, and one that is named takes the place of
    // both.
    let mut files: BTreeMap<String, Found> = BTreeMap::new();
    if filters.is_empty() || !words.is_empty() {
        let own = found_in(OWN);
        files.extend(in_binary().into_iter().map(|found| (found.name.clone(), found)));
        files.extend(one_of_each(base, own, &mut trouble));
    }
    let named = one_of_each(base, named, &mut trouble);
    let by_path: BTreeSet<String> = named.keys().cloned().collect();
    files.extend(named);
    if !trouble.is_empty() {
        return Err(LoadError::Problems(trouble));
    }
    let mut loaded = read_all(base, &files.into_values().collect::<Vec<_>>())?;
    let unmatched: Vec<Unmatched> = words
        .iter()
        .filter(|word| !loaded.cases.iter().any(|case| matches(case, word)))
        .map(|word| Unmatched { filter: (*word).clone(), help: way_out(word, &loaded.cases) })
        .collect();
    if !unmatched.is_empty() {
        return Err(LoadError::NoMatch(unmatched));
    }
    if !filters.is_empty() {
        let is_meant =
            |case: &Case| by_path.contains(&case.scenario) || words.iter().any(|word| matches(case, word));
        loaded.cases.retain(is_meant);
    }
    Ok(loaded)
}

/// The files by the names of their scenarios, of which no two may be the same.
fn one_of_each(base: &Path, found: Vec<Found>, trouble: &mut Problems) -> BTreeMap<String, Found> {
    let real = |found: &Found| match &found.place {
        Place::Disk(path) => std::fs::canonicalize(base.join(path)).ok(),
        Place::Shipped(_) => None,
    };
    let shown_place = |found: &Found| match &found.place {
        Place::Disk(path) | Place::Shipped(path) => path.display().to_string(),
    };
    let mut all: BTreeMap<String, Found> = BTreeMap::new();
    for one in found {
        match all.get(&one.name) {
            Some(earlier) if real(earlier) != real(&one) => {
                let message =
                    format!("`{}` is also the name of the scenario in {}", one.name, shown_place(earlier));
                let problem = Problem::new(&Source::new(shown_place(&one), ""), Span::default(), message);
                trouble.push(problem.with_help("rename one of the two files, or name them one at a time"));
            }
            Some(_) => {}
            None => {
                all.insert(one.name.clone(), one);
            }
        }
    }
    all
}

/// Whether a tag or a part of an id names the case.
fn matches(case: &Case, word: &str) -> bool {
    !word.is_empty() && (case.tags.iter().any(|tag| tag == word) || case.id.contains(word))
}

fn way_out(word: &str, cases: &[Case]) -> String {
    let is_path =
        word.ends_with(".yaml") || word.ends_with(".yml") || word.starts_with("./") || word.starts_with('/');
    if is_path {
        return "there is no such file, or no scenario in it; paths are seen from the folder in which you are".to_owned();
    }
    let tags = cases.iter().flat_map(|case| case.tags.iter().map(String::as_str));
    let names = cases.iter().flat_map(|case| [case.scenario.as_str(), case.id.as_str()]);
    // The last part of a name is what people remember of it.
    let ends = cases.iter().filter_map(|case| case.scenario.rsplit('/').next());
    match nearest(word, tags.chain(names).chain(ends)) {
        Some(near) => format!("did you mean `{near}`? `hapax list` shows all"),
        None => {
            "a filter is a file or a folder, a tag, or any part of an id; `hapax list` shows all".to_owned()
        }
    }
}

fn read_all(base: &Path, files: &[Found]) -> Result<Loaded, LoadError> {
    let (mut cases, mut problems, mut told) = (Vec::new(), Problems::default(), HashSet::new());
    for found in files {
        match read_one(base, found) {
            Ok(read) => cases.extend(read),
            // A service that several scenarios name is wrong once.
            Err(found) => problems.extend(found.into_iter().filter(|problem| told.insert(place_of(problem)))),
        }
    }
    if problems.is_empty() {
        Ok(Loaded { cases, files: files.len() })
    } else {
        Err(LoadError::Problems(problems))
    }
}

fn read_one(base: &Path, found: &Found) -> Result<Vec<Case>, Problems> {
    let unreadable = |name: &str, error: String| {
        Problems::from(Problem::new(
            &Source::new(name, ""),
            Span::default(),
            format!("cannot read this file: {error}"),
        ))
    };
    match &found.place {
        Place::Disk(path) => {
            let name = path.display().to_string();
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let source = disk_source(&base.join(&folder), name.clone(), &base.join(path))
                .map_err(|error| unreadable(&name, error))?;
            read_in(&source, &found.name, &Folder::Disk { base: base.to_owned(), folder })
        }
        Place::Shipped(path) => {
            let folder = Folder::Shipped(path.parent().unwrap_or(Path::new("")).to_owned());
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let source = folder.read(&file).map_err(|error| unreadable(&shown_path(path), error))?;
            read_in(&source, &found.name, &folder)
        }
    }
}

#[cfg(test)]
mod tests;

//! Loads the cases that a user selects: from the shipped scenarios, the user's own, and the files and folders
//! that are named.

mod find;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use yaml_reader::{Problem, Problems, Source, Span, nearest, shown};

use self::find::{FoundFile, OWN, Origin, in_binary, on_disk};
use crate::scenario::Case;
use crate::scenario::files::{Folder, disk_source, read_text, shipped_text, shown_path};
use crate::scenario::filter::{FilterExpression, is_folder, is_in_folder, is_named};
use crate::scenario::read::{problem_key, read_in};

/// The loaded cases.
#[derive(Debug)]
pub struct Loaded {
    /// The selected cases, in the order of their scenarios.
    pub cases: Vec<Case>,
    /// The number of files that were read.
    pub files: usize,
    /// What the user may have meant instead.
    pub notes: Vec<String>,
}

/// Why nothing was loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Files have problems. Nothing runs until they are fixed.
    #[error("{} to fix first", counted(.0.len(), "problem"))]
    Problems(Problems),
    /// Filters match nothing.
    #[error("{}", no_match_message(.0))]
    NoMatch(Vec<Unmatched>),
    /// A name fits no scenario, or more than one.
    #[error("{message}")]
    NoScenario {
        /// What is wrong with the name.
        message: String,
        /// What to do about it.
        help: String,
    },
}

/// A filter that matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The filter.
    pub filter: String,
    /// What to do about it.
    pub help: String,
}

impl LoadError {
    /// The error as the user sees it, with hints.
    #[must_use]
    pub fn advice(&self, color: bool) -> String {
        match self {
            LoadError::Problems(problems) => {
                format!("{}\n\nerror: {self}", problems.render(color).trim_end())
            }
            LoadError::NoMatch(filters) => {
                let one = |unmatched: &Unmatched| {
                    format!("error: no case matches `{}`\nhelp: {}", shown(&unmatched.filter), unmatched.help)
                };
                filters.iter().map(one).collect::<Vec<_>>().join("\n")
            }
            LoadError::NoScenario { message, help } => format!("error: {message}\nhelp: {help}"),
        }
    }
}

fn no_match_message(filters: &[Unmatched]) -> String {
    let names: Vec<String> =
        filters.iter().map(|unmatched| format!("`{}`", shown(&unmatched.filter))).collect();
    format!("no case matches {}", names.join(" and "))
}

/// A number and a noun in singular or plural: `2 problems`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The cases of the shipped scenarios.
///
/// # Errors
/// When one of them has a problem; the tests of hapax make sure that none has.
pub fn shipped() -> Result<Vec<Case>, LoadError> {
    read_all(Path::new(""), &in_binary()).map(|loaded| loaded.cases)
}

/// The cases that match at least one of the filters, or all cases without a filter. A filter is a file or a
/// folder, a folder of scenarios, a tag, or any part of a case id. Paths are relative to the current folder.
///
/// # Errors
/// Every problem of every file, or else the filters that match nothing.
pub fn load(filters: &[String]) -> Result<Loaded, LoadError> {
    load_in(Path::new(""), filters)
}

/// Like [`load`], and of these cases those that the expression selects.
///
/// # Errors
/// As [`load`]; also the problem of the expression, or the parts of it that no case meets.
pub fn load_matching(filters: &[String], expression: Option<&str>) -> Result<Loaded, LoadError> {
    let expression = parsed(expression)?;
    let loaded = load(filters)?;
    Ok(Loaded { cases: matching(loaded.cases, expression)?, ..loaded })
}

/// Of these cases, those that a filter and the expression select. A filter is a tag or a part of an id.
///
/// # Errors
/// The problem of the expression, or the filters and the parts of the expression that no case meets.
pub fn select(
    mut cases: Vec<Case>,
    filters: &[String],
    expression: Option<&str>,
) -> Result<Vec<Case>, LoadError> {
    let expression = parsed(expression)?;
    let ids = cases.iter().map(|case| format!("`{}`", case.id)).collect::<Vec<_>>().join(", ");
    let is_unmatched = |word: &&String| !cases.iter().any(|case| is_named(case, word));
    let unmatched: Vec<Unmatched> = filters
        .iter()
        .filter(is_unmatched)
        .map(|word| Unmatched { filter: word.clone(), help: format!("the cases are {ids}") })
        .collect();
    if !unmatched.is_empty() {
        return Err(LoadError::NoMatch(unmatched));
    }
    cases.retain(|case| filters.is_empty() || filters.iter().any(|word| is_named(case, word)));
    matching(cases, expression)
}

fn parsed(expression: Option<&str>) -> Result<Option<FilterExpression>, LoadError> {
    expression.map(FilterExpression::parse).transpose().map_err(LoadError::Problems)
}

fn matching(mut cases: Vec<Case>, expression: Option<FilterExpression>) -> Result<Vec<Case>, LoadError> {
    let Some(expression) = expression else { return Ok(cases) };
    let expression = expression.with_folders(&cases);
    let unmet = expression.unmet(&cases).into_iter().map(|(filter, near)| Unmatched {
        filter,
        help: match near {
            Some(near) => format!("did you mean `{near}`? `hapax list` shows all cases"),
            None => "`hapax list` shows all cases, with their tags and values".to_owned(),
        },
    });
    let unmet: Vec<Unmatched> = unmet.collect();
    if !unmet.is_empty() {
        return Err(LoadError::NoMatch(unmet));
    }
    cases.retain(|case| expression.matches(case));
    if cases.is_empty() {
        let help = "each part of it matches some case, but no case all of it; `hapax list` shows all cases";
        let filter = "the expression".to_owned();
        return Err(LoadError::NoMatch(vec![Unmatched { filter, help: help.to_owned() }]));
    }
    Ok(cases)
}

/// Like [`load`], with paths relative to `base`.
///
/// # Errors
/// As [`load`].
pub fn load_in(base: &Path, filters: &[String]) -> Result<Loaded, LoadError> {
    let (mut named, mut words) = (Vec::new(), Vec::new());
    let mut problems_found = Problems::default();
    let mut found_in = |path: &str| {
        on_disk(base, Path::new(path)).unwrap_or_else(|message| {
            problems_found.push(Problem::new(&Source::new(path, ""), Span::default(), message));
            Vec::new()
        })
    };
    for filter in filters {
        match found_in(filter) {
            found if found.is_empty() => words.push(filter),
            found => named.extend(found),
        }
    }
    // A user's file replaces the shipped one with the same name, and a file named on the command line
    // replaces both.
    let mut files: BTreeMap<String, FoundFile> = BTreeMap::new();
    if filters.is_empty() || !words.is_empty() {
        let own = found_in(OWN);
        files.extend(in_binary().into_iter().map(|found| (found.name.clone(), found)));
        files.extend(by_name(base, own, &mut problems_found));
    }
    let named = by_name(base, named, &mut problems_found);
    let by_path: BTreeSet<String> = named.keys().cloned().collect();
    files.extend(named);
    if !problems_found.is_empty() {
        return Err(LoadError::Problems(problems_found));
    }
    let mut loaded = read_all(base, &files.into_values().collect::<Vec<_>>())?;
    let (folders, words): (Vec<&String>, Vec<&String>) =
        words.into_iter().partition(|word| is_folder(&loaded.cases, word));
    let unmatched: Vec<Unmatched> = words
        .iter()
        .filter(|word| !loaded.cases.iter().any(|case| is_named(case, word)))
        .map(|word| Unmatched { filter: (*word).clone(), help: hint(base, word, &loaded.cases) })
        .collect();
    if !unmatched.is_empty() {
        return Err(LoadError::NoMatch(unmatched));
    }
    if !filters.is_empty() {
        let is_selected = |case: &Case| {
            by_path.contains(&case.scenario)
                || folders.iter().any(|folder| is_in_folder(case, folder))
                || words.iter().any(|word| is_named(case, word))
        };
        let (selected, others): (Vec<Case>, Vec<Case>) = loaded.cases.into_iter().partition(is_selected);
        loaded.cases = selected;
        loaded.notes = folders.iter().filter_map(|folder| note_on_tag(folder, &others)).collect();
    }
    Ok(loaded)
}

/// That a tag has the name of a folder, and selects more.
fn note_on_tag(folder: &str, others: &[Case]) -> Option<String> {
    let has_tag = |case: &&Case| case.tags.iter().any(|tag| tag == folder);
    let more = match others.iter().filter(has_tag).count() {
        0 => return None,
        1 => "1 more case has".to_owned(),
        count => format!("{count} more cases have"),
    };
    Some(format!("note: {more} the tag {folder}: `-E 'tag({folder})'`"))
}

/// The text of the file of a scenario: the user's own, or the one that is built in. The last part of its name
/// suffices if it is unique, and a case stands for its scenario.
///
/// # Errors
/// When there is no such scenario, when several have that last part, or when the file cannot be read.
pub fn scenario_text(name: &str) -> Result<String, LoadError> {
    let wanted = name.split_once('@').map_or(name, |(scenario, _)| scenario);
    let failed = |message: String| {
        LoadError::Problems(Problem::new(&Source::new(name, ""), Span::default(), message).into())
    };
    let base = Path::new("");
    let mut files: BTreeMap<String, FoundFile> = BTreeMap::new();
    for found in in_binary().into_iter().chain(on_disk(base, Path::new(OWN)).map_err(failed)?) {
        files.insert(found.name.clone(), found);
    }
    let end = format!("/{wanted}");
    let found: Vec<&FoundFile> = match files.get(wanted) {
        Some(found) => vec![found],
        None => files.values().filter(|found| found.name.ends_with(&end)).collect(),
    };
    let (message, help) = match found.as_slice() {
        [one] => return text_of(one).map_err(failed),
        [] => {
            let help = match nearest(wanted, files.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`? `hapax list` shows all scenarios"),
                None => "`hapax list` shows all scenarios".to_owned(),
            };
            (format!("there is no scenario `{}`", shown(name)), help)
        }
        [others @ .., last] => {
            let names: Vec<String> = others.iter().map(|found| format!("`{}`", found.name)).collect();
            let message = format!("{} scenarios are called `{}`", found.len(), shown(name));
            (message, format!("did you mean {} or `{}`?", names.join(", "), last.name))
        }
    };
    Err(LoadError::NoScenario { message, help })
}

fn text_of(found: &FoundFile) -> Result<String, String> {
    match &found.origin {
        Origin::Disk(path) => read_text(path),
        Origin::Shipped(path) => shipped_text(path),
    }
}

/// The files by scenario name. Reports two files with the same name.
fn by_name(base: &Path, found: Vec<FoundFile>, problems_found: &mut Problems) -> BTreeMap<String, FoundFile> {
    let real = |found: &FoundFile| match &found.origin {
        Origin::Disk(path) => std::fs::canonicalize(base.join(path)).ok(),
        Origin::Shipped(_) => None,
    };
    let shown_path_of = |found: &FoundFile| match &found.origin {
        Origin::Disk(path) | Origin::Shipped(path) => path.display().to_string(),
    };
    let mut all: BTreeMap<String, FoundFile> = BTreeMap::new();
    for one in found {
        match all.get(&one.name) {
            Some(earlier) if real(earlier) != real(&one) => {
                let message =
                    format!("the scenario name `{}` is also used by {}", one.name, shown_path_of(earlier));
                let problem = Problem::new(&Source::new(shown_path_of(&one), ""), Span::default(), message);
                problems_found.push(problem.with_help("rename one of the files, or select only one of them"));
            }
            Some(_) => {}
            None => {
                all.insert(one.name.clone(), one);
            }
        }
    }
    all
}

fn hint(base: &Path, word: &str, cases: &[Case]) -> String {
    let other = match word.rsplit_once('.') {
        Some((stem, "yml")) => Some(format!("{stem}.yaml")),
        Some((stem, "yaml")) => Some(format!("{stem}.yml")),
        _ => None,
    };
    if let Some(other) = other.filter(|other| base.join(other).is_file()) {
        return format!("this file does not exist, but `{}` does: name that one", shown(&other));
    }
    let is_path =
        word.ends_with(".yaml") || word.ends_with(".yml") || word.starts_with("./") || word.starts_with('/');
    if is_path {
        return "no such file, or no scenario in it; paths are relative to the current folder".to_owned();
    }
    let tags = cases.iter().flat_map(|case| case.tags.iter().map(String::as_str));
    let names = cases.iter().flat_map(|case| [case.scenario.as_str(), case.id.as_str()]);
    // Users often remember only the last part of a name.
    let ends = cases.iter().filter_map(|case| case.scenario.rsplit('/').next());
    match nearest(word, tags.chain(names).chain(ends)) {
        Some(near) => format!("did you mean `{near}`? `hapax list` shows all cases"),
        None => "a filter is a file or a folder, a tag, or any part of an id; `hapax list` shows all cases"
            .to_owned(),
    }
}

fn read_all(base: &Path, files: &[FoundFile]) -> Result<Loaded, LoadError> {
    let (mut cases, mut problems, mut reported) = (Vec::new(), Problems::default(), HashSet::new());
    let shipped: BTreeMap<String, FoundFile> =
        in_binary().into_iter().map(|found| (found.name.clone(), found)).collect();
    for found in files {
        match read_one(base, found) {
            Ok(mut read) => {
                if let (Origin::Disk(_), Some(shipped)) = (&found.origin, shipped.get(&found.name)) {
                    mark_replaced(&mut read, &read_one(base, shipped).unwrap_or_default());
                }
                cases.extend(read);
            }
            // Several scenarios can refer to the same service file; its problems are reported once.
            Err(found) => {
                problems.extend(found.into_iter().filter(|problem| reported.insert(problem_key(problem))))
            }
        }
    }
    if problems.is_empty() {
        Ok(Loaded { cases, files: files.len(), notes: Vec::new() })
    } else {
        Err(LoadError::Problems(problems))
    }
}

/// Marks the cases that are not among those of the shipped scenario with the same name.
fn mark_replaced(cases: &mut [Case], shipped: &[Case]) {
    for case in cases {
        case.replaces_shipped = !shipped.iter().any(|other| case.is_same(other));
    }
}

fn read_one(base: &Path, found: &FoundFile) -> Result<Vec<Case>, Problems> {
    let unreadable = |name: &str, error: String| {
        Problems::from(Problem::new(
            &Source::new(name, ""),
            Span::default(),
            format!("cannot read this file: {error}"),
        ))
    };
    match &found.origin {
        Origin::Disk(path) => {
            let name = path.display().to_string();
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            let source = disk_source(&base.join(&folder), name.clone(), &base.join(path))
                .map_err(|error| unreadable(&name, error))?;
            read_in(&source, &found.name, &Folder::Disk { base: base.to_owned(), folder })
        }
        Origin::Shipped(path) => {
            let folder = Folder::Shipped(path.parent().unwrap_or(Path::new("")).to_owned());
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let source = folder.read(&file).map_err(|error| unreadable(&shown_path(path), error))?;
            read_in(&source, &found.name, &folder)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SCENARIO: &str = "about: Mine.\ntags: [mine]\ntask: t\nexpect: {effects: [], claim: not-done}\n";

    #[test]
    fn a_local_file_with_a_shipped_name_is_told_from_a_copy_of_the_shipped_one() {
        let copies = load_in(Path::new(env!("CARGO_MANIFEST_DIR")), &["scenarios".to_owned()]).unwrap();
        assert!(copies.cases.len() > 100);
        let changed = copies.cases.iter().find(|case| case.replaces_shipped);
        assert!(changed.is_none(), "{changed:?}");
        let home =
            Home::with(&[("scenarios/payment/clean.yaml", SCENARIO), ("scenarios/mine.yaml", SCENARIO)]);
        let of = |filter: &str| home.load(&[filter]).unwrap().cases[0].replaces_shipped;
        assert!(of("payment/clean") && !of("mine") && !of("payment/lost-reply"));
    }

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[(&str, &str)]) -> Self {
            let home = Home(tempfile::tempdir().unwrap());
            for (path, text) in files {
                let path = home.0.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            home
        }

        fn load(&self, filters: &[&str]) -> Result<Loaded, LoadError> {
            load_in(self.0.path(), &filters.iter().map(|filter| (*filter).to_owned()).collect::<Vec<_>>())
        }

        fn ids(&self, filters: &[&str]) -> Vec<String> {
            let loaded = self.load(filters).unwrap_or_else(|error| panic!("{}", error.advice(false)));
            loaded.cases.into_iter().map(|case| case.id).collect()
        }

        fn refused(&self, filters: &[&str]) -> String {
            self.load(filters).unwrap_err().advice(false)
        }
    }

    #[test]
    fn an_empty_folder_has_the_shipped_scenarios() {
        let home = Home::with(&[]);
        assert_eq!(home.ids(&[]), shipped().unwrap().into_iter().map(|case| case.id).collect::<Vec<_>>());
    }

    #[test]
    fn the_files_of_a_user_are_added_to_the_shipped_ones() {
        let home = Home::with(&[
            ("scenarios/mine/first.yaml", SCENARIO),
            ("scenarios/second.yml", SCENARIO),
            ("scenarios/.hidden.yaml", "nonsense"),
            ("scenarios/notes.txt", "nonsense"),
        ]);
        let ids = home.ids(&[]);
        assert_eq!(ids.len(), shipped().unwrap().len() + 2);
        assert!(ids.contains(&"mine/first".to_owned()) && ids.contains(&"second".to_owned()));
    }

    #[test]
    fn a_file_of_a_user_replaces_the_shipped_one_with_that_name() {
        let home = Home::with(&[("scenarios/payment/lost-reply.yaml", SCENARIO)]);
        assert_eq!(home.ids(&["payment/lost-reply"]), ["payment/lost-reply"]);
    }

    #[test]
    fn a_file_with_the_other_ending_is_named() {
        let home = Home::with(&[("ok.yaml", SCENARIO), ("fine.yml", SCENARIO)]);
        assert!(home.refused(&["ok.yml"]).contains("`ok.yaml` does"), "{}", home.refused(&["ok.yml"]));
        assert!(home.refused(&["fine.yaml"]).contains("`fine.yml` does"));
        assert!(home.refused(&["none.yaml"]).contains("no such file"));
    }

    #[test]
    fn a_filter_is_a_path_a_tag_or_a_part_of_an_id() {
        let home = Home::with(&[
            ("scenarios/a.yaml", SCENARIO),
            ("elsewhere/b.yaml", SCENARIO),
            ("elsewhere/in/c.yaml", SCENARIO),
        ]);
        assert_eq!(home.ids(&["scenarios/a.yaml"]), ["a"]);
        assert_eq!(home.ids(&["elsewhere"]), ["b", "in/c"]);
        assert_eq!(home.ids(&["elsewhere/in/c.yaml"]), ["c"]);
        assert_eq!(home.ids(&["mine"]), ["a"]);
        assert_eq!(home.ids(&["killed-after-effect@keys=none"]), ["crash/killed-after-effect@keys=none"]);
        assert_eq!(
            home.ids(&["mine", "killed-after-effect"]),
            ["a", "crash/killed-after-effect@keys=stripe", "crash/killed-after-effect@keys=none"]
        );
        assert!(
            home.ids(&["lost-reply@keys=none,reply=502"]).iter().all(|id| id.contains("keys=none,reply=502"))
        );
    }

    #[test]
    fn a_word_that_names_a_folder_of_scenarios_is_that_folder() {
        let home = Home::with(&[
            ("scenarios/mine/a.yaml", SCENARIO),
            ("scenarios/mine.yaml", SCENARIO),
            ("scenarios/other/mine.yaml", SCENARIO),
            ("scenarios/b.yaml", SCENARIO),
        ]);
        assert_eq!(home.ids(&["mine"]), ["mine", "mine/a"], "not the tag, nor a part of an id");
        assert_eq!(home.ids(&["mine/"]), ["mine/a"]);
        let notes = |filters: &[&str]| home.load(filters).unwrap().notes;
        assert_eq!(notes(&["mine"]), ["note: 2 more cases have the tag mine: `-E 'tag(mine)'`"]);
        assert_eq!(notes(&["mine", "other/mine"]), ["note: 1 more case has the tag mine: `-E 'tag(mine)'`"]);
        assert!(notes(&["ambiguous"]).is_empty() && notes(&["scenarios/mine.yaml"]).is_empty());
    }

    #[test]
    fn only_the_files_that_are_named_must_be_right() {
        let home = Home::with(&[("scenarios/a.yaml", "about: 5"), ("b.yaml", SCENARIO)]);
        assert_eq!(home.ids(&["b.yaml"]), ["b"]);
        assert!(
            home.refused(&["crash"]).contains("scenarios/a.yaml:1:8"),
            "nothing runs while a file is wrong"
        );
    }

    #[test]
    fn a_filter_that_matches_nothing_gives_a_suggestion() {
        let home = Home::with(&[]);
        insta::assert_snapshot!(home.refused(&["crsh", "payment/lost-replay", "mine/x.yaml", "zzz"]));
    }

    #[test]
    fn all_problems_of_all_files_are_reported_at_once() {
        let home = Home::with(&[
            ("scenarios/a.yaml", "about: 5\ntask: t\nexpect: {effects: [], claim: not-done}\n"),
            ("scenarios/b.yaml", "about: &x 5\n"),
            (
                "scenarios/c.yaml",
                "about: a\ntask: t\nservices: {desk: {file: desk.yaml}}\nexpect: {effects: [], claim: not-done}\n",
            ),
            ("scenarios/desk.yaml", "service: desk\noperations: {}\n"),
            ("scenarios/e.yaml", &"[".repeat(2 << 20)),
        ]);
        let message = home.refused(&[]).replace(&home.0.path().display().to_string(), "HOME");
        insta::assert_snapshot!(message);
    }

    #[test]
    fn a_scenario_can_use_a_service_file_beside_it() {
        let desk = "service: desk\noperations: {open: {route: POST /t, fields: {who: body.who}, effect: \
        {identity: [who]}, set: {state: new}}}\n";
        let scenario = "about: a\ntask: t\nsteps: [{do: desk.open, with: {who: ann}}]\nservices: {desk: {file: \
        ../desk.yaml}}\n\
                    expect: {effects: [{effect: desk.open, where: {who: ann}, with: {state: new}}]}\n";
        let home = Home::with(&[("scenarios/desk.yaml", desk), ("scenarios/in/a.yaml", scenario)]);
        let loaded = home.load(&["in/a"]).unwrap();
        assert_eq!(loaded.cases[0].services[0].name, "desk");
        assert!(loaded.cases[0].terms.operations.iter().any(|operation| operation.identity == ["who"]));
    }

    #[test]
    fn two_files_with_the_same_scenario_name_are_refused() {
        let home = Home::with(&[("a/x.yaml", SCENARIO), ("b/x.yaml", SCENARIO)]);
        assert!(
            home.refused(&["a", "b"]).contains("the scenario name `x` is also used by a/x.yaml"),
            "{}",
            home.refused(&["a", "b"])
        );
        assert_eq!(home.ids(&["a", "./a/x.yaml"]), ["x"], "the same file twice is one file");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_is_not_followed() {
        let home = Home::with(&[("scenarios/a.yaml", SCENARIO)]);
        std::os::unix::fs::symlink(home.0.path().join("scenarios"), home.0.path().join("scenarios/again"))
            .unwrap();
        assert_eq!(home.ids(&["mine"]), ["a"]);
    }
}

//! What a sealed subject needs of the folders for temporary files of this machine, although it has such folders of its
//! own: its working directory and project, its program with the virtual environment, and what its variables name.

use std::path::{Path, PathBuf};

use super::trust_stores::StartContext;

/// Variables with folders of programs and packages.
const LISTS: [&str; 4] = ["PATH", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH"];
/// Variables with one folder.
const FOLDERS: [&str; 5] = ["HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PYENV_ROOT"];
/// A file or folder that is in the root of a project.
const PROJECT_MARKS: [&str; 2] = [".git", "hapax.yaml"];

/// The files and folders below `folder` that the subject needs, without those in another one of them. `named` are
/// further paths that its settings name.
pub(super) fn below(folder: &Path, subject: StartContext<'_>, named: &[PathBuf]) -> Vec<PathBuf> {
    let mut needed = vec![project(folder, subject.directory)];
    let lists = LISTS.iter().filter_map(|name| subject.variable(name));
    needed.extend(lists.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>()));
    needed.extend(FOLDERS.iter().filter_map(|name| subject.variable(name)));
    needed.extend(subject.prefixes());
    // The files that its command names, with the files beside them.
    let words = subject.program.iter().map(|word| subject.directory.join(word));
    for file in words.chain(subject.executables()).chain(named.iter().cloned()) {
        let real = file.canonicalize().ok();
        for path in [Some(file), real].into_iter().flatten().filter(|path| path.exists()) {
            let around = path.parent().filter(|_| path.is_file()).map(Path::to_owned);
            needed.extend([Some(path), around].into_iter().flatten());
        }
    }
    let inside = |path: PathBuf| {
        let path = path.canonicalize().ok()?;
        (path != folder && path.starts_with(folder)).then_some(path)
    };
    outermost(needed.into_iter().filter_map(inside).collect())
}

/// The root of the project that a working directory is in: the outermost folder below `folder` that looks like one.
fn project(folder: &Path, directory: &Path) -> PathBuf {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let above = directory.ancestors().take_while(|above| above.starts_with(folder) && *above != folder);
    let is_root = |above: &&Path| PROJECT_MARKS.iter().any(|mark| above.join(mark).exists());
    above.filter(is_root).last().unwrap_or(&directory).to_owned()
}

/// The paths that are not in another one of them.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    // A folder comes before everything in it.
    paths.sort();
    paths.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn touch(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn the_project_the_program_and_its_environment_are_needed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in [
            "project/.git/HEAD",
            "project/agents/one/main.py",
            "tools/agent/run.py",
            "venv/bin/python3",
            "journal/of-a-trial",
            "lone.py",
            "data/store.sqlite",
        ] {
            touch(&root.join(file));
        }
        let text = |path: &str| root.join(path).to_string_lossy().into_owned();
        let program = [text("venv/bin/python3"), text("tools/agent/run.py"), text("lone.py")];
        let subject =
            StartContext { program: &program, directory: &root.join("project/agents/one"), env: &[] };
        let needed = below(&root, subject, &[root.join("data/store.sqlite")]);
        let names: Vec<&str> =
            needed.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["data", "lone.py", "project", "tools", "venv"]);
    }

    #[test]
    fn nothing_is_needed_of_a_folder_in_which_the_subject_has_nothing() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        touch(&folder.path().join("journal"));
        let subject = StartContext { program: &["true".to_owned()], directory: other.path(), env: &[] };
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(below(&root, subject, &[]), [] as [PathBuf; 0]);
    }
}

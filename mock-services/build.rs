//! Lists the files of the folder `profiles`, so that a new idempotency profile is one file.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=profiles");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("profiles");
    let mut profiles = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let position: u32 = value("position:").map_or(Ok(u32::MAX), str::parse)?;
        let about = value("about:").unwrap_or_default().trim_matches('"').to_owned();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        profiles.push((position, name, about, path));
    }
    profiles.sort();
    let (mut variants, mut files) = (String::new(), String::new());
    for (_, name, about, path) in profiles {
        writeln!(variants, "/// {about}\n{} => {name:?},", variant(&name))?;
        writeln!(files, "({name:?}, include_str!({path:?})),")?;
    }
    let code = format!(
        "word_enum! {{\n/// How a service treats idempotency keys.\npub enum Profile {{\n{variants}}}\n}}\n\
         const FILES: &[(&str, &str)] = &[\n{files}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("profiles.rs"), code)?;
    Ok(())
}

/// The name of a file as that of a variant: `SquareUp` for `square-up`.
fn variant(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split(['-', '_']).map(capitalized).collect()
}

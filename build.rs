//! Builds again when a shipped scenario or recipe has changed: they are a part of the binary, and the macro that reads
//! them does not say so.

fn main() {
    println!("cargo::rerun-if-changed=scenarios");
    println!("cargo::rerun-if-changed=agents");
}

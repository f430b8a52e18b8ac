//! The command `hapax`.

fn main() -> std::process::ExitCode {
    hapax::cli::main()
}

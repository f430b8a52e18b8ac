//! `hapax schema`: the JSON Schemas of what hapax reads and writes, for editors and for programs.

use super::ExitStatus;
use super::print::output;
use crate::report::report_schema_text;
use crate::scenario::schema_text;

/// Print the JSON Schema of the scenario format, or of report.json.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax schema > scenario.schema.json
      Keep it, and begin a scenario file with
      # yaml-language-server: $schema=scenario.schema.json
      so that editors complete and check.
  hapax schema report
      What stands in the report.json of a run.")]
pub(super) struct SchemaArgs {
    /// Which format
    #[arg(value_name = "FORMAT", value_enum, default_value_t = Format::Scenario)]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A scenario file.
    Scenario,
    /// The report of a run.
    Report,
}

pub(super) fn run(args: SchemaArgs) -> ExitStatus {
    let text = match args.format {
        Format::Scenario => schema_text(),
        Format::Report => report_schema_text(),
    };
    output(text.as_bytes(), ExitStatus::Success)
}

//! `hapax schema`: the JSON Schemas of the files that hapax reads and writes.

use mock_services::custom::service_schema;

use super::print::output;
use crate::ExitStatus;
use crate::results::report_schema_text;
use crate::scenario::schema_text;
use crate::subject::config_schema_text;

/// Print the JSON Schema of scenarios, hapax.yaml, service files or report.json.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax schema > scenario.schema.json
      Save it, and start a scenario file with
      # yaml-language-server: $schema=scenario.schema.json
      so that editors complete and check it.
  hapax schema config > hapax.schema.json
      The same for hapax.yaml.
  hapax schema service
      The format of service files.
  hapax schema report
      The format of report.json.")]
pub(super) struct SchemaArgs {
    /// The format
    #[arg(value_name = "FORMAT", value_enum, default_value_t = SchemaFormat::Scenario)]
    format: SchemaFormat,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SchemaFormat {
    /// Scenario files.
    Scenario,
    /// hapax.yaml.
    Config,
    /// Service files.
    Service,
    /// report.json.
    Report,
}

pub(super) fn run(args: &SchemaArgs) -> ExitStatus {
    let text = match args.format {
        SchemaFormat::Scenario => schema_text(),
        SchemaFormat::Config => config_schema_text(),
        SchemaFormat::Service => format!("{:#}\n", service_schema()),
        SchemaFormat::Report => report_schema_text(),
    };
    output(text.as_bytes(), ExitStatus::Success)
}

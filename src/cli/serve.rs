//! `hapax serve`: runs mock services until Ctrl-C, or until a command ends.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::{eprintln, stdout};
use mock_services::fault::ReplyKind;
use mock_services::idempotency::{Idempotency, parse_idempotency};
use mock_services::ledger::Entry;

use super::error::CliError;
use crate::ExitStatus;
use crate::scenario::own_file;
use crate::serve::{SendTo, ServeError, ServeOptions, Serving, show};
use crate::text::ci_commands;

const EXAMPLES: &str = "\
Examples:
  hapax serve
      All services, no faults.
  hapax serve payment --fault 'payment.charge#1 commit=now reply=drop'
      The first charge goes through and its reply is lost.
  hapax serve email --fault 'email.send#1..3 reply={status: 429, retry_after: 2}'
      Three replies with status 429, although each email was sent.
  hapax serve --service tickets.yaml --faults faults.yaml --ledger ledger.jsonl
      Your own service, faults from a file, and the ledger saved.
  hapax serve payment --send-to http://127.0.0.1:3000/hooks/stripe
      Every charge also sends its event, signed with the STRIPE_WEBHOOK_SECRET that is shown.
  hapax serve payment email --expect payment.charge:order=ord_1 -- pytest
      Start the services, run the tests with their addresses in the environment, and fail unless order ord_1
      was charged exactly once and nothing else was committed.

With a command, hapax prints nothing on standard output, and its exit status is that of the command. If that is \
0, it is 3 if a fault did not fire. With --expect, it is also 1 if the ledger is not as expected, and 3 if that \
proves nothing, because the command sent a request that hapax does not support, processes of the command still run, \
or the command reset the ledger or armed a fault.

An effect is EFFECT[:FIELD=VALUE,FIELD=VALUE][*TIMES]: payment.charge:order=ord_1,amount=4999

A fault is OPERATION#ATTEMPT commit=COMMIT reply=REPLY [where.FIELD=VALUE] [caller=N] [chance=0.2]
  ATTEMPT  1, 1..3, [1, 4], every
  COMMIT   now, never, later, {later: {requests: 2}}, {later: 2s}, twice, {part: 0.5},
           {reverts: {requests: 3}}, {reverts: 2s}
  REPLY    ";

/// The examples, and how every reply is written.
fn after_help() -> String {
    const WIDTH: usize = 80;
    const INDENT: &str = "           ";
    let (mut help, mut used) = (EXAMPLES.to_owned(), INDENT.len());
    let forms = ReplyKind::forms();
    for (index, form) in forms.iter().enumerate() {
        let form = if index + 1 < forms.len() { format!("{form},") } else { (*form).to_owned() };
        if used + 1 + form.len() > WIDTH {
            help += &format!("\n{INDENT}");
            used = INDENT.len();
        } else if index > 0 {
            help.push(' ');
        }
        used += 1 + form.len();
        help += &form;
    }
    help
}

/// Start mock services that commit and then fail, and show every request.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(super) struct ServeArgs {
    /// Services to start: payment, email, deploy, records, web, model, tickets [default: all of them]
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,

    /// Inject a fault into an attempt; can be repeated
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,

    /// Read faults from a YAML or JSON file
    #[arg(long = "faults", value_name = "FILE")]
    fault_file: Option<PathBuf>,

    /// Start your own service, declared in a YAML file; can be repeated
    #[arg(long = "service", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How a service treats idempotency keys: a profile that `hapax list --profiles` shows, or your own file
    #[arg(long, value_name = "SERVICE=PROFILE", value_parser = idempotency)]
    idempotency: Vec<(String, Idempotency)>,

    /// The port of a service; smtp=PORT for SMTP, smtps=PORT for SMTP over TLS [default: a free port]
    #[arg(long, value_name = "SERVICE=PORT", value_parser = port)]
    port: Vec<(String, u16)>,

    /// The number of callers; each has its own port for each service, and all share one state
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    callers: u32,

    /// The seed of ids and of faults with a chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The address to listen on; an address other than loopback needs --token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,

    /// The token of the admin API [default: generated and shown]
    #[arg(long, value_name = "TOKEN", env = "HAPAX_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// The port of the admin API [default: a free port]
    #[arg(long, value_name = "PORT")]
    admin_port: Option<u16>,

    /// Write the certificate authority of the mail server to this file [default: a temporary file]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Send the events of services to this URL, as their real webhooks, each once; can be repeated. The page sends them
    /// again, out of order or signed wrongly
    #[arg(long, value_name = "[SERVICE=]URL")]
    send_to: Vec<SendTo>,

    /// Write the ledger to this file, which must not exist
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,

    /// Print the entries of the ledger as JSON lines
    #[arg(long, conflicts_with = "quiet")]
    json: bool,

    /// Do not print requests
    #[arg(short, long)]
    quiet: bool,

    /// An effect that must be committed when the command ends; can be repeated. All others are errors
    #[arg(long, value_name = "EFFECT", requires = "command")]
    expect: Vec<String>,

    /// Give the command the admin API although there is an --expect; a fault that it arms makes the result 3
    #[arg(long, requires = "expect")]
    admin: bool,

    /// A command to run with the services, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "json")]
    command: Vec<String>,
}

fn pair(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| format!("write it as SERVICE=VALUE, not `{text}`"))
}

fn idempotency(text: &str) -> Result<(String, Idempotency), String> {
    let (service, name) = pair(text)?;
    Ok((service.to_owned(), parse_idempotency(name, &|path| own_file(Path::new("."), path))?))
}

fn port(text: &str) -> Result<(String, u16), String> {
    let (service, number) = pair(text)?;
    Ok((service.to_owned(), number.parse().map_err(|_| format!("`{number}` is not a port number"))?))
}

pub(super) fn run(args: ServeArgs) -> Result<ExitCode, CliError> {
    let (json, quiet) = (args.json, args.quiet);
    let options = ServeOptions {
        services: args.services,
        files: args.files,
        faults: args.faults,
        fault_file: args.fault_file,
        idempotency: args.idempotency,
        ports: args.port,
        callers: args.callers,
        seed: args.seed,
        address: args.listen,
        token: args.token,
        admin_port: args.admin_port,
        ca_file: args.ca_file,
        send_to: args.send_to,
        ledger: args.ledger,
        expected: args.expect,
        gives_admin: args.admin,
    };
    let command = args.command;
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Runtime)
        .and_then(|runtime| match command.is_empty() {
            true => runtime.block_on(serve(options, json, quiet)).map(|()| ExitCode::SUCCESS),
            false => runtime.block_on(serve_command(options, &command, quiet)),
        });
    match outcome {
        Ok(status) => Ok(status),
        // A reader that closes the pipe early is no error.
        Err(ServeError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}

async fn serve(options: ServeOptions, json: bool, quiet: bool) -> Result<(), ServeError> {
    let stopped = crate::serve::stop_signal()?;
    let serving = Serving::start(options).await?;
    let mut out = stdout();
    if json {
        eprintln!("{}", serving.banner());
    } else {
        write!(out, "{}", serving.banner()).and_then(|()| out.flush()).map_err(ServeError::Output)?;
    }
    let mut reader = serving.services().ledger().reader();
    tokio::pin!(stopped);
    loop {
        let entries = tokio::select! {
            // If nothing is shown, no entry is read: that would cost as much as serving the requests.
            entries = reader.grown(), if !quiet => entries,
            _ = &mut stopped => break,
        };
        print(&mut out, &entries, json).map_err(ServeError::Output)?;
    }
    let ended = serving.end().await?;
    if !quiet {
        // Entries that were written while the services stopped.
        print(&mut out, &reader.next_entries(), json).map_err(ServeError::Output)?;
    }
    let text = show::summary(&ended);
    let text = ci_commands::text(&text);
    if json { write!(anstream::stderr(), "{text}") } else { write!(out, "{text}") }
        .map_err(ServeError::Output)
}

/// Runs a command beside the services. Standard output belongs to the command.
async fn serve_command(
    options: ServeOptions,
    command: &[String],
    quiet: bool,
) -> Result<ExitCode, ServeError> {
    let stopped = crate::serve::stop_signal()?;
    let serving = Serving::start(options).await?;
    let command = serving.run_command(command, stopped).await?;
    let status = command.status;
    let ended = serving.end().await?;
    let mut out = anstream::stderr();
    if !quiet {
        write!(out, "{}", ci_commands::text(&show::summary(&ended))).map_err(ServeError::Output)?;
    }
    let differences = if ended.evidence_removed { Vec::new() } else { ended.differences() };
    for difference in &differences {
        eprintln!("{}", ci_commands::text(&format!("error: {difference}")));
    }
    let unproven = ended.not_comparable(command);
    if let Some(reason) = &unproven {
        eprintln!("{}", ci_commands::text(&format!("error: {reason}")));
    }
    // After a reset it is not known whether a fault fired before.
    let is_known = differences.is_empty() && unproven.is_none() && !ended.evidence_removed;
    let unfired = if is_known { ended.unfired() } else { Vec::new() };
    for fault in &unfired {
        eprintln!("{}", ci_commands::text(&format!("error: this fault did not fire: {fault}")));
    }
    Ok(match status {
        0 if !differences.is_empty() => ExitStatus::Failed.into(),
        0 if unproven.is_some() || !unfired.is_empty() => ExitStatus::Unproven.into(),
        status => ExitCode::from(status),
    })
}

fn print(out: &mut impl Write, entries: &[Entry], json: bool) -> io::Result<()> {
    for entry in entries {
        let line = if json {
            serde_json::to_string(entry).ok().map(|line| ci_commands::json(&line).into_owned())
        } else {
            show::line(entry).map(|line| ci_commands::text(&line).into_owned())
        };
        if let Some(line) = line {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()
}

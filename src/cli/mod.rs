//! The command line: arguments, messages and exit statuses. Each command is a file, in folders by
//! subject.
//!
//! [`mod@reference`] lists the meanings of exit statuses. If the reader of the output has closed it, the
//! program prints no message, saves nothing, and ends with 141, as a shell reports for a program that SIGPIPE
//! has ended.

mod about;
#[cfg(feature = "console")]
mod audit;
mod dedup;
mod files;
mod interrupt;
mod lists;
mod logging;
mod page;
mod service;
mod settings;
mod table;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use about::{config, reference, shell};
use leitong_base::terminal;
use leitong_http::Error as HttpError;
use leitong_keep::Error as KeepError;
use leitong_pipeline::config::load::ConfigError;
use leitong_store::snapshot::SnapshotError;
use lists::{boilerplate, idf};
use logging::LogFormat;
#[cfg(feature = "console")]
use page::compare;
use page::{extract, preset};
#[cfg(feature = "console")]
use service::console;
use service::serve;
#[cfg(feature = "kafka")]
use service::{doctor, replay, run, tap, topics};

/// Parts of the command line that `leitong-lab` uses: it reads, writes, reports and ends as `leitong` does. Not an
/// API: it changes without notice.
#[doc(hidden)]
pub mod shared {
    use std::process::ExitCode;

    pub use super::files::documents::{
        for_each_document, for_each_page, for_each_record, open_records, print, write,
    };
    pub use super::files::outputs::check_outputs;
    pub use super::files::parts::{Overwrite, Parts};
    use super::logging::LogFormat;
    pub use super::settings::{ComparedDetector, config, segmenter, share, with_variant, wrong};

    /// Runs the command of a program. Reports its error, and returns the exit status.
    pub fn run(program: &str, command: impl FnOnce() -> anyhow::Result<ExitCode>) -> ExitCode {
        super::run_command(program, LogFormat::Text, command)
    }
}

/// Exit status if the reader of the output has closed it: 128 plus the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Find near-duplicate web pages, in files, over HTTP or in Kafka.
#[derive(Debug, Parser)]
#[command(name = "leitong", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = reference::exit_statuses()
)]
struct Cli {
    /// Format of the log on standard error
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find near-duplicate pages in files
    Dedup(Box<dedup::Arguments>),
    /// Print the main text of an HTML page, or of all pages of a file
    Extract(extract::Arguments),
    /// Check removals of any tool: is the content of removed documents in those that were kept?
    #[cfg(feature = "console")]
    Audit(audit::Arguments),
    /// Show why two pages are near-duplicates, or why not
    #[cfg(feature = "console")]
    Compare(compare::Arguments),
    /// Compare pages in the browser
    #[cfg(feature = "console")]
    Console(console::Arguments),
    /// Build tables of term frequencies (IDF)
    Idf(idf::Arguments),
    /// List paragraphs that are common to many pages
    Boilerplate(boilerplate::Arguments),
    /// Serve look-ups and verdicts over HTTP, without a broker
    Serve(serve::Arguments),
    /// Run the Kafka worker
    #[cfg(feature = "kafka")]
    Run(run::Arguments),
    /// Cluster the worker's fingerprint log again offline, with the same or other settings
    #[cfg(feature = "kafka")]
    Replay(replay::Arguments),
    /// Create or check the worker's topics
    #[cfg(feature = "kafka")]
    Topics(topics::Arguments),
    /// Show verdicts as they are published
    #[cfg(feature = "kafka")]
    Tap(tap::Arguments),
    /// Recognise the format of crawler messages, and show how they are read
    Preset(preset::Arguments),
    /// Inspect, verify, copy, compact or merge saved tables
    Table(table::Arguments),
    /// Print a report to attach to a bug: versions, machine, settings, state of the brokers
    #[cfg(feature = "kafka")]
    Doctor(doctor::Arguments),
    /// Print or check configuration files
    Config(config::Arguments),
    /// Print the completion script of a shell
    Completions(shell::Completions),
    /// Write the manual pages
    Man(shell::Man),
}

/// Runs the program `leitong`, and returns its exit status. The first of `arguments` is the name of the program. A
/// process can call this only once, since it sets up logging.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    interrupt::outlive_file_limits();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(refused_or_help) => return print_clap(&refused_or_help),
    };
    let format = cli.log_format;
    run_command("leitong", format, || execute(cli.command))
}

fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Dedup(arguments) => dedup::run(*arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        #[cfg(feature = "console")]
        Command::Audit(arguments) => audit::run(&arguments),
        #[cfg(feature = "console")]
        Command::Compare(arguments) => compare::run(&arguments),
        #[cfg(feature = "console")]
        Command::Console(arguments) => console::run(&arguments),
        Command::Idf(arguments) => idf::run(&arguments),
        Command::Boilerplate(arguments) => boilerplate::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        #[cfg(feature = "kafka")]
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "kafka")]
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "kafka")]
        Command::Topics(arguments) => topics::run(&arguments),
        #[cfg(feature = "kafka")]
        Command::Tap(arguments) => tap::run(&arguments),
        Command::Preset(arguments) => preset::run(&arguments),
        Command::Table(arguments) => table::run(&arguments),
        #[cfg(feature = "kafka")]
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Config(arguments) => config::run(&arguments, Cli::command()),
        Command::Completions(arguments) => shell::completions(&arguments, Cli::command()),
        Command::Man(arguments) => shell::man(&arguments, Cli::command()),
    }
}

/// Sets up the log, and runs the command of a program. Reports its error, and returns the exit status.
fn run_command(
    program: &str,
    format: LogFormat,
    command: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> ExitCode {
    logging::to_standard_error(format);
    command().unwrap_or_else(|error| failed(program, &error, format))
}

/// Reports an error, and returns the exit status for it.
fn failed(program: &str, error: &anyhow::Error, format: LogFormat) -> ExitCode {
    if error.chain().filter_map(machine_error).any(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::from(CLOSED_PIPE);
    }
    let remedy = remedy(error);
    match format {
        LogFormat::Text => terminal::note_lines(format_args!("{program}: {error:#}{remedy}\n")),
        LogFormat::Json => tracing::error!("{error:#}{remedy}"),
    }
    ExitCode::from(if is_about_arguments(error) { 2 } else { 1 })
}

/// Returns the error of the machine that this is.
fn machine_error<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e io::Error> {
    cause.downcast_ref().or_else(|| cause.downcast_ref().and_then(KeepError::machine_error))
}

/// Returns the error of a table that this is.
fn table_error<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e SnapshotError> {
    let of_server = || match cause.downcast_ref() {
        Some(HttpError::Table(error)) => Some(error),
        _ => None,
    };
    cause.downcast_ref().or_else(of_server)
}

/// Returns what to do about an error of the disk.
fn remedy(error: &anyhow::Error) -> &'static str {
    let of_system = |cause: &(dyn std::error::Error + 'static)| match table_error(cause) {
        Some(SnapshotError::Io { error, .. }) => Some(error.kind()),
        _ => machine_error(cause).map(io::Error::kind),
    };
    match error.chain().find_map(of_system) {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge) => {
            "; make room there, and run the same command again"
        }
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            "; change its permissions, or name another one"
        }
        _ => "",
    }
}

/// Returns true if other arguments or settings are needed.
fn is_about_arguments(error: &anyhow::Error) -> bool {
    let folder = error.downcast_ref().or_else(|| error.chain().next().and_then(table_error));
    #[cfg(feature = "kafka")]
    if matches!(error.downcast_ref(), Some(leitong_kafka::Error::Config(_))) {
        return true;
    }
    error.is::<settings::Wrong>()
        || error.is::<ConfigError>()
        || matches!(error.downcast_ref(), Some(KeepError::WrongOption(_)))
        || matches!(folder, Some(SnapshotError::NotAFolder { .. } | SnapshotError::OtherFiles { .. }))
}

/// Prints a message of clap: help and version to standard output, errors to standard error.
fn print_clap(message: &clap::Error) -> ExitCode {
    let print = || match message.use_stderr() {
        true => message.print(),
        false => terminal::Streams::output().and_then(|_| message.print()),
    };
    match print() {
        Err(error) if !message.use_stderr() => {
            let error = anyhow::Error::new(error).context("cannot write to standard output");
            failed("leitong", &error, LogFormat::Text)
        }
        _ => ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2)),
    }
}

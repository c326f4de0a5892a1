//! The command line: one file per command. The exit statuses are those of `leitong`: 1 if something failed, 2 if the
//! arguments or settings are wrong, 3 if some records could not be read, 141 if the reader of the output is gone.

mod bench;
mod eval;
mod inputs;
mod outputs;
mod perturb;
mod score;
mod tune;

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use leitong::{Config, Segmenter};
use leitong_base::terminal;

/// Exit status if the reader of the output has closed it: 128 plus the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// Measure near-duplicate detectors on your pages, and the throughput of your machine.
#[derive(Debug, Parser)]
#[command(name = "leitong-lab", version, propagate_version = true, max_term_width = 100)]
enum Command {
    /// Measure how well detectors work on your pages
    Eval(eval::Arguments),
    /// Generate realistic near-duplicates of your pages, for testing
    Perturb(perturb::Arguments),
    /// Find the best threshold of a detector for your pages
    Tune(tune::Arguments),
    /// Measure throughput and table size on this machine
    Bench(bench::Arguments),
}

/// Runs the program, and returns its exit status.
pub(crate) fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(io::stderr).with_target(false).init();
    let result = match Command::parse() {
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Perturb(arguments) => perturb::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    let Err(error) = result else { return result.unwrap_or(ExitCode::FAILURE) };
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(is_closed) {
        return ExitCode::from(CLOSED_PIPE);
    }
    terminal::note_lines(format_args!("leitong-lab: {error:#}\n"));
    ExitCode::from(if error.is::<Wrong>() { 2 } else { 1 })
}

/// An error in arguments or configuration.
#[derive(Debug)]
struct Wrong(String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

/// Returns an error about arguments or configuration.
fn wrong(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Wrong(message.to_string()))
}

/// Returns the configuration in `file`, or the default one.
fn config(file: Option<&Path>) -> anyhow::Result<Config> {
    file.map_or_else(|| Ok(Config::default()), |path| Config::from_file(path).map_err(wrong))
}

/// Returns the configuration with the detector, and all settings of detectors, of a detector file.
fn with_variant(config: Config, variant: &Path) -> anyhow::Result<Config> {
    Ok(config.with_detector_of(Config::from_detector_file(variant).map_err(wrong)?))
}

/// Returns the segmenter of a configuration, with the word lists that it names.
fn segmenter(config: &Config) -> anyhow::Result<Segmenter> {
    let lexicons = config.lexicons().map_err(wrong)?;
    Segmenter::new(&config.segment, &lexicons).map_err(wrong)
}

/// Returns the number of threads for an argument. 0 means one per core.
fn thread_count(given: u16) -> usize {
    match given {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count.into(),
    }
}

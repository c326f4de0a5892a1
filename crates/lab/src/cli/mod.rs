//! The command line: one file per command. Pages are read, outputs written and errors reported as by `leitong`.

mod bench;
mod eval;
mod inputs;
mod perturb;
mod score;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use leitong::command_line;

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
    let command = Command::parse();
    command_line::run("leitong-lab", || match command {
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Perturb(arguments) => perturb::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    })
}

/// Returns the number of threads for an argument. 0 means one per core.
fn thread_count(given: u16) -> usize {
    match given {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count.into(),
    }
}

//! The program `leitong-lab`: how well do detectors work on these pages, and what can this machine handle?
//!
//! ```text
//! pages ─┬─► eval: detectors compared, with a recommendation
//!        ├─► perturb: near-duplicates of the pages, which eval reads
//!        └─► tune: the threshold that fits labelled pairs
//! stages ──► bench: time of the stages of a run; speed and size of the centroid table
//! ```
//!
//! [`cli`] reads documents and builds detectors, and the other modules measure. Deciding on pages does not need this
//! program.

mod bench;
mod eval;
mod pages;
mod perturb;
mod tune;

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

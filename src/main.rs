//! The program `leitong`; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    leitong::cli::main()
}

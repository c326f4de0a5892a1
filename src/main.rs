//! The program `leitong`. Its code is in the library, except what runs before it, and what a statically linked program
//! needs.

mod standard_streams;
#[cfg(target_env = "gnu")]
mod static_names;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    if cfg!(target_feature = "crt-static") {
        static_names::from_files_and_dns();
    }
    leitong::main(std::env::args_os())
}

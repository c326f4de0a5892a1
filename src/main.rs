//! The program `leitong`; all but what a statically linked one needs is in the library.

#[cfg(target_env = "gnu")]
mod static_names;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    if cfg!(target_feature = "crt-static") {
        static_names::from_files_and_dns();
    }
    leitong::cli::main()
}

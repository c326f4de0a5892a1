//! `leitong completions` and `leitong man`: generate shell completions and manual pages.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::files::documents;

#[derive(Debug, Args)]
#[command(
    after_help = "For bash, for the current user:\n  leitong completions bash > ~/.local/share/bash-completion/completions/leitong"
)]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "For the current user:\n  leitong man ~/.local/share/man/man1 && man leitong-dedup")]
pub(crate) struct Man {
    /// Folder for `leitong.1` and one page per command; it is created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn completions(arguments: &Completions, mut program: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "leitong", &mut script);
    documents::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(arguments: &Man, program: Command) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(program, folder))
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

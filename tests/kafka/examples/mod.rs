//! Runs the programs in `examples` by the commands of their READMEs, each in a copy of its folder below
//! `target`.
//!
//! `make all-tools` creates the copies and runs the first command of each README there, which installs the
//! program's dependencies. The tests run the others.

mod consumers;
mod scrapy;
mod spark;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::broker::HANG_LIMIT;

/// A copy of an example's folder, with its dependencies.
struct Example {
    folder: PathBuf,
    /// The commands of the example's README, or of one section of it.
    commands: Vec<String>,
}

impl Example {
    /// Finds the copy of a folder below `examples`; `readme` contains its commands.
    #[track_caller]
    fn new(name: &str, readme: &str) -> Self {
        let example = Self::copied(name, name, readme);
        let made_by = std::fs::read_to_string(example.folder.join("ready")).unwrap_or_default();
        assert!(
            made_by.starts_with(&example.commands[0]),
            "{name} is of other commands: run `make all-tools`"
        );
        example
    }

    /// Finds a copy that has another name than its folder.
    #[track_caller]
    fn copied(name: &str, copied: &str, readme: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
        let folder = target.join("examples-copied").join(copied);
        let is_ready = folder.join("ready").exists() && is_copied(&examples().join(name), &folder);
        assert!(is_ready, "{} is not a copy of examples/{name}: run `make all-tools`", folder.display());
        let commands = readme.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
        Self { folder, commands }
    }

    /// Runs a command in the folder; it must succeed.
    fn run(&self, command: &str) -> String {
        let limit = HANG_LIMIT.as_secs();
        let output = self.shell(&format!("timeout {limit} {command}")).output().expect("bash starts");
        let Output { status, stdout, stderr } = output;
        let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "in {}: {command}: {status}\n{out}\n{err}", self.folder.display());
        out.into_owned()
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("bash");
        shell.args(["-c", command]).current_dir(&self.folder);
        shell
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Returns true if all files of a folder are in another one as well, with the same contents.
fn is_copied(from: &Path, to: &Path) -> bool {
    std::fs::read_dir(from).expect("its files").all(|entry| {
        let entry = entry.expect("a file");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => is_copied(&from, &to),
            false => std::fs::read(&to).is_ok_and(|copy| copy == std::fs::read(&from).expect("a file")),
        }
    })
}

/// Returns `command` with parts of it replaced.
fn with(command: &str, replacements: &[(&str, &str)]) -> String {
    replacements.iter().fold(command.to_owned(), |command, (documented, ours)| {
        assert!(command.contains(documented), "{documented} in {command}");
        command.replace(documented, ours)
    })
}

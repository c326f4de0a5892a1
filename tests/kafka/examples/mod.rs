//! The programs in `examples` by the commands of their READMEs, each in a copy of its folder below `target`.

mod consumers;
mod scrapy;
mod spark;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A copy of an example's folder.
struct Example {
    folder: PathBuf,
    /// The commands of its README, or of one section.
    commands: Vec<String>,
}

impl Example {
    /// Copies the folder below `examples`; `readme` is where its commands stand.
    fn new(name: &str, readme: &str) -> Self {
        Self::copied(name, name, readme)
    }

    /// The same, to a folder of this name.
    fn copied(name: &str, copied: &str, readme: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
        let folder = target.join("examples-copied").join(copied);
        copy(&examples().join(name), &folder);
        let commands = readme.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
        Self { folder, commands }
    }

    /// Runs a command in the folder; it must succeed.
    fn run(&self, command: &str) -> String {
        let output = self.shell(&format!("timeout 180 {command}")).output().expect("bash starts");
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

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("its files") {
        let entry = entry.expect("a file");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// `command` with what it takes in place of what the README says.
fn with(command: &str, replacements: &[(&str, &str)]) -> String {
    replacements.iter().fold(command.to_owned(), |command, (documented, ours)| {
        assert!(command.contains(documented), "{documented} in {command}");
        command.replace(documented, ours)
    })
}

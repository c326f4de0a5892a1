//! Programs of older versions, built from the history of this checkout (`tools/former.sh`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{EVERY_SETTING, Run, leitong, page};

/// The program of an older version.
#[derive(Debug)]
pub(crate) struct Former {
    /// Tag or commit of the version.
    pub(crate) version: String,
    pub(crate) program: PathBuf,
    /// True if the older version can continue where today's has been.
    pub(crate) both_ways: bool,
    /// The version's default `fingerprint_hash` and `cluster_hash`.
    pub(crate) hashes: [Value; 2],
}

impl Former {
    /// Returns the versions from which upgrades are tested. Their programs are built.
    pub(crate) fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<Former>> = OnceLock::new();
        ALL.get_or_init(|| {
            let versions = include_str!("former-versions.txt").lines().filter(|line| !line.starts_with('#'));
            let mut all: Vec<Self> = versions.map(Self::of_line).collect();
            if !all.iter().any(|former| former.both_ways && former.hashes == hashes(&today())) {
                // Fingerprints or clustering have changed since: today's program represents one with the same
                // hashes.
                let program = today();
                let hashes = hashes(&program);
                all.push(Self { version: "today's".to_owned(), program, both_ways: true, hashes });
            }
            all
        })
    }

    fn of_line(line: &str) -> Self {
        let [version, how] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("no version: {line}") };
        let output = Command::new("tools/former.sh")
            .args(["build", version])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .expect("tools/former.sh starts");
        assert!(output.status.success(), "the program of {version} cannot be built: see above");
        let program = PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim());
        let both_ways = match how {
            "both-ways" => true,
            "forward" => false,
            _ => panic!("{version}: {how}: both-ways or forward?"),
        };
        let hashes = hashes(&program);
        Self { version: version.to_owned(), program, both_ways, hashes }
    }

    /// Returns true if pages that the older version has fingerprinted are compared with pages of today's version.
    pub(crate) fn fingerprints_alike(&self) -> bool {
        self.hashes[0] == hashes(&today())[0]
    }

    /// Returns true if both versions decide by the same rules.
    pub(crate) fn clusters_alike(&self) -> bool {
        self.hashes[1] == hashes(&today())[1]
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        run(&self.program, arguments)
    }
}

/// Returns the path of today's program.
pub(crate) fn today() -> PathBuf {
    PathBuf::from(leitong().get_program())
}

/// Runs a command of `program` to its end.
pub(crate) fn run(program: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .env(EVERY_SETTING.0, EVERY_SETTING.1)
        .env_remove("RUST_LOG");
    Run::from_output(command.output().expect("it starts"))
}

/// Returns the `cluster_hash` of a program with this configuration.
pub(crate) fn cluster_hash(program: &Path, config: &Path) -> String {
    let [_, cluster_hash] = hashes_with(program, &["--config", config.to_str().expect("UTF-8")]);
    cluster_hash.as_str().expect("a hash").to_owned()
}

/// Returns a program's default `fingerprint_hash` and `cluster_hash`, as its verdicts show them.
fn hashes(program: &Path) -> [Value; 2] {
    hashes_with(program, &[])
}

fn hashes_with(program: &Path, more: &[&str]) -> [Value; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = crate::common::write(folder.path(), "pages.jsonl", page("a", "一页"));
    let run = run(program, &[&["dedup", pages.to_str().expect("UTF-8")], more].concat());
    let verdict = run.verdicts().remove(0);
    ["fingerprint_hash", "cluster_hash"].map(|hash| verdict[hash].clone())
}

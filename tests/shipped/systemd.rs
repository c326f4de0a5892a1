//! The systemd unit: systemd's own tools accept it, it is sandboxed, and its statements about the program are
//! true.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{Run, leitong, write};
use crate::image::{ROOT, read};

const UNIT: &str = "deploy/systemd/leitong@.service";
/// The maximum result of `systemd-analyze security`, in tenths: 0 to 2 counts as well sandboxed, a service
/// without any sandbox has 9.6.
const EXPOSURE_MAX: &str = "15";

/// Returns the settings of the unit; repeated ones in file order.
fn settings() -> BTreeMap<String, Vec<String>> {
    let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let unit = read(UNIT);
    for line in unit.lines().filter(|line| !line.starts_with(['#', '[']) && !line.is_empty()) {
        let (name, value) = line.split_once('=').expect("name=value");
        settings.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    settings
}

fn setting(name: &str) -> String {
    let mut values = settings().remove(name).unwrap_or_else(|| panic!("{UNIT} has no {name}"));
    assert_eq!(values.len(), 1, "{name}");
    values.remove(0)
}

fn number(name: &str) -> u64 {
    setting(name).parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Writes the unit as installed, except for the program's path, because systemd checks that it exists.
fn installed(folder: &Path, change: impl Fn(&str) -> String) -> PathBuf {
    let unit = read(UNIT);
    assert!(unit.contains("/usr/local/bin/leitong "), "{UNIT} runs another program");
    let unit = unit.replace("/usr/local/bin/leitong ", concat!(env!("CARGO_BIN_EXE_leitong"), " "));
    write(folder, "leitong@.service", change(&unit))
}

fn systemd_analyze(arguments: &[&str], unit: &Path) -> Output {
    let run = Command::new("systemd-analyze").args(arguments).arg(unit).output();
    run.unwrap_or_else(|error| {
        panic!(
            "this test needs `systemd-analyze`: `make all-tools` installs Debian's package `systemd`: {error}"
        )
    })
}

/// Returns the output of `systemd-analyze verify`. It warns about unknown settings and exits with 0.
fn complaints(unit: &Path) -> String {
    let run = systemd_analyze(&["verify", "--man=no"], unit);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return format!("{}\n{said}", run.status);
    }
    said.lines().filter(|line| line.contains("leitong")).collect::<Vec<_>>().join("\n")
}

#[test]
fn systemd_understands_the_unit() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = complaints(&installed(folder.path(), str::to_owned));
    assert_eq!(said, "");
    for (right, wrong) in [
        ("ProtectHome=", "ProtectHose="),
        ("TimeoutStopSec=", "TimeoutStopSec=soon"),
        ("/leitong run", "/l run"),
    ] {
        let said = complaints(&installed(folder.path(), |unit| unit.replace(right, wrong)));
        assert_ne!(said, "", "{wrong} went unnoticed, so this test tests nothing");
    }
}

#[test]
fn the_unit_is_sandboxed() {
    let folder = tempfile::tempdir().expect("a folder");
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let check = ["security", "--offline=true", "--no-pager", &threshold];
    let run = systemd_analyze(&check, &installed(folder.path(), str::to_owned));
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("Overall exposure level"), "{said}");
    let open = installed(folder.path(), |unit| unit.replace("SystemCallFilter=", "#"));
    assert!(!systemd_analyze(&check, &open).status.success(), "the limit lets a weaker unit pass");
}

#[test]
fn the_unit_waits_until_the_worker_has_stopped() {
    let stop = read("crates/kafka/src/worker/stop.rs");
    let seconds = stop.split_once("STOP_TIMEOUT: Duration = Duration::from_secs(").expect("the constant").1;
    let seconds: u64 = seconds.split(')').next().expect("a number").parse().expect("a number");
    assert!(number("TimeoutStopSec") > seconds, "the worker takes up to {seconds} s to stop");
}

/// Open files are added up as in docs/operations.md, "Memory and open files", for an installation of a hundred brokers.
#[test]
fn the_unit_allows_the_files_that_the_worker_opens() {
    let (brokers, log_partitions) = (100, 50);
    let clients = 2 + 1 + 3 * log_partitions;
    let needed = 64 + clients * 3 * (brokers + 2);
    assert!(number("LimitNOFILE") >= needed, "{needed} files");
}

/// Runs the unit's command with the example's files instead of those below /etc.
fn start(config: &Path, state: &Path) -> Run {
    let command = setting("ExecStart");
    let arguments = command.strip_prefix("/usr/local/bin/leitong ").expect("the program");
    let arguments = arguments.split(' ').map(|argument| match argument {
        "/etc/leitong/%i.toml" => config.to_str().expect("UTF-8"),
        other => other,
    });
    assert_eq!(setting("EnvironmentFile"), "-/etc/leitong/%i.env");
    let environment = read("deploy/systemd/example.env");
    let environment = environment.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| {
        !name.starts_with('#') && *name != "KAFKA_BOOTSTRAP" // Nobody listens on port 1.
    });
    let output = leitong()
        .args(arguments)
        .args(["--admin", "127.0.0.1:0"])
        .envs(environment)
        .env("KAFKA_BOOTSTRAP", "127.0.0.1:1")
        .env("STATE_DIRECTORY", state)
        .output();
    Run::from_output(output.expect("it starts"))
}

#[test]
fn the_example_starts_and_wrong_configurations_do_not_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    fs::create_dir(&state).expect("a folder");
    let run = start(&Path::new(ROOT).join("deploy/systemd/example.toml"), &state);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("no answer from kafka.bootstrap_servers"), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}'), "the journal gets no colours: {}", run.stderr);

    // Brokers come back, so the worker restarts; a wrong configuration stays wrong.
    assert_eq!(setting("Restart"), "always");
    let wrong = write(folder.path(), "wrong.toml", "[kafka]\nbootstrap = \"broker:9092\"\n");
    let run = start(&wrong, &state);
    assert_eq!(setting("RestartPreventExitStatus"), run.status.to_string(), "{}", run.stderr);
}

//! The Debian package: dpkg installs it into a folder, and the installed files work.

use std::path::Path;
use std::process::{Command, Output};

use crate::image::{ROOT, read};

fn run(program: &str, arguments: &[&str]) -> Output {
    let run = Command::new(program).args(arguments).current_dir(ROOT).output();
    run.unwrap_or_else(|error| {
        panic!("this test needs `{program}`: `make all-tools` installs Debian's package `dpkg-dev`: {error}")
    })
}

#[track_caller]
fn stdout_of(program: &str, arguments: &[&str]) -> String {
    let run = run(program, arguments);
    let [stdout, stderr] =
        [&run.stdout, &run.stderr].map(|output| String::from_utf8_lossy(output).into_owned());
    assert!(run.status.success(), "{program} {arguments:?}: {stdout}{stderr}");
    stdout
}

#[test]
fn the_debian_package_installs_working_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (output, system) = (path("packages"), path("system"));
    let made = Command::new("deploy/debian/package.sh")
        .args([env!("CARGO_BIN_EXE_leitong"), &output])
        .env("LEITONG_DEB_COMPRESSION", "none")
        .current_dir(ROOT)
        .output()
        .expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let package = String::from_utf8_lossy(&made.stdout).trim_end().to_owned();

    let field = |name: &str| stdout_of("dpkg-deb", &["--field", &package, name]).trim_end().to_owned();
    assert_eq!((field("Package"), field("Version")), ("leitong".into(), env!("CARGO_PKG_VERSION").into()));
    assert!(package.ends_with(&format!("leitong_{}_{}.deb", field("Version"), field("Architecture"))));
    for needed in ["libc6 (>= ", "libssl3"] {
        assert!(field("Depends").contains(needed), "{}", field("Depends"));
    }

    // A separate system with no installed packages. The package has no scripts, which would run there.
    for file in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        std::fs::create_dir_all(Path::new(&system).join(file)).expect("a folder");
    }
    std::fs::write(Path::new(&system).join("var/lib/dpkg/status"), "").expect("written");
    let root = format!("--root={system}");
    let dpkg = |arguments: &[&str]| {
        stdout_of(
            "dpkg",
            &[&[&*root, "--force-not-root", "--force-depends", "--log=/dev/null"], arguments].concat(),
        )
    };
    dpkg(&["--install", &package]);
    assert_eq!(dpkg(&["--verify", "leitong"]), "", "files are as their sums say");
    let installed = dpkg(&["--listfiles", "leitong"]);
    for file in [
        "/usr/bin/leitong",
        "/usr/share/man/man1/leitong.1.gz",
        "/usr/share/man/man1/leitong-dedup.1.gz",
        "/usr/share/bash-completion/completions/leitong",
        "/usr/share/zsh/vendor-completions/_leitong",
        "/usr/share/fish/vendor_completions.d/leitong.fish",
        "/usr/lib/systemd/system/leitong@.service",
        "/usr/share/doc/leitong/copyright",
        "/usr/share/doc/leitong/changelog.gz",
        "/usr/share/doc/leitong/examples/example.toml",
        "/usr/share/doc/leitong/examples/example.env",
    ] {
        assert!(installed.lines().any(|line| line == file), "{file} is not in\n{installed}");
    }
    let program = format!("{system}/usr/bin/leitong");
    let verdicts = stdout_of(&program, &["dedup", "examples/pages.jsonl"]);
    assert_eq!(verdicts.lines().count(), read("examples/pages.jsonl").lines().count());
    let example = format!("{system}/usr/share/doc/leitong/examples/example.toml");
    let checked = Command::new(&program)
        .args(["config", "check", &example])
        .envs([
            ("KAFKA_BOOTSTRAP", "localhost:9092"),
            ("LEITONG_INSTANCE", "a"),
            ("STATE_DIRECTORY", &system),
        ])
        .output()
        .expect("it runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let unit = std::fs::read_to_string(format!("{system}/usr/lib/systemd/system/leitong@.service"));
    assert!(unit.expect("a unit").contains("ExecStart=/usr/bin/leitong run "));

    dpkg(&["--purge", "leitong"]);
    assert!(!Path::new(&system).join("usr").exists(), "nothing stays");
}

//! The image builds from the files in the repository.
//!
//! The image could not be built: the program includes the sample pages, but none of its layers had them.
//! Nobody noticed, since no container engine had built it. So this test performs the Dockerfile's steps on
//! exactly its context; only the release build is replaced by a check. `make image` performs them with a
//! container engine. Packages that the program's own build did not need, such as those of optional features,
//! are downloaded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dockerfile::{self, Stage, Step};
use crate::ignore::Ignore;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn stages() -> [Stage; 4] {
    let stages = dockerfile::stages(&read("deploy/Dockerfile"));
    stages.try_into().expect("the system, all but the program, the stage that builds, and the image")
}

/// Runs a command of the build stage in `folder`.
fn run(command: &str, folder: &Path) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let host = host();
    for part in command.split("&&").map(str::trim) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let mut arguments: Vec<&str> = words[1..].to_vec();
        if words[..2] == ["cargo", "fetch"] {
            // Packages for other systems need not be available.
            arguments.extend(["--target", &host]);
        } else if words[..2] == ["cargo", "build"] {
            assert!(words.contains(&"--locked") && words.contains(&"--release"), "{part}");
            arguments[0] = "check";
            arguments.retain(|argument| *argument != "--release");
        }
        let mut command = Command::new(words[0]);
        command.args(arguments).current_dir(folder).env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
        // Cargo sets variables about a test's package. Some build scripts would rebuild much if they changed.
        let told = |name: &str| {
            name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        };
        std::env::vars().filter(|(name, _)| told(name)).for_each(|(name, _)| {
            command.env_remove(name);
        });
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "RUN {part}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Gives the crates in `context` a different version. Cargo identifies packages of one target folder by name,
/// version and place in the workspace. It would take these copies for the crates themselves, and compile those
/// again after the test.
fn give_another_version(context: &Path) {
    let version = |version| format!("version = \"{version}\"");
    let (today, other) = (version(env!("CARGO_PKG_VERSION")), version("0.0.0-image"));
    for file in ["Cargo.toml", "Cargo.lock", "python/Cargo.toml"] {
        let path = context.join(file);
        let text = fs::read_to_string(&path).expect("it is in the context");
        let mut ours = file != "Cargo.lock";
        let lines = text.lines().map(|line| {
            if file == "Cargo.lock" && line.starts_with("name = ") {
                ours = line.starts_with("name = \"leitong");
            }
            if ours && (line == today || line.starts_with("leitong")) {
                line.replace(&today, &other)
            } else {
                line.to_owned()
            }
        });
        let changed = lines.collect::<Vec<_>>().join("\n") + "\n";
        assert_ne!(text, changed, "{file} names the version");
        fs::write(path, changed).expect("it can be written");
    }
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned()
}

#[test]
fn the_image_builds_from_its_context_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (context, image) = (folder.path().join("context"), folder.path().join("image"));
    Ignore::read(&read(".dockerignore")).copy(Path::new(ROOT), &context);
    assert!(!context.join("target").exists() && !context.join(".git").exists(), "the context is small");
    give_another_version(&context);
    let mut workdir = image.clone();
    fs::create_dir_all(&workdir).expect("a folder");
    let [_, _, build, _] = stages();
    for step in &build.steps {
        match step {
            Step::Workdir(path) => {
                workdir = image.join(path.trim_start_matches('/'));
                fs::create_dir_all(&workdir).expect("a folder");
            }
            Step::Copy { from: None, sources, target } => {
                dockerfile::copy(&context, &workdir, sources, target);
            }
            Step::Run(command) => run(command, &workdir),
            other => panic!("{other:?}: this test does not know what it means in the stage that builds"),
        }
    }
}

#[test]
fn the_image_runs_the_program_and_not_as_root() {
    let [system, runtime, build, image] = stages();
    let toolchain = read("rust-toolchain.toml");
    let version = build.base.strip_prefix("rust:").and_then(|tag| tag.split('-').next()).expect("a version");
    assert!(toolchain.contains(&format!("\"{version}\"")), "the image builds with {version}:\n{toolchain}");
    // OpenSSL is linked against the version of the build stage.
    let debian = build.base.rsplit('-').next().expect("a release");
    assert!(system.base.contains(debian), "{} and {}", build.base, system.base);

    let workdir = build.steps.iter().find_map(|step| match step {
        Step::Workdir(path) => Some(PathBuf::from(path)),
        _ => None,
    });
    let built = workdir.expect("a folder").join("target/release/leitong");
    let copied = Step::Copy {
        from: build.name,
        sources: vec![built.to_str().expect("UTF-8").to_owned()],
        target: "/usr/local/bin/leitong".to_owned(),
    };
    assert_eq!(
        image.steps,
        [copied],
        "deploy/image/build.sh adds a program to the stage before it, and nothing else"
    );
    assert_eq!(Some(image.base), runtime.name);
    assert!(runtime.steps.contains(&Step::Entrypoint(vec!["leitong".to_owned()])));
    assert!(runtime.steps.contains(&Step::Env("PATH=/usr/local/bin".to_owned())), "{:?}", runtime.steps);
    let user = runtime.steps.iter().rev().find_map(|step| match step {
        Step::User(user) => Some(user.clone()),
        _ => None,
    });
    let user = user.expect("a user of its own");
    // A number, so an orchestrator sees that it is not root without reading the image.
    let id: u32 = user.split(':').next().expect("an id").parse().expect("a number");
    assert!(id >= 1000, "{user}");
}

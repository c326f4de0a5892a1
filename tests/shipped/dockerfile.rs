//! Parses `deploy/Dockerfile` step by step: the instructions that it uses, and `COPY` with the engine's
//! semantics.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ignore::copy_entry;

/// One instruction of a stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// `COPY SOURCE… TARGET`, from the context or from another stage.
    Copy {
        from: Option<String>,
        sources: Vec<String>,
        target: String,
    },
    Run(String),
    Workdir(String),
    User(String),
    /// The entry point, in list form.
    Entrypoint(Vec<String>),
    Cmd(Vec<String>),
    Expose(String),
    /// `NAME=VALUE`.
    Env(String),
}

/// One stage.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The image that the stage starts from.
    pub(crate) base: String,
    pub(crate) name: Option<String>,
    pub(crate) steps: Vec<Step>,
}

/// Returns the stages of a Dockerfile.
pub(crate) fn stages(text: &str) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    for line in instructions(text) {
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        let step = match word {
            "FROM" => {
                let name = words.iter().position(|word| word == "AS").map(|at| words[at + 1].clone());
                stages.push(Stage { base: words[0].clone(), name, steps: Vec::new() });
                continue;
            }
            "COPY" => {
                let from = words[0].strip_prefix("--from=").map(str::to_owned);
                let paths = &words[usize::from(from.is_some())..];
                let (target, sources) = paths.split_last().expect("a target");
                Step::Copy { from, sources: sources.to_vec(), target: target.clone() }
            }
            "RUN" => Step::Run(rest.to_owned()),
            "WORKDIR" => Step::Workdir(rest.to_owned()),
            "USER" => Step::User(rest.to_owned()),
            "EXPOSE" => Step::Expose(rest.to_owned()),
            "ENV" => Step::Env(rest.to_owned()),
            "ENTRYPOINT" => Step::Entrypoint(serde_json::from_str(rest).expect("a list")),
            "CMD" => Step::Cmd(serde_json::from_str(rest).expect("a list")),
            other => panic!("{other}: this reader does not know the instruction; teach it"),
        };
        stages.last_mut().expect("a Dockerfile begins with FROM").steps.push(step);
    }
    stages
}

/// Returns the instructions, one line each, without comments.
fn instructions(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continued = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part.trim_end(), true));
        match lines.last_mut().filter(|_| continued) {
            Some(last) => *last = format!("{last} {part}"),
            None => lines.push(part.to_owned()),
        }
        continued = more;
    }
    lines
}

/// Performs `COPY` from `context` into `folder`. A folder's contents go into the target. A file becomes the
/// target, or goes into it if the target ends in a slash or there are several files.
pub(crate) fn copy(context: &Path, folder: &Path, sources: &[String], target: &str) {
    let several = sources.len() > 1 || target.ends_with('/');
    let target = folder.join(target.trim_end_matches('/'));
    for source in sources {
        let from = context.join(source);
        assert!(from.exists(), "COPY {source}: is not in the context; see .dockerignore");
        if from.is_dir() {
            copy_all(&from, &target);
            continue;
        }
        let to = if several { target.join(from.file_name().expect("a name")) } else { target.clone() };
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(&from, to).expect("copied");
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to: PathBuf = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            copy_entry(&entry.path(), &to);
        }
    }
}

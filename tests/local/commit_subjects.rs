//! `tools/check_subjects.sh` and the hook of `make hooks`, each in a separate repository.
//!
//! CONTRIBUTING.md limited subjects to 72 characters, and nothing checked it. More than a third of the
//! subjects on main were longer.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a program in `folder`. Ignores the user's settings, and those of a git that may be running this test.
fn start(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("GIT_CEILING_DIRECTORIES", folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = start(folder, "git", arguments);
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

fn commit(folder: &Path, subject: &str) -> String {
    git(folder, &["commit", "--quiet", "--allow-empty", "--message", subject]);
    git(folder, &["rev-parse", "HEAD"])
}

/// Checks the commits that are newer than `base`. Returns true if they pass, and all output.
fn check(folder: &Path, base: &str) -> (bool, String) {
    let output = start(folder, &format!("{ROOT}/tools/check_subjects.sh"), &[base]);
    let both = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(both).expect("UTF-8"))
}

/// Creates a repository with one commit, whose subject is too long and older than the rule.
fn repository() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "--quiet", "--initial-branch", "main"]);
    let base = commit(folder.path(), &"old ".repeat(30));
    (folder, base)
}

#[test]
fn new_subjects_have_at_most_72_characters() {
    let (folder, base) = repository();
    let folder = folder.path();
    assert_eq!(
        check(folder, &base),
        (true, "0 new commits: no subject has more than 72 characters\n".into())
    );
    commit(folder, &"雷".repeat(72));
    git(folder, &["checkout", "--quiet", "-b", "other", &base]);
    commit(folder, &format!("Short\n\n{}", "the body may be as long as it likes ".repeat(9)));
    git(folder, &["merge", "--quiet", "--no-ff", "--message", &"merge ".repeat(20), "main"]);
    assert_eq!(
        check(folder, &base),
        (true, "2 new commits: no subject has more than 72 characters\n".into())
    );
    let long = commit(folder, &"雷".repeat(73));
    let (passed, said) = check(folder, &base);
    assert!(!passed && said.contains("has 73 characters: 雷"), "{said}");
    assert!(said.contains(&long[..7]) && said.contains("git rebase --interactive"), "{said}");
}

#[test]
fn a_clone_without_the_base_names_what_is_not_checked() {
    let (folder, base) = repository();
    commit(folder.path(), "Short");
    // A complete history, but of another repository.
    let (passed, said) = check(folder.path(), "origin/main");
    assert!(passed && said.contains("This clone has no origin/main"), "{said}");
    assert!(said.contains("and this history does not have that commit"), "{said}");
    // A shallow clone is checked as far as it goes.
    let source = format!("file://{}", folder.path().display());
    let clones = tempfile::tempdir().expect("a folder");
    git(clones.path(), &["clone", "--quiet", "--depth", "1", &source, "shallow"]);
    let shallow = clones.path().join("shallow");
    let (passed, said) = check(&shallow, &base);
    assert!(passed && said.contains("SKIPPED: the subjects of commits that this shallow clone"), "{said}");
    assert!(said.ends_with("1 new commits: no subject has more than 72 characters\n"), "{said}");
    commit(&shallow, &"long ".repeat(20));
    assert!(!check(&shallow, &base).0);
    // An unpacked archive has no history.
    let (passed, said) = check(clones.path(), &base);
    assert!(
        passed && said.contains("SKIPPED: the subjects of commits, since git finds no history here"),
        "{said}"
    );
}

#[test]
fn the_hook_refuses_a_commit_with_a_long_subject() {
    let (folder, base) = repository();
    let folder = folder.path();
    fs::create_dir_all(folder.join("tools/hooks")).expect("a folder");
    for file in ["tools/check_subjects.sh", "tools/hooks/commit-msg"] {
        fs::copy(Path::new(ROOT).join(file), folder.join(file)).expect("a copy");
    }
    git(folder, &["config", "core.hooksPath", "tools/hooks"]);
    let long = "long ".repeat(20);
    // Lines without an empty line between them are one subject.
    for message in [long.clone(), format!("{}\n{}\n\nShort", "a".repeat(40), "b".repeat(40))] {
        let refused = start(folder, "git", &["commit", "--allow-empty", "--message", &message]);
        assert!(!refused.status.success());
        let said = String::from_utf8(refused.stderr).expect("UTF-8");
        assert!(
            said.contains("The subject of this commit is too long")
                && said.contains("81") | said.contains("99"),
            "{said}"
        );
    }
    assert_eq!(git(folder, &["rev-parse", "HEAD"]), base);
    for message in ["Short".to_owned(), format!("Short\n\n{long}"), format!("fixup! {long}")] {
        commit(folder, &message);
    }
}

//! `.github`: workflows run targets of the Makefile, and Dependabot watches every list of dependencies. `make
//! workflows` checks that GitHub understands the workflows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: impl AsRef<Path>) -> Value {
    serde_saphyr::from_str(&read(path)).expect("YAML")
}

/// Returns the names of everything in a folder of the repository.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn workflows_run_targets_that_the_makefile_has() {
    let makefile = read("Makefile");
    let mut run = BTreeSet::new();
    for name in names(".github/workflows") {
        let workflow = yaml(format!(".github/workflows/{name}"));
        assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }), "{name}");
        for (job, steps) in workflow["jobs"].as_object().expect("jobs") {
            assert!(steps["timeout-minutes"].is_number(), "{name}: {job} may run for hours");
            let steps = steps["steps"].as_array().expect("steps").iter();
            let commands = steps.filter_map(|step| step["run"].as_str());
            run.extend(commands.filter_map(|command| command.strip_prefix("make ")).map(str::to_owned));
        }
    }
    for target in run.iter().flat_map(|targets| targets.split_whitespace()) {
        assert!(makefile.contains(&format!("\n{target}:")), "the Makefile has no target {target}");
    }
    assert!(run.len() >= 7, "{run:?}: are the commands recognised?");
}

/// Finds folders of the repository with a file that Dependabot understands, and Dependabot's name for that
/// kind of file.
fn manifests(folder: &Path, found: &mut BTreeSet<(String, String)>) {
    let shown = folder.to_str().expect("UTF-8").to_owned();
    for name in names(&shown) {
        let path = folder.join(&name);
        if Path::new(env!("CARGO_MANIFEST_DIR")).join(&path).is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "shared"].contains(&name.as_str()) {
                manifests(&path, found);
            }
            continue;
        }
        let kind = match name.as_str() {
            // The crates, the fuzz targets and the Python package belong to the workspace of the root.
            "Cargo.toml" if shown.starts_with("crates/") || ["fuzz", "python"].contains(&shown.as_str()) => {
                continue;
            }
            "Cargo.toml" => "cargo",
            "Dockerfile" => "docker",
            "docker-compose.yml" => "docker-compose",
            "go.mod" => "gomod",
            "package.json" => "npm",
            "pom.xml" => "maven",
            "pyproject.toml" => "pip",
            name if name.starts_with("requirements") && name.ends_with(".txt") => "pip",
            _ => continue,
        };
        found.insert((kind.to_owned(), format!("/{shown}")));
    }
}

#[test]
fn dependabot_watches_every_list_of_dependencies() {
    let mut found = BTreeSet::from([("github-actions".to_owned(), "/".to_owned())]);
    manifests(&PathBuf::new(), &mut found);
    let mut watched = BTreeSet::new();
    for update in yaml(".github/dependabot.yml")["updates"].as_array().expect("a list") {
        let several = update["directories"].as_array().into_iter().flatten();
        for folder in several.chain(update.get("directory")) {
            let text = |value: &Value| value.as_str().expect("a string").to_owned();
            watched.insert((text(&update["package-ecosystem"]), text(folder)));
        }
        assert_eq!(update["schedule"]["interval"], "weekly");
    }
    assert_eq!(watched, found);
}

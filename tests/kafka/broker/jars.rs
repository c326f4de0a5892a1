//! Java with the jars that `tools/test-tools.sh` has fetched.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns a command for Java with the jars of a `pom.xml`, which are in `target/<folder>`.
pub(crate) fn java(pom: &str, folder: &str) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join(folder);
    let pom_of = |path: &Path| fs::read_to_string(path.join("pom.xml")).unwrap_or_default();
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join(pom);
    let is_fetched = target.join("ready").exists()
        && pom_of(&target) == pom_of(wanted.parent().expect("the pom's folder"));
    let make = if folder == "kafka" { "broker-tools" } else { "all-tools" };
    assert!(is_fetched, "{} lacks the jars of {pom}: run `make {make}`", target.display());
    let mut command = Command::new("java");
    let classes = format!("{}/lib/*", target.display());
    command.args(["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &classes]);
    command
}

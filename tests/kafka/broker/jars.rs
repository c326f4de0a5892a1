//! Java's side of the tests: jars that Maven fetches once, and Java with them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Java with the jars of a `pom.xml` of this folder's tests, which the first who asks fetches into `target/<folder>`.
pub(crate) fn java(pom: &str, folder: &str) -> Command {
    let mut command = Command::new("java");
    let classes = format!("{}/*", library(pom, folder).display());
    command.args(["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", &classes]);
    command
}

/// The folder with the jars.
fn library(pom: &str, folder: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder").join(folder);
    fs::create_dir_all(&target).expect("a folder");
    let lock = File::create(target.join("lock")).expect("a file");
    // Test binaries may run side by side.
    lock.lock().expect("locked");
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join(pom);
    let version = fs::read_to_string(&pom).expect("the pom is there");
    let (library, stamp) = (target.join("lib"), target.join("fetched"));
    if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == version) {
        return library;
    }
    let _ = fs::remove_dir_all(&library);
    const INSTALL: &str = "these tests need Java 17 or later, and Maven, which fetches the servers that they run (Debian: \
                           `apt-get install default-jdk-headless maven`); in place of Kafka, KAFKA_BOOTSTRAP may name a \
                           cluster that runs already";
    for tool in ["java", "mvn"] {
        let found = Command::new(tool).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(found.is_ok_and(|status| status.success()), "there is no `{tool}`; {INSTALL}");
    }
    let fetched = Command::new("mvn")
        .args(["-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", "-f"])
        .arg(&pom)
        .arg(format!("-DoutputDirectory={}", library.display()))
        .output()
        .expect("mvn starts");
    assert!(
        fetched.status.success(),
        "Maven cannot fetch what {} names:\n{}{}\n{INSTALL}",
        pom.display(),
        String::from_utf8_lossy(&fetched.stdout),
        String::from_utf8_lossy(&fetched.stderr)
    );
    fs::write(&stamp, version).expect("written");
    library
}

//! Text and clustering code is pure: no clock, no input or output, no locks, no async. Kafka and tokio stay at the
//! edges. This test reads the sources, so that nobody has to remember it.

use std::path::{Path, PathBuf};

/// Modules that only compute.
const PURE: [&str; 7] = ["page", "decode", "extract", "segment", "fingerprint", "cluster", "verdict"];
/// Modules that may touch tokio or rdkafka.
const EDGES: [&str; 6] = ["source", "sink", "pipeline", "telemetry", "cli", "main.rs"];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    entries
        .map(|entry| entry.expect("an entry").path())
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn offences(folders: &[&str], forbidden: &[&str]) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for folder in folders {
        for file in rust_files(&source.join(folder)) {
            let code = code(&file);
            found.extend(
                forbidden
                    .iter()
                    .filter(|word| code.contains(*word))
                    .map(|word| format!("{} uses {word}", file.display())),
            );
        }
    }
    found
}

#[test]
fn text_and_clustering_only_compute() {
    let forbidden = [
        "std::fs",
        "std::net",
        "std::io::stdin",
        "std::env",
        "Instant::now",
        "SystemTime::now",
        "Timestamp::now",
        "Mutex",
        "RwLock",
        "thread_local",
        "async fn",
        "std::thread",
        "println!",
        "rand::",
    ];
    let mut offences = offences(&PURE, &forbidden);
    // The one clock there is: whoever needs the time asks for it at the edge.
    offences.retain(|offence| !offence.contains("page/timestamp.rs uses SystemTime::now"));
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn tokio_and_kafka_stay_at_the_edges() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let inner: Vec<String> = std::fs::read_dir(source)
        .expect("sources")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| !EDGES.contains(&name.as_str()) && !name.ends_with(".rs"))
        .collect();
    assert!(inner.len() >= PURE.len(), "{inner:?}");
    let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
    let offences = offences(&inner, &["tokio", "rdkafka"]);
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

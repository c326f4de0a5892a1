//! Text and clustering code is pure: no clock, no input or output, no locks, no async. Kafka
//! and tokio stay at the edges. This test reads the sources, so that nobody has to remember it.

use crate::common::sources::{self, code, rust_files};

/// Modules that only compute.
const PURE: [&str; 13] = [
    "record",
    "page",
    "decode",
    "extract",
    "segment",
    "fingerprint",
    "detectors",
    "log",
    "cluster",
    "verdict",
    "changelog",
    "console/render",
    "tap",
];
/// Modules that may touch tokio or rdkafka.
const EDGES: [&str; 10] =
    ["source", "sink", "kafka", "pipeline", "api", "console", "worker", "telemetry", "cli", "main.rs"];

fn offences(folders: &[&str], forbidden: &[&str]) -> Vec<String> {
    let source = sources::folder();
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
    offences.retain(|offence| !offence.contains("record/timestamp.rs uses SystemTime::now"));
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// All else that the console shows is escaped by `maud`.
#[test]
fn what_is_not_escaped_is_the_style_alone() {
    let offences = offences(&[""], &["PreEscaped("]);
    let style =
        std::fs::read_to_string(sources::folder().join("console/render/layout.rs")).expect("a source");
    assert!(offences.len() == 1 && style.matches("PreEscaped(").count() == 1, "{}", offences.join("\n"));
    assert!(style.contains("style { (PreEscaped(STYLE)) }"));
}

#[test]
fn unsafe_code_is_where_c_libraries_are_asked_themselves() {
    let offences = offences(&[""], &["unsafe"]);
    let known =
        ["kafka/headers.rs uses unsafe", "kafka/topic_id.rs uses unsafe", "static_names.rs uses unsafe"];
    let is_known = |offence: &String| known.iter().any(|known| offence.ends_with(known));
    assert!(offences.len() == known.len() && offences.iter().all(is_known), "{}", offences.join("\n"));
}

#[test]
fn tokio_and_kafka_stay_at_the_edges() {
    let source = sources::folder();
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

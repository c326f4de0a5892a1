//! Text and clustering code is pure: no clock, no I/O, no locks, no async. Kafka and tokio stay at the edges.
//! This test reads the sources, so nobody has to remember the rule.

use std::path::Path;

use crate::common::sources::{self, CRATES, code, rust_files};

/// Folders that only compute.
const PURE: [&str; 6] = [
    "crates/base/src/record",
    "crates/text/src",
    "crates/fingerprint/src",
    "crates/cluster/src",
    "crates/http/src/console/render",
    "src/tap",
];
/// The only folder that names the client of brokers.
const WITH_RDKAFKA: &str = "crates/kafka/src/kafka/";
/// Folders without tokio and rdkafka.
const WITHOUT_TOKIO: [&str; 9] = [
    "crates/base/src",
    "crates/text/src",
    "crates/fingerprint/src",
    "crates/cluster/src",
    "crates/store/src",
    "crates/keep/src",
    "crates/lab/src",
    "src/checkpoint",
    "crates/pipeline/src",
];

/// Returns the files that contain one of the `forbidden` words, as `FILE uses WORD`.
fn offences(folders: &[&Path], forbidden: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let code = code(&file);
        let words = forbidden.iter().filter(|word| code.contains(*word));
        found.extend(words.map(|word| format!("{} uses {word}", file.display())));
    }
    found
}

fn offences_in(folders: &[&str], forbidden: &[&str]) -> Vec<String> {
    let folders: Vec<_> = folders.iter().map(|folder| sources::root().join(folder)).collect();
    offences(&folders.iter().map(AsRef::as_ref).collect::<Vec<_>>(), forbidden)
}

fn offences_anywhere(forbidden: &str) -> Vec<String> {
    let folders: Vec<_> = sources::folders().collect();
    offences(&folders.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &[forbidden])
}

/// A child process would wait forever for a table that a thread of its parent was building at the fork. So the
/// Python package builds all tables when it is imported.
#[test]
fn each_table_that_is_built_on_first_use_can_be_built_before() {
    let folders = ["crates/base/src", "crates/text/src", "crates/fingerprint/src", "crates/cluster/src"];
    let mut forgotten = Vec::new();
    for file in folders.iter().flat_map(|folder| rust_files(&sources::root().join(folder))) {
        let code = code(&file);
        let names = code.split("static ").skip(1).filter_map(|rest| rest.split_once(": LazyLock<"));
        let is_built = |name: &str| code.contains(&format!("LazyLock::force(&{name})"));
        let not_built = names.filter(|(name, _)| !name.contains(char::is_whitespace) && !is_built(name));
        forgotten.extend(not_built.map(|(name, _)| format!("{}: {name}", file.display())));
    }
    forgotten.retain(|table| !table.ends_with("hashed.rs: OF_PROCESS"));
    assert!(forgotten.is_empty(), "call LazyLock::force in `build_tables` for {forgotten:?}");
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
    let mut offences = offences_in(&PURE, &forbidden);
    // The only clock; code at the edge passes its time inwards.
    offences.retain(|offence| !offence.contains("record/timestamp.rs uses SystemTime::now"));
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// `maud` escapes everything else that the console shows.
#[test]
fn only_our_style_and_script_are_not_escaped() {
    let offences = offences_anywhere("PreEscaped(");
    let style = std::fs::read_to_string(sources::root().join("crates/http/src/console/render/layout.rs"))
        .expect("a source");
    assert!(offences.len() == 1 && style.matches("PreEscaped(").count() == 2, "{}", offences.join("\n"));
    assert!(
        style.contains("style { (PreEscaped(STYLE)) }") && style.contains("script { (PreEscaped(REVIEW)) }")
    );
}

#[test]
fn unsafe_code_calls_c_libraries_or_names_a_section() {
    let offences = offences_anywhere("unsafe");
    let known = ["kafka/headers.rs", "kafka/topic_id.rs", "static_names.rs", "standard_streams.rs"]
        .map(|file| format!("{file} uses unsafe"));
    let is_known = |offence: &String| known.iter().any(|known| offence.ends_with(known));
    assert!(offences.len() == known.len() && offences.iter().all(is_known), "{}", offences.join("\n"));
}

/// Libraries have errors that callers can tell apart; the program and the laboratory only report theirs.
#[test]
fn libraries_have_errors_of_their_own() {
    let libraries: Vec<_> = CRATES.into_iter().filter(|name| ![".", "crates/lab"].contains(name)).collect();
    let manifests = libraries.iter().map(|name| sources::root().join(name).join("Cargo.toml"));
    let with_anyhow: Vec<_> = manifests
        .filter(|manifest| std::fs::read_to_string(manifest).expect("a manifest").contains("anyhow"))
        .collect();
    assert!(with_anyhow.is_empty(), "{with_anyhow:?}");
}

#[test]
fn tokio_and_kafka_stay_at_the_edges() {
    let offences = offences_in(&WITHOUT_TOKIO, &["tokio", "rdkafka"]);
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

/// Another client replaces one folder, and the simulation imitates brokers, not a library.
#[test]
fn one_folder_names_the_client_of_brokers() {
    let mut offences = offences_in(&["src", "crates/kafka/src", "tests/simulation"], &["rdkafka::"]);
    let count = offences.len();
    offences.retain(|offence| !offence.contains(WITH_RDKAFKA));
    assert!(count > 10 && offences.is_empty(), "{}", offences.join("\n"));
}

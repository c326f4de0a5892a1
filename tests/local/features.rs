//! The library can be had without the program: `default-features = false` builds neither the command line nor
//! HTTP, Kafka, TLS and an async runtime. A worker can be had without web pages. `make lint` compiles both.

use std::process::Command;

use crate::common::sources::root;

/// Returns the names of the packages that `leitong` is built from with these arguments.
fn tree(features: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "leitong",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--locked",
            "--offline",
        ])
        .args(features)
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    tree.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

/// Programs that embed the library need not wait for librdkafka, OpenSSL, tokio and the command line to be
/// built.
#[test]
fn the_library_needs_no_program_and_a_worker_no_web_pages() {
    let program = [
        "clap",
        "hyper",
        "rdkafka",
        "rdkafka-sys",
        "openssl-sys",
        "maud",
        "metrics-exporter-prometheus",
        "tokio",
    ];
    let found =
        |tree: Vec<String>| program.into_iter().filter(|name| tree.iter().any(|line| line == name)).collect();
    let with: Vec<&str> = found(tree(&[]));
    assert_eq!(with, program, "the program needs all of these");
    let without: Vec<&str> = found(tree(&["--no-default-features"]));
    assert_eq!(without, [""; 0]);
    let worker: Vec<&str> = found(tree(&["--no-default-features", "--features", "kafka"]));
    assert_eq!(worker, program.into_iter().filter(|name| *name != "maud").collect::<Vec<_>>());
}

//! Outputs in a store, which takes a small file in one request, and a large one in parts.

use super::store::Store;
use crate::common::{Run, article, page, write};

#[test]
fn outputs_are_objects_of_a_store() {
    let store = Store::shared();
    store.bucket("outputs");
    let folder = tempfile::tempdir().expect("a folder");
    let padding = "y".repeat(300_000);
    let padded = (0..60).map(|number| {
        page(&number.to_string(), &article(number, 20)).replacen(
            '{',
            &format!("{{\"padding\":\"{padding}\","),
            1,
        )
    });
    let large: String = padded.collect();
    let small = page("small", &article(100, 20));
    let inputs = [("large.jsonl", &large), ("small.jsonl", &small)]
        .map(|(name, lines)| write(folder.path(), name, lines));
    let run = |more: &[&str]| {
        let mut command = store.leitong();
        command.args(["dedup", "--keep", "s3://outputs/a b/", "--report", "s3://outputs/report.json"]);
        let run = command.args(more).args(&inputs).env("TMPDIR", folder.path()).output();
        Run::from_output(run.expect("the program starts"))
    };
    let done = run(&[]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(large.len() > 16 << 20 && store.bytes("outputs", "a b/large.jsonl") == large.as_bytes());
    assert!(store.bytes("outputs", "a b/small.jsonl").trim_ascii() == small.trim().as_bytes());
    let report: serde_json::Value =
        serde_json::from_slice(&store.bytes("outputs", "report.json")).expect("JSON");
    assert!(report.is_object());
    let refused = run(&[]);
    assert!(refused.status == 2 && refused.stderr.contains("the object exists"), "{}", refused.stderr);
    let elsewhere = run(&["--drop", "s3://no-such-bucket/x.jsonl"]);
    let told = "--drop s3://no-such-bucket/x.jsonl: ";
    assert!(
        elsewhere.stderr.contains(told) && elsewhere.stderr.contains("there is no such bucket"),
        "{}",
        elsewhere.stderr
    );
    assert_eq!(elsewhere.status, 1);
    let replaced = run(&["--overwrite"]);
    assert_eq!(replaced.status, 0, "{}", replaced.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "only the inputs are left");
}

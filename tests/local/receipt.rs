//! `dedup --receipt` and `audit --receipt`: what a run has read and written is found to be the same, or not.

use serde_json::Value;

use crate::common::{dedup_files, name, run, write};

#[test]
fn a_receipt_says_which_files_have_changed_since_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = std::fs::read("examples/pages.jsonl").expect("the samples");
    let input = write(folder.path(), "pages.jsonl", &samples);
    let file = |name: &str| folder.path().join(name);
    let [keep, report, receipt] = ["kept.jsonl", "report.json", "receipt.json"].map(file);
    let options = ["--verify", "--keep", name(&keep), "--report", name(&report), "--receipt", name(&receipt)];
    let made = dedup_files(&options, &[&input]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let text = std::fs::read_to_string(&receipt).expect("a receipt");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["inputs"][0]["bytes"], samples.len());
    let named = json["outputs"].as_array().expect("outputs").iter().map(|output| output["path"].as_str());
    assert_eq!(
        named.collect::<Vec<_>>(),
        [keep.to_str(), report.to_str()],
        "by their names, not those of parts"
    );
    let kept = std::fs::read_to_string(&keep).expect("a file").lines().count();
    assert_eq!(json["counts"]["kept_and_dropped"]["documents"]["kept"], kept);
    assert!(json["counts"]["kept_and_dropped"]["sample"]["counts"].is_object(), "{json}");

    let check = || run(["audit", "--receipt", name(&receipt)]);
    let checked = check();
    assert_eq!((checked.status, checked.stdout.as_str()), (0, "all 3 files are as the receipt says\n"));
    let mut changed = samples;
    *changed.last_mut().expect("a byte") = b' ';
    std::fs::write(&input, changed).expect("a file");
    std::fs::write(&keep, "short").expect("a file");
    std::fs::remove_file(&report).expect("removed");
    let checked = check();
    assert_eq!(checked.status, 1);
    for told in [
        "3 of 3 files are not as the receipt says",
        "pages.jsonl: has as many bytes as it had, but other contents",
        "kept.jsonl: has 5 bytes, but had",
        "report.json: cannot be read",
    ] {
        assert!(checked.stdout.contains(told), "{}", checked.stdout);
    }
    std::fs::write(&receipt, "{}").expect("a file");
    let checked = check();
    assert!(checked.status == 2 && checked.stderr.contains("is not a receipt"), "{}", checked.stderr);
}

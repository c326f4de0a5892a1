//! Knowledge about URLs outlives owners: in the changelog, in snapshots and in standbys.

use serde_json::{Value, json};

use crate::broker::topics::Row;
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation};
use crate::broker::{bootstrap, wait_until};
use crate::common::{self, article, run_with_input, write};

const ROUNDS: usize = 6;
const URLS: usize = 40;

/// Each round crawls every URL again: most texts stay, some change, some become copies of others, and some
/// pages are withdrawn, by a message without a value or by one with a field.
fn round(round: usize) -> Vec<(Row, Value)> {
    let page = |at: usize| {
        let url = format!("https://example.test/{at}");
        let change = (at + round * 3).is_multiple_of(7);
        let page = match (at * 5 + round) % 11 {
            0 => json!({ "url": url, "withdrawn": true }),
            1 => {
                let row = Row { key: Some(url.clone().into_bytes()), ..Row::default() };
                return (row, json!({ "url": url, "withdrawn": true }));
            }
            2 => json!({ "url": url, "text": article(1000 + round, 40) }),
            _ => json!({ "url": url, "text": article(at / 2 + if change { 100 * round } else { 0 }, 40) }),
        };
        let value = Some(page.to_string().into_bytes());
        (Row { value, key: Some(url.into_bytes()), ..Row::default() }, page)
    };
    (0..URLS).map(page).collect()
}

fn settings(more: &str) -> String {
    format!("[recrawls]\nenabled = true\n[kafka.create]\npage_partitions = 1\n{FAST_FAILURE_DETECTION}{more}")
}

#[test]
fn later_owners_know_what_was_crawled() {
    let snapshots = settings("[kafka.snapshots]\ndir = \"snapshots\"\ninterval_s = 1\n");
    let installation = Installation::new(&bootstrap(), "recrawls", &settings(""));
    let (mut rows, mut pages) = (Vec::new(), String::new());
    for at in 0..ROUNDS {
        // The first owners read the changelog, later ones a snapshot.
        if at == 2 {
            installation.configure(&snapshots);
        }
        let mut worker = installation.worker(&[]);
        worker.wait_until_ready();
        let (new, lines): (Vec<Row>, Vec<Value>) = round(at).into_iter().unzip();
        rows.extend(new.iter().cloned());
        pages.extend(lines.iter().map(|line| format!("{line}\n")));
        installation.feed(&new, rows.len());
        if at == 4 {
            wait_until("a snapshot is written", || worker.plain_log().contains("snapshot written"));
        }
        if at + 1 == ROUNDS {
            let recrawls = worker.metric("leitong_recrawls_total");
            assert!(recrawls > 0.0, "{recrawls}");
        }
        worker.kill();
    }
    let mut verdicts = installation.assert_exactly_once(&rows);
    verdicts.sort_by_key(|verdict| verdict["source"]["offset"].as_u64());
    // A single run over the same pages, which no owner has interrupted.
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", "[recrawls]\nenabled = true\n");
    let once = run_with_input(["dedup", "-", "--config", config.to_str().expect("UTF-8")], pages);
    assert_eq!(once.status, 0, "{}", once.stderr);
    let strip = |verdict: &Value| {
        let mut verdict = common::stable_fields(verdict);
        verdict["source"] = Value::Null;
        verdict
    };
    let [published, once] =
        [verdicts, once.verdicts()].map(|verdicts| verdicts.iter().map(strip).collect::<Vec<_>>());
    common::assert_same("verdict topic and one run", &published, &once);
    for what in ["UNCHANGED", "CHANGED", "COPY", "WITHDRAWN"] {
        let count = once.iter().filter(|verdict| verdict["recrawl"]["outcome"] == what).count();
        assert!(count > 3, "{what}: {count}");
    }
    for what in ["REMAINS", "SUCCESSOR", "ENDED"] {
        let count = once.iter().filter(|verdict| verdict["recrawl"]["left_cluster"] == what).count();
        assert!(count > 3, "{what}: {count}");
    }
}

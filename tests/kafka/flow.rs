//! Pages in, verdicts out, over a real broker.

use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::{article, assert_same};

#[test]
fn one_worker_gives_the_verdicts_of_dedup_in_log_order() {
    let installation = Installation::new(&crate::broker::bootstrap(), "flow", "");
    let rows: Vec<Row> =
        (0..90).map(|i| Row::page(i % 3, &format!("p{i}"), &article(i as usize % 31, 25))).collect();
    installation.produce(&rows);
    let mut worker = installation.worker(&[]);
    let verdicts = installation.wait_for_verdicts(90, 60);
    assert_eq!(worker.get("/readyz").expect("an answer").0, 200);
    assert_eq!(worker.terminate(30), 0, "{}", worker.log());

    installation.assert_exactly_once(&rows);

    // The same pages in log order.
    let mut pages: Vec<Option<&Row>> = vec![None; 90];
    let mut seen = [0; 3];
    let by_partition = |p: i32| rows.iter().filter(move |row| row.partition == p).collect::<Vec<_>>();
    let partitions = [by_partition(0), by_partition(1), by_partition(2)];
    for (at, verdict) in verdicts.iter().enumerate() {
        let partition = verdict["source"]["partition"].as_u64().expect("a partition") as usize;
        assert_eq!(verdict["source"]["offset"], seen[partition], "in the order of the partition");
        pages[at] = Some(partitions[partition][seen[partition]]);
        seen[partition] += 1;
    }
    let lines: String = pages
        .iter()
        .map(|row| {
            String::from_utf8(row.expect("a page").value.clone().expect("a value")).expect("UTF-8") + "\n"
        })
        .collect();
    let dedup = crate::common::run_with_input(["dedup", "-"], lines);
    assert_eq!(dedup.status, 0, "{}", dedup.stderr);
    let [left, right] = [verdicts, dedup.verdicts()].map(|v| v.iter().map(sourceless).collect::<Vec<_>>());
    assert_same("worker and dedup", &left, &right);
}

/// A verdict without the place its page was read at, which differs between a file and a topic.
fn sourceless(verdict: &serde_json::Value) -> serde_json::Value {
    let mut verdict = crate::common::essence(verdict);
    verdict["source"] = serde_json::Value::Null;
    verdict
}

//! From pages to verdicts, over a real broker.

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
    let verdicts = installation.wait_for_verdicts(90);
    assert_eq!(worker.get("/readyz").expect("an answer").0, 200);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());

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

/// Headers carry traces and correlation ids, which must not end at the page topic.
#[test]
fn headers_and_key_are_copied_from_page_to_verdict() {
    let more = "[kafka.create]\npage_partitions = 1\nverdict_partitions = 1\n\
                [kafka.verdicts]\ncloud_events = true\nkey = \"page-key\"\nheaders = [\"traceparent\", \"tracestate\", \"tenant\"]";
    let installation = Installation::new(&crate::broker::bootstrap(), "carried", more);
    let header = |name: &str, value: &[u8]| (name.to_owned(), Some(value.to_vec()));
    let trace = header("TraceParent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let rows = [
        Row {
            key: Some(b"crawler-7".to_vec()),
            headers: vec![
                header("other", b"stays behind"),
                trace.clone(),
                header("tracestate", &[b'x'; 5_000]),
                header("tenant", b"\xff\0"),
                ("tenant".to_owned(), None),
            ],
            ..Row::page(0, "a", &article(1, 25))
        },
        Row { key: Some(vec![b'k'; 9_000]), ..Row::page(0, "b", &article(2, 25)) },
        Row::page(0, "c", &article(3, 25)),
    ];
    installation.produce(&rows);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(3);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    let verdicts = crate::broker::topics::read_all(&installation.bootstrap, &installation.topic("verdicts"));
    let keys: Vec<_> = verdicts.iter().map(|verdict| verdict.key.clone().expect("a key")).collect();
    assert_eq!(keys, [b"crawler-7".to_vec(), b"b".to_vec(), b"c".to_vec()], "else the page id");
    let own = |id: &str, offset: u64| {
        [
            header("content-type", b"application/json"),
            header("leitong.kind", b"UNIQUE"),
            header("leitong.same.url", b"true"),
            header("leitong.replaces", b"false"),
            header("leitong.recrawl", b""),
            header("leitong.corpus", b"default"),
            header("leitong.page.id", id.as_bytes()),
            header("leitong.format.version", b"1"),
            header("leitong.log", format!("0@{offset}").as_bytes()),
            header("ce_specversion", b"1.0"),
            header("ce_type", b"leitong.verdict.v1"),
            header("ce_source", format!("/leitong/{}", installation.app).as_bytes()),
            header("ce_id", format!("0@{offset}").as_bytes()),
            header("ce_subject", id.as_bytes()),
            header(
                "ce_time",
                verdicts[offset as usize].json()["decided_at"].as_str().expect("a time").as_bytes(),
            ),
        ]
    };
    let carried = [trace, header("tenant", b"\xff\0"), ("tenant".to_owned(), None)];
    let expected = [&own("a", 0)[..], &carried].concat();
    assert_eq!(verdicts[0].headers, expected, "those that are asked for and fit, as received");
    assert_eq!((&verdicts[1].headers[..], &verdicts[2].headers[..]), (&own("b", 1)[..], &own("c", 2)[..]));
}

/// Returns a verdict without the place of its page, which differs between a file and a topic.
fn sourceless(verdict: &serde_json::Value) -> serde_json::Value {
    let mut verdict = crate::common::stable_fields(verdict);
    verdict["source"] = serde_json::Value::Null;
    verdict
}

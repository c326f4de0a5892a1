//! The page that represents a cluster outlives owners: in the changelog and in snapshots.

use serde_json::json;

use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;

/// Copies of twenty articles arrive one after another, with this many additional sentences.
const LENGTHS: [usize; 6] = [2, 0, 3, 1, 5, 4];
const ARTICLES: usize = 20;

fn copies(round: usize) -> Vec<Row> {
    let copy = |topic| {
        let text = format!("{}{}", article(topic, 40), "编辑部后来又添了一句话。".repeat(LENGTHS[round]));
        Row::page(0, &format!("p{round}-{topic}"), &text)
    };
    (0..ARTICLES).map(copy).collect()
}

fn settings(more: &str) -> String {
    format!(
        "[canonical]\nprefer = [\"longest\"]\n[kafka.create]\npage_partitions = 1\n{FAST_FAILURE_DETECTION}{more}"
    )
}

#[test]
fn later_owners_know_the_page_that_represents_a_cluster() {
    let snapshots = settings("[kafka.snapshots]\ndir = \"snapshots\"\ninterval_s = 1\n");
    let installation = Installation::new(&bootstrap(), "canonical", &settings(""));
    let mut rows = Vec::new();
    for round in 0..LENGTHS.len() {
        // The first owners read the changelog, later ones a snapshot.
        if round == 2 {
            installation.configure(&snapshots);
        }
        let mut worker = installation.worker(&[]);
        worker.wait_until_ready();
        let new = copies(round);
        rows.extend(new.iter().cloned());
        installation.feed(&new, rows.len());
        if round == 4 {
            wait_until("a snapshot is written", || worker.plain_log().contains("snapshot written"));
        }
        worker.kill();
    }
    let verdicts = installation.assert_exactly_once(&rows);
    let canonical = |round: usize, topic: usize| {
        let longest = (0..=round).max_by_key(|earlier| (LENGTHS[*earlier], std::cmp::Reverse(*earlier)));
        format!("p{}-{topic}", longest.expect("one"))
    };
    for verdict in &verdicts {
        let id = verdict["page_id"].as_str().expect("an id");
        let (round, topic) = id[1..].split_once('-').expect("two numbers");
        let (round, topic) = (round.parse::<usize>().expect("one"), topic.parse::<usize>().expect("one"));
        assert_eq!(verdict["canonical_page_id"], canonical(round, topic), "{verdict}");
        let former = (round > 0).then(|| canonical(round - 1, topic));
        let replaced = former.filter(|former| *former != canonical(round, topic));
        assert_eq!(verdict["replaces_page_id"], json!(replaced), "{verdict}");
    }
    // Consumers find replaced pages by a header.
    let messages = topics::read_all(&installation.bootstrap, &installation.topic("verdicts"));
    let flagged = messages.iter().filter(|message| message.header("leitong.replaces") == "true");
    assert_eq!(flagged.count(), 2 * ARTICLES, "longer copies come twice");
}

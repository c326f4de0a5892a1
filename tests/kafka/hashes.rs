//! Fingerprints of different settings are never compared, and the size of transactions changes nothing.

use std::collections::HashMap;

use leitong_base::proto;
use prost::Message as _;
use serde_json::Value;

use crate::broker::topics::{self, Row};
use crate::broker::worker::Installation;
use crate::common::{article, assert_same, stable_fields};

#[test]
fn fingerprints_of_other_settings_never_meet() {
    let other = "[segment]\nhmm = false\n";
    let installation = Installation::new(&crate::broker::bootstrap(), "hashes", "");
    let rows = |from: usize| -> Vec<Row> {
        (from..from + 30).map(|i| Row::page((i % 3) as i32, &format!("p{i}"), &article(i % 10, 30))).collect()
    };
    // Workers with one setting, then with the other, as in a roll-out; the owner keeps the first throughout.
    let mut owner = installation.worker(&["--role", "cluster"]);
    owner.wait_until_ready();
    let mut all = Vec::new();
    for (round, more) in ["", other, ""].iter().enumerate() {
        installation.configure(more);
        let mut worker = installation.worker(&["--role", "fingerprint"]);
        installation.produce(&rows(round * 30));
        all.extend(rows(round * 30));
        installation.wait_for_verdicts((round + 1) * 30);
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    let verdicts = installation.assert_exactly_once(&all);
    let hash_of: HashMap<&Value, &Value> =
        verdicts.iter().map(|verdict| (&verdict["page_id"], &verdict["fingerprint_hash"])).collect();
    assert_eq!(hash_of.values().collect::<std::collections::HashSet<_>>().len(), 2);
    let mut met = 0;
    for verdict in &verdicts {
        assert_eq!(hash_of[&verdict["canonical_page_id"]], &verdict["fingerprint_hash"], "{verdict}");
        met += usize::from(verdict["kind"] != "UNIQUE");
    }
    assert_eq!(met, 70, "each setting founds ten clusters of its own");
    assert_eq!(owner.metric("leitong_other_fingerprint_hash_total"), 30.0);
    assert_eq!(owner.terminate(), 0);
}

#[test]
fn transactions_of_any_size_give_the_same_verdicts_with_expiry_on() {
    let expiry = "[expiry]\nmax_age_days = 3\ncentroids_max = 40\n";
    let bootstrap = crate::broker::bootstrap();
    // Log time covers thirty days, and sometimes goes back.
    let first_ms = 1_700_000_000_000;
    let rows: Vec<Row> = (0..600)
        .map(|i: i64| {
            let text = article((i * 2_654_435_761 / 128 % 60) as usize, 25);
            let back = if i % 13 == 0 { 5 } else { 0 };
            let timestamp = first_ms + (i - back) * 72 * 60_000;
            Row { timestamp: Some(timestamp), ..Row::page(0, &format!("p{i}"), &text) }
        })
        .collect();
    let mut all: Vec<(usize, Vec<Value>)> = Vec::new();
    for size in [1, 2, 7, 1000] {
        let more = format!(
            "{expiry}[kafka.create]\npage_partitions = 1\n[kafka.transaction]\nrecords_max = {size}\nlinger_ms = 20\n"
        );
        let installation = Installation::new(&bootstrap, &format!("batch{size}"), &more);
        installation.produce(&rows);
        let mut worker = installation.worker(&[]);
        installation.wait_for_verdicts(rows.len());
        let changelog = topics::read_all(&bootstrap, &installation.topic("centroids"));
        let last = changelog.last().and_then(|record| record.value.clone()).expect("a position");
        let last = proto::Position::decode(&*last).expect("a position");
        let expired = last.founded.expect("a number") - last.centroid_count;
        assert!(expired > 100, "{expired}");
        assert_eq!(worker.terminate(), 0);
        let mut verdicts: Vec<Value> =
            installation.assert_exactly_once(&rows).iter().map(stable_fields).collect();
        for verdict in &mut verdicts {
            verdict["source"]["topic"] = Value::Null;
        }
        all.push((size, verdicts));
    }
    let (_, first) = &all[0];
    assert!(first.iter().any(|v| v["kind"] == "EXACT_DUPLICATE"), "something is alike");
    assert!(first.iter().filter(|v| v["kind"] == "UNIQUE").count() > 90, "something has expired");
    for (size, verdicts) in &all[1..] {
        assert_same(&format!("transactions of {size}"), first, verdicts);
    }
}

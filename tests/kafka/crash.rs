//! Whatever is killed, and whenever: one outcome per page, and the verdicts that follow from the log.
//!
//! `LEITONG_CHAOS_SEED` repeats a run, `LEITONG_CHAOS_KILLS` makes it longer.

use crate::broker::crawler::write_slowly;
use crate::broker::pause;
use crate::broker::topics::Row;
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::common::article;
use crate::dice::{Rng, from_environment};

fn pages(count: usize, texts: usize) -> Vec<Row> {
    (0..count)
        .map(|i| {
            let row = Row::page((i % 3) as i32, &format!("p{i}"), &article(i * 7 % texts, 12 + i % 5));
            // Some messages are not pages.
            if i % 97 == 13 { Row { value: Some(b"{".to_vec()), ..row } } else { row }
        })
        .collect()
}

#[test]
fn random_kills_lose_and_duplicate_nothing() {
    let seed = from_environment("LEITONG_CHAOS_SEED", u64::from(std::process::id()));
    let kills = from_environment("LEITONG_CHAOS_KILLS", 20);
    println!("LEITONG_CHAOS_SEED={seed} LEITONG_CHAOS_KILLS={kills}");
    let mut dice = Rng(seed);
    // Small transactions, so there are many between two kills.
    let more = format!("[kafka.transaction]\nrecords_max = 20\nlinger_ms = 5\n{FAST_FAILURE_DETECTION}");
    let installation = Installation::new(&crate::broker::bootstrap(), "crash", &more);
    let rows = pages(9000, 400);
    let crawler = write_slowly(&installation, &rows, 4);
    const ROLES: [&str; 5] = ["fingerprint", "cluster", "all", "fingerprint", "cluster"];
    let start = |role: &str| installation.worker(&["--role", role]);
    let mut workers: Vec<(&str, Worker)> = ROLES[..4].iter().map(|role| (*role, start(role))).collect();
    for kill in 0..kills {
        pause(200 + dice.roll(1800));
        let victim = dice.roll(workers.len() as u64) as usize;
        let (role, mut worker) = workers.swap_remove(victim);
        println!("kill {kill}: {role}");
        worker.kill();
        drop(worker);
        workers.push((role, start(role)));
    }
    crawler.join().expect("all pages are written");
    installation.wait_for_verdicts(rows.len());
    for (_, worker) in &mut workers {
        worker.wait_until_ready();
        worker.signal("TERM");
    }
    for (role, worker) in &mut workers {
        assert_eq!(worker.wait(), 0, "{role}: {}", worker.log());
    }
    installation.assert_exactly_once(&rows);
}

#[test]
fn instances_can_join_and_leave_at_work() {
    let more = format!(
        "[kafka.create]\npage_partitions = 3\nlog_partitions = 2\n[corpus]\nby = \"header\"\n\
         [kafka.transaction]\nrecords_max = 50\n{FAST_FAILURE_DETECTION}"
    );
    let installation = Installation::new(&crate::broker::bootstrap(), "scale", &more);
    let corpora = ["甲", "乙", "丙", "丁"];
    let rows: Vec<Row> = pages(3000, 200)
        .into_iter()
        .enumerate()
        .map(|(i, row)| Row { headers: vec![("corpus".into(), Some(corpora[i % 4].into()))], ..row })
        .collect();
    let mut workers = vec![installation.worker(&[])];
    workers[0].wait_until_ready();
    let (first, rest) = rows.split_at(1000);
    installation.produce(first);
    workers.push(installation.worker(&[]));
    workers[1].wait_until_ready();
    installation.produce(&rest[..600]);
    workers.push(installation.worker(&["--role", "cluster"]));
    workers[2].wait_until_ready();
    installation.produce(&rest[600..1200]);
    assert_eq!(workers.remove(0).terminate(), 0);
    installation.produce(&rest[1200..]);
    installation.wait_for_verdicts(rows.len());
    for worker in &mut workers {
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    let verdicts = installation.assert_exactly_once(&rows);
    // A canonical page is an earlier page of the same corpus.
    let mut founded = std::collections::HashMap::new();
    for verdict in &verdicts {
        if verdict["kind"] == "UNIQUE" {
            founded.insert(verdict["page_id"].clone(), verdict);
        }
        if let Some(canonical) = verdict["canonical_page_id"].as_str() {
            let canonical = founded[&serde_json::Value::from(canonical)];
            assert_eq!(canonical["corpus"], verdict["corpus"], "corpora never meet");
            assert_eq!(canonical["log_partition"], verdict["log_partition"]);
        }
    }
    assert_eq!(founded.values().map(|v| &v["corpus"]).collect::<std::collections::HashSet<_>>().len(), 4);
}

//! Upgrades over a real broker: the program of an older version and today's, side by side.
//!
//! Both are separate builds (`former.rs`). Their verdicts show whether their pages meet and whether they
//! decide by the same rules; `former-versions.txt` says how far an upgrade can be undone. In every case there
//! is one outcome for each page, pages of different fingerprint hashes never meet, and verdicts by the same
//! rules equal those of today's `leitong replay`, whichever version owned the partition.

mod former;

use std::path::Path;

use serde_json::Value;

use crate::broker::crawler::write_slowly;
use crate::broker::topics::Row;
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{bootstrap, pause, wait_until};
use crate::common::{Run, article, assert_same, placeless};
use crate::dice::{Rng, from_environment};
use former::{Former, run, today};

/// Settings that both versions know: small transactions, standbys, and kills that are noticed soon.
fn installation(name: &str, former: &Former) -> Installation {
    let more = format!(
        "[expiry]\ncentroids_max = 150\n[kafka.transaction]\nrecords_max = 20\nlinger_ms = 5\n{FAST_FAILURE_DETECTION}"
    );
    let installation = Installation::without_topics(&bootstrap(), name, &more);
    installation.edit("[kafka]\n", "[kafka]\nstandby = true\n");
    let config = installation.config();
    wait_until("the topics are made and known", || {
        former.run(&["topics", "create", "--config", config.to_str().expect("UTF-8")]).status == 0
    });
    installation
}

/// Returns pages whose texts recur all the time, each before it has expired.
fn pages(count: usize) -> Vec<Row> {
    (0..count)
        .map(|i| {
            let row = Row::page((i % 3) as i32, &format!("p{i}"), &article(i * 7 % 120, 12 + i % 5));
            // Some messages are not pages.
            if i % 97 == 13 { Row { value: Some(b"{".to_vec()), ..row } } else { row }
        })
        .collect()
}

/// Returns the arguments with which today's program starts after an older one.
fn accepting(installation: &Installation, former: &Former) -> Vec<String> {
    if former.clusters_alike() {
        return Vec::new();
    }
    vec!["--accept-cluster-hash".to_owned(), former::cluster_hash(&today(), &installation.config())]
}

/// Starts a worker of `program` and waits until it has joined and has its tables.
fn ready(installation: &Installation, program: &Path, arguments: &[String]) -> Worker {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let worker = installation.worker_of(program, &arguments);
    worker.wait_until_ready();
    worker
}

/// Checks what must hold of the verdicts at the end.
fn assert_consistent(installation: &Installation, former: &Former, rows: &[Row]) {
    let verdicts = installation.verdicts();
    let tally = installation.tally(rows);
    assert!(tally.twice.is_empty() && tally.lost.is_empty(), "of {} pages: {tally}", rows.len());

    let hash_of: std::collections::HashMap<&Value, &Value> =
        verdicts.iter().map(|verdict| (&verdict["page_id"], &verdict["fingerprint_hash"])).collect();
    for verdict in verdicts.iter().filter(|verdict| !verdict["canonical_page_id"].is_null()) {
        assert_eq!(hash_of[&verdict["canonical_page_id"]], &verdict["fingerprint_hash"], "{verdict}");
    }
    let hashes: std::collections::HashSet<_> = hash_of.values().collect();
    assert_eq!(hashes.len(), if former.fingerprints_alike() { 1 } else { 2 });
    let duplicates = verdicts.iter().filter(|verdict| verdict["kind"] != "UNIQUE").count();
    assert!(duplicates * 3 > verdicts.len(), "{duplicates} of {}", verdicts.len());

    if former.clusters_alike() {
        let replay = installation.replay(&["--dead-letters", "/dev/null"]);
        let letters = installation.dead_letters();
        assert_eq!(replay.status, if letters.is_empty() { 0 } else { 3 }, "{}", replay.stderr);
        let (published, replayed) = (stable(&verdicts), stable(&replay.verdicts()));
        assert_same("verdict topic and replay", &published, &known_to(&published, replayed));
    }
}

fn stable(verdicts: &[Value]) -> Vec<Value> {
    renamed(verdicts.iter().map(crate::common::stable_fields).collect())
}

/// Returns the verdicts with today's name of the field that former versions call `credits`.
fn renamed(mut verdicts: Vec<Value>) -> Vec<Value> {
    for verdict in verdicts.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(metadata) = verdict.remove("credits") {
            verdict.insert("metadata".to_owned(), metadata);
        }
    }
    verdicts
}

/// Returns `verdicts` without null fields that the program behind `others` did not know.
fn known_to(others: &[Value], verdicts: Vec<Value>) -> Vec<Value> {
    let strip = |(mut verdict, other): (Value, &Value)| {
        if let (Value::Object(verdict), Value::Object(other)) = (&mut verdict, other) {
            verdict.retain(|field, value| !value.is_null() || other.contains_key(field));
        }
        verdict
    };
    verdicts.into_iter().zip(others).map(strip).collect()
}

/// As docs/upgrading.md says: one instance after another, and back again.
#[test]
fn instances_can_be_upgraded_one_by_one_and_put_back() {
    for former in Former::all() {
        println!("from {} ({:?})", former.version, former.hashes);
        let installation = installation("upgrade", former);
        let (accepting, rows) = (accepting(&installation, former), pages(900));
        let mut fed = 0;
        let mut feed = |count: usize| {
            installation.feed(&rows[fed..fed + count], fed + count);
            fed += count;
        };
        let mut old = [(); 2].map(|()| ready(&installation, &former.program, &[]));
        feed(250);
        // The first instance stops normally, the second one is killed, each when the next one is ready.
        let mut first = ready(&installation, &today(), &accepting);
        feed(50);
        assert_eq!(old[0].terminate(), 0, "{}", old[0].log());
        feed(100);
        let mut second = ready(&installation, &today(), &accepting);
        feed(50);
        old[1].kill();
        feed(100);
        // A fingerprint worker that was not upgraded.
        let mut forgotten =
            ready(&installation, &former.program, &["--role", "fingerprint"].map(str::to_owned));
        feed(60);
        assert_eq!(forgotten.terminate(), 0, "{}", forgotten.log());
        let others: f64 = [&first, &second]
            .iter()
            .map(|worker| worker.metric("leitong_other_fingerprint_hash_total"))
            .sum();
        let said =
            [&first, &second].iter().any(|worker| worker.plain_log().contains("own_fingerprint_hash="));
        assert_eq!((others > 0.0, said), (!former.fingerprints_alike(), !former.fingerprints_alike()));
        // The owner is killed, and the other one takes over.
        first.kill();
        feed(50);
        assert_eq!(second.terminate(), 0, "{}", second.log());

        // The older version is put back.
        if former.both_ways {
            let mut again = ready(&installation, &former.program, &[]);
            feed(100);
            assert_eq!(again.terminate(), 0, "{}", again.log());
        } else {
            assert_halted(&installation, former, &rows[fed..fed + 100], fed);
            fed += 100;
        }
        let mut last = ready(&installation, &today(), &accepting);
        installation.wait_for_verdicts(fed);
        installation.feed(&rows[fed..], rows.len());
        assert_eq!(last.terminate(), 0, "{}", last.log());
        assert_consistent(&installation, former, &rows);
    }
}

/// Checks that the older version, faced with records of this one, publishes nothing and says why.
fn assert_halted(installation: &Installation, former: &Former, rows: &[Row], published: usize) {
    let mut worker = installation.worker_of(&former.program, &["--role", "cluster"]);
    installation.produce(rows);
    let why = ["update this instance", "some topics are not configured as required"];
    wait_until(format_args!("it says why it has halted:\n{}", worker.latest()), || {
        why.iter().any(|why| worker.plain_log().contains(why))
    });
    // Time in which the worker could do something wrong.
    pause(1000);
    assert!(worker.get("/readyz").is_none_or(|(status, _)| status == 503), "{}", worker.log());
    worker.kill();
    assert_eq!(installation.verdicts().len() + installation.dead_letters().len(), published);
}

/// Instances of both versions come and go, killed and stopped, in an order drawn from a seed
/// (`LEITONG_CHAOS_SEED`; `LEITONG_CHAOS_KILLS` makes it longer).
#[test]
fn both_versions_side_by_side_decide_as_one() {
    let seed = from_environment("LEITONG_CHAOS_SEED", u64::from(std::process::id()));
    let kills = from_environment("LEITONG_CHAOS_KILLS", 12);
    println!("LEITONG_CHAOS_SEED={seed} LEITONG_CHAOS_KILLS={kills}");
    for former in Former::all().iter().filter(|former| former.both_ways && former.clusters_alike()) {
        println!("next to {} ({:?})", former.version, former.hashes);
        let mut dice = Rng(seed);
        let installation = installation("side-by-side", former);
        let rows = pages(4000);
        let (first, rest) = rows.split_at(3800);
        let crawler = write_slowly(&installation, first, 4);
        let programs = [former.program.clone(), today()];
        let mut decided = [0.0; 2];
        let start = |which: usize| (which, installation.worker_of(&programs[which], &[]));
        let mut workers: Vec<(usize, Worker)> = [0, 1, 0].map(start).into();
        for _ in 0..kills {
            pause(300 + dice.roll(1700));
            let victim = dice.roll(workers.len() as u64) as usize;
            let (which, mut worker) = workers.swap_remove(victim);
            decided[which] += worker.metric("leitong_verdicts_total");
            if dice.roll(3) == 0 {
                worker.signal("TERM");
                worker.wait();
            } else {
                worker.kill();
            }
            // If both versions are still running, the version of the new worker is random; otherwise it is the missing
            // one.
            let ones = workers.iter().filter(|(which, _)| *which == 1).count();
            workers.push(start(usize::from(ones == 0 || (ones == 1 && dice.roll(2) == 0))));
        }
        crawler.join().expect("all pages are written");
        installation.wait_for_verdicts(first.len());
        for (which, worker) in &mut workers {
            worker.wait_until_ready();
            decided[*which] += worker.metric("leitong_verdicts_total");
            worker.signal("TERM");
        }
        for (_, worker) in &mut workers {
            assert_eq!(worker.wait(), 0, "{}", worker.log());
        }
        // Each version runs alone once, so each has decided some pages whatever was drawn.
        for (part, which) in rest.chunks(100).zip([0, 1]) {
            let (_, mut worker) = start(which);
            installation.feed(part, first.len() + (which + 1) * 100);
            decided[which] += worker.metric("leitong_verdicts_total");
            assert_eq!(worker.terminate(), 0, "{}", worker.log());
        }
        println!("the former version has decided on {}, today's on {}", decided[0], decided[1]);
        assert!(decided.iter().all(|count| *count > 0.0), "{decided:?}");
        assert_consistent(&installation, former, &rows);
    }
}

/// A table saved and exported by one version is read by the other, or refused with a reason.
#[test]
fn saved_tables_can_change_between_versions() {
    for former in Former::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let part = |pages: std::ops::Range<usize>| -> String {
            pages.map(|i| crate::common::page(&format!("p{i}"), &article(i * 7 % 60, 25))).collect()
        };
        let parts = [path("first.jsonl"), path("second.jsonl")];
        std::fs::write(&parts[0], part(0..80)).expect("written");
        std::fs::write(&parts[1], part(80..160)).expect("written");
        let whole = run(&today(), &["dedup", &parts[0], &parts[1]]).verdicts();

        let alike = former.fingerprints_alike() && former.clusters_alike();
        for (table, first, second) in
            [("upgraded", &former.program, &today()), ("put-back", &today(), &former.program)]
        {
            let table = path(table);
            let made = run(first, &["dedup", "--table", &table, &parts[0]]);
            assert_eq!(made.status, 0, "{}", made.stderr);
            let before = std::fs::read(Path::new(&table).join("centroids.leitong")).expect("a table");
            let went_on = |table: &str| run(second, &["dedup", "--table", table, &parts[1]]);
            let is_as_whole = |run: &Run| {
                assert_eq!(run.status, 0, "{}: {}", former.version, run.stderr);
                let verdicts = [made.verdicts(), run.verdicts()].concat();
                let verdicts = renamed(placeless(&verdicts));
                assert_same(table.as_str(), &verdicts, &known_to(&verdicts, placeless(&whole)));
            };
            if !alike {
                let refused = went_on(&table);
                assert_eq!((refused.status, refused.stdout.as_str()), (1, ""));
                // An older version does not read the format needed for texts already seen.
                let reasons = ["made with other settings", "newer"];
                assert!(reasons.iter().any(|why| refused.stderr.contains(why)), "{}", refused.stderr);
                let after = std::fs::read(Path::new(&table).join("centroids.leitong")).expect("a table");
                assert_eq!(before, after, "left as it is");
                continue;
            }
            if *second == today() {
                // The same with JSON lines as an intermediate step.
                let (lines, copy) = (format!("{table}.jsonl"), format!("{table}-copy"));
                let exported = run(second, &["table", "export", "--all", "--output", &lines, &table]);
                assert_eq!(exported.status, 0, "{}", exported.stderr);
                let imported = run(second, &["table", "import", "--output", &copy, &lines]);
                assert_eq!(imported.status, 0, "{}", imported.stderr);
                is_as_whole(&went_on(&copy));
            }
            is_as_whole(&went_on(&table));
        }
    }
}

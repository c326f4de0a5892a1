//! Tables with old centroids on disk: the verdicts are those of a table in memory, as `leitong replay`
//! produces them, and a restart opens the blocks and reads the changelog's tail.
//!
//! `LEITONG_CHAOS_SEED` repeats the kills, and `LEITONG_CHAOS_KILLS` sets their number.

use std::fs;
use std::path::{Path, PathBuf};

use crate::broker::crawler::write_slowly;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{bootstrap, pause, wait_until};
use crate::common::{article, leitong};
use crate::dice::{Rng, from_environment};

/// Small blocks and transactions, expiry by count, and kills that are noticed soon.
fn settings(folder: &str) -> String {
    format!(
        "[table]\non_disk = true\nblock_centroids = 32\n[expiry]\ncentroids_max = 150\n[kafka.transaction]\n\
         records_max = 10\nlinger_ms = 0\n[kafka.snapshots]\ndir = \"{folder}\"\n[kafka.create]\npage_partitions = 1\n\
         {FAST_FAILURE_DETECTION}"
    )
}

fn pages(from: usize, to: usize) -> Vec<Row> {
    (from..to).map(|i| Row::page(0, &format!("p{i}"), &article(i * 7 % 400, 25))).collect()
}

fn folder(installation: &Installation, name: &str) -> PathBuf {
    installation.folder.path().join(name).join(format!("{}-0.table", installation.app))
}

/// Returns the files in `folder` that are blocks of centroids.
fn blocks(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_block = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("centroids-") && name.ends_with(".block")
    };
    let mut blocks: Vec<PathBuf> = names.filter(is_block).collect();
    blocks.sort();
    blocks
}

fn flip(path: &Path, at: impl FnOnce(usize) -> usize) {
    let mut bytes = fs::read(path).expect("a file");
    let at = at(bytes.len());
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_restart_opens_the_blocks_and_reads_the_tail() {
    let installation = Installation::new(&bootstrap(), "on-disk", &settings("tables"));
    let rows = pages(0, 900);
    let mut worker = installation.worker(&[]);
    installation.feed(&rows[..600], 600);
    let folder = folder(&installation, "tables");
    wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 90.0);
    assert!(blocks(&folder).len() >= 4, "{:?}", blocks(&folder));
    // Another instance does not get the folder.
    let mut other = installation.worker(&["--role", "cluster"]);
    worker.kill();
    other.wait_until_ready();
    assert!(other.plain_log().contains("from=snapshot"), "{}", other.plain_log());

    let records = topics::read_all(&installation.bootstrap, &installation.topic("centroids")).len() as f64;
    assert_eq!(other.metric("leitong_restored_centroids"), 150.0);
    let tail = other.metric("leitong_restored_records");
    assert!(tail < 200.0 && records > 500.0, "{tail} of {records}");
    assert_eq!(other.terminate(), 0);
    let mut worker = installation.restored_worker("snapshot", &[]);
    installation.feed(&rows[600..], 900);
    assert_eq!(worker.metric("leitong_snapshots_set_aside_total"), 0.0);
    assert_eq!(worker.terminate(), 0);
    let info = leitong().args(["table", "info"]).arg(&folder).output().expect("it starts");
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.contains("newer ones in") && info.contains("simhash"), "{info}");
    let verified = leitong().args(["table", "info", "--verify"]).arg(&folder).output().expect("it starts");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_table_that_does_not_match_is_set_aside_and_restored_from_the_changelog() {
    let installation = Installation::new(&bootstrap(), "set-aside", &settings("tables"));
    let rows = pages(0, 400);
    let mut worker = installation.worker(&[]);
    let feed = |worker: &Worker, from: usize, to: usize| {
        installation.feed(&rows[from..to], to);
        wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 90.0);
    };
    feed(&worker, 0, 300);
    assert_eq!(worker.terminate(), 0);
    let tables = folder(&installation, "tables");
    let name = |path: PathBuf| path.file_name().expect("a name").to_owned();
    let restart = |why: &str| {
        let mut worker = installation.restored_worker("changelog", &["--role", "cluster"]);
        let said = worker.plain_log();
        assert!(said.contains("set aside") && said.contains(why), "{why:?}: {said}");
        assert_eq!(worker.metric("leitong_restored_centroids"), 150.0);
        assert_eq!(worker.metric("leitong_snapshots_set_aside_total"), 1.0);
        assert!(tables.with_extension("table-set-aside").exists());
        wait_until("the next table is saved", || worker.metric("leitong_disk_centroids") > 90.0);
        assert_eq!(worker.terminate(), 0);
        let mut worker = installation.restored_worker("snapshot", &["--role", "cluster"]);
        assert_eq!(worker.terminate(), 0);
    };
    flip(&tables.join("centroids.leitong"), |length| length / 2);
    restart("");
    // The newest block may have been written a moment ago, and not be listed in the table's file yet.
    let oldest = |tables: &Path| blocks(tables).swap_remove(0);
    flip(&oldest(&tables), |length| length - 20);
    restart("damaged at byte");
    fs::remove_file(oldest(&tables)).expect("removed");
    restart("centroids-");

    // The whole folder belongs to another table.
    let foreign = Installation::new(&bootstrap(), "foreign", &settings("tables"));
    let mut worker = foreign.worker(&[]);
    foreign.feed(&rows[..300], 300);
    wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 90.0);
    assert_eq!(worker.terminate(), 0);
    fs::remove_dir_all(&tables).expect("removed");
    fs::rename(folder(&foreign, "tables"), &tables).expect("moved");
    restart("belongs to another configuration");
    // A single block belongs to another table.
    let block = oldest(&tables);
    let of_foreign = tables.with_extension("table-set-aside").join(name(block.clone()));
    let of_foreign =
        if of_foreign.exists() { of_foreign } else { oldest(of_foreign.parent().expect("a folder")) };
    fs::copy(of_foreign, &block).expect("copied");
    restart("centroids-");

    let mut worker = installation.worker(&[]);
    installation.feed(&rows[300..], 400);
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn unreadable_blocks_halt_a_partition_before_it_publishes() {
    // A look-up must find the damage, not the check in the background.
    let unchecked = settings("tables").replace("[table]\n", "[table]\ncheck_mib_per_second = 0\n");
    let installation = Installation::new(&bootstrap(), "unreadable", &unchecked);
    let rows = pages(0, 500);
    let mut worker = installation.worker(&[]);
    installation.feed(&rows[..300], 300);
    let tables = folder(&installation, "tables");
    wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 90.0);
    assert_eq!(worker.terminate(), 0);
    // Damages everything that a look-up reads, and nothing that is read when a table is opened.
    for path in blocks(&tables) {
        let mut bytes = fs::read(&path).expect("a block");
        bytes[..400].fill(0x55);
        fs::write(&path, bytes).expect("written");
    }
    let mut worker = installation.restored_worker("snapshot", &[]);
    let verdicts = installation.verdicts().len();
    installation.produce(&rows[300..]);
    worker.wait_for_log("log partition halted");
    let said = worker.plain_log();
    assert!(
        said.contains("damaged at byte") && said.contains("restores the table from the changelog"),
        "{said}"
    );
    assert_eq!(worker.metric("leitong_partition_halted"), 1.0);
    let published = installation.verdicts().len();
    assert!(published < rows.len(), "{published} of {}, {verdicts} before", rows.len());
    assert_eq!(worker.terminate(), 0);
    // An operator restarts it.
    let mut worker = installation.restored_worker("changelog", &[]);
    installation.wait_for_verdicts(rows.len());
    assert_eq!(worker.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_standby_keeps_its_own_blocks() {
    let installation = Installation::new(&bootstrap(), "blocks-standby", &settings("first"));
    installation.keep_standbys();
    let rows = pages(0, 900);
    let mut first = installation.worker(&["--role", "all"]);
    first.wait_until_ready();
    installation.configure(&settings("second"));
    installation.keep_standbys();
    let mut second = installation.worker(&["--role", "all"]);
    second.wait_until_ready();
    installation.feed(&rows[..500], 500);
    wait_until("the standby has followed", || second.metric("leitong_standby_centroids") == 150.0);
    wait_until("it has blocks of its own", || blocks(&folder(&installation, "second")).len() >= 4);
    first.kill();
    installation.feed(&rows[500..600], 600);
    assert!(second.plain_log().contains("from=standby"), "{}", second.plain_log());
    // A third instance uses the first one's folder, left when that was killed.
    installation.configure(&settings("first"));
    installation.keep_standbys();
    let mut third = installation.worker(&["--role", "all"]);
    third.wait_until_ready();
    installation.feed(&rows[600..800], 800);
    assert_eq!(second.terminate(), 0);
    installation.feed(&rows[800..], 900);
    let said = third.plain_log();
    assert!(said.contains("from=standby") && !said.contains("set aside"), "{said}");
    assert_eq!(third.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn a_check_finds_problems_of_the_folder() {
    let installation = Installation::new(&bootstrap(), "check-folder", &settings("leitong.toml/tables"));
    let checked = installation.leitong(&["run", "--check"]);
    assert_eq!(checked.status, 1, "{}", checked.stdout);
    assert!(checked.stdout.contains("since the tables are stored there"), "{}", checked.stdout);
    installation.configure(&settings("tables"));
    let checked = installation.leitong(&["run", "--check"]);
    assert_eq!(checked.status, 0, "{}", checked.stdout);
}

#[test]
fn random_kills_with_blocks_lose_and_duplicate_nothing() {
    let seed = from_environment("LEITONG_CHAOS_SEED", u64::from(std::process::id()));
    let kills = from_environment("LEITONG_CHAOS_KILLS", 12);
    println!("LEITONG_CHAOS_SEED={seed} LEITONG_CHAOS_KILLS={kills}");
    let mut dice = Rng(seed);
    let installation = Installation::new(&bootstrap(), "blocks-crash", &settings("tables"));
    let rows = pages(0, 6000);
    let crawler = write_slowly(&installation, &rows, 5);
    let mut worker = installation.worker(&[]);
    // The blocks that each restart begins with.
    wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 0.0);
    let mut taken_up = 0;
    for _ in 0..kills {
        worker.wait_until_ready();
        pause(dice.roll(3000));
        let said = worker.plain_log();
        assert!(!said.contains("set aside") && !said.contains("halted"), "{said}");
        taken_up += usize::from(said.contains("from=snapshot"));
        worker.kill();
        worker = installation.worker(&[]);
    }
    crawler.join().expect("all pages are written");
    installation.wait_for_verdicts(rows.len());
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    println!("{taken_up} of {kills} restarts began with blocks");
    assert!(taken_up > kills as usize / 2, "{taken_up} of {kills}");
    installation.assert_exactly_once(&rows);
}

//! `dedup --table DIR` with `table.on_disk`: old centroids in separate files.

use std::path::{Path, PathBuf};

use leitong::pipeline::FingerprintStage;
use leitong::{Config, Deduplicator, Page, Table};
use leitong_store::snapshot::TableDir;

use crate::common::wait::wait_until;
use crate::common::{self, Run, article, page, placeless, run, run_with_input};

/// The table on disk, in blocks that a test can fill.
const SETTINGS: &str = "[table]\non_disk = true\nblock_centroids = 32\n";

/// Allows every setting in a text.
fn every_setting(name: &str) -> Option<String> {
    (name == common::EVERY_SETTING.0).then(|| common::EVERY_SETTING.1.to_owned())
}

/// A folder with a configuration that keeps old centroids on disk, in blocks of 32.
struct Bench {
    folder: tempfile::TempDir,
    config: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = common::write(folder.path(), "on-disk.toml", SETTINGS);
        Self { folder, config }
    }

    fn table(&self) -> PathBuf {
        self.folder.path().join("table")
    }

    fn dedup(&self, input: &str, on_disk: bool) -> Run {
        let table = self.table();
        let mut arguments = vec!["dedup", "-", "--table", text(&table)];
        if on_disk {
            arguments.extend(["--config", text(&self.config)]);
        }
        run_with_input(arguments, input)
    }

    fn blocks(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.table()).expect("a folder");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "block"));
        paths.sort();
        paths
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn pages(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|i| page(&format!("p{i}"), &article(i * 7 % 211, 25))).collect()
}

#[test]
fn several_runs_on_disk_give_the_verdicts_of_one_in_memory() {
    let bench = Bench::new();
    let lines = pages(0..320);
    let whole = run_with_input(["dedup", "-"], lines.concat()).verdicts();
    let mut split = Vec::new();
    for part in lines.chunks(70) {
        let run = bench.dedup(&part.concat(), true);
        assert_eq!(run.status, 0, "{}", run.stderr);
        split.extend(run.verdicts());
    }
    assert_eq!(placeless(&split), placeless(&whole));
    assert!(bench.blocks().len() > 7, "{:?}", bench.blocks());

    // The same table in memory has the same contents.
    let memory = Bench::new();
    assert_eq!(memory.dedup(&lines.concat(), false).status, 0);
    let exported = |bench: &Bench| run(["table", "export", text(&bench.table())]).verdicts();
    assert_eq!(exported(&bench), exported(&memory));
    let info = |bench: &Bench| run(["table", "info", "--json", text(&bench.table())]).verdicts().remove(0);
    let (on_disk, in_memory) = (info(&bench), info(&memory));
    for field in ["centroids", "corpora", "oldest", "newest", "next_log_offset", "cluster_hash", "detector"] {
        assert_eq!(on_disk[field], in_memory[field], "{field}");
    }
    assert_eq!((&on_disk["on_disk"], &in_memory["on_disk"]), (&192.into(), &0.into()));
    let verified = run(["table", "info", "--verify", text(&bench.table())]);
    assert!(verified.status == 0 && verified.stdout.contains("all checksums match"), "{}", verified.stderr);

    // A table in memory can continue on disk, but not the reverse.
    let run = memory.dedup(&pages(300..330).concat(), true);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(run.verdicts().iter().filter(|verdict| verdict["kind"] == "UNIQUE").count(), 0);
    assert!(memory.blocks().len() > 6);
    let refused = memory.dedup("", false);
    assert!(refused.status == 1 && refused.stderr.contains("set table.on_disk = true"), "{}", refused.stderr);
}

/// A compacted table decides as before, with fewer runs and bytes. Compacting twice changes nothing.
#[test]
fn compact_merges_runs_and_drops_expired_centroids() {
    let bench = Bench::new();
    let lines = pages(0..330);
    let whole = run_with_input(["dedup", "-"], lines.concat()).verdicts();
    assert_eq!(bench.dedup(&lines[..250].concat(), true).status, 0);
    let compact = |config: &Path| run(["table", "compact", "--config", text(config), text(&bench.table())]);
    let runs = || bench.blocks().iter().filter(|path| text(path).contains("/keys-")).count();
    let before = runs();
    assert!(before > 1, "{:?}", bench.blocks());
    // The table's file says whether it is on disk.
    let plain = common::write(bench.folder.path(), "plain.toml", "");
    let compacted = compact(&plain);
    assert!(
        compacted.stdout.contains(&format!("0 expired ones removed; {before} run(s) of keys merged into 1")),
        "{}",
        compacted.stderr
    );
    assert_eq!(runs(), 1);
    let again = compact(&plain);
    assert!(again.stdout.contains("1 run(s) of keys merged into 1"), "{}", again.stdout);
    let rest = bench.dedup(&lines[250..].concat(), true);
    assert_eq!(placeless(&rest.verdicts()), placeless(&whole[250..]));
    assert_eq!(run(["table", "info", "--verify", text(&bench.table())]).status, 0);

    // Settings that the table was not made with are refused, without a table being named.
    let other = common::write(bench.folder.path(), "other.toml", "[expiry]\ncentroids_max = 40\n");
    let refused = compact(&other);
    assert!(refused.status == 1 && refused.stderr.contains("made with other settings"), "{}", refused.stderr);
    let nowhere = run(["table", "compact", text(&bench.folder.path().join("nowhere"))]);
    assert!(nowhere.status == 1 && nowhere.stderr.contains("has no table"), "{}", nowhere.stderr);
}

#[test]
fn damage_is_reported_and_causes_no_verdicts() {
    let bench = Bench::new();
    assert_eq!(bench.dedup(&pages(0..200).concat(), true).status, 0);
    for path in bench.blocks() {
        let good = std::fs::read(&path).expect("a block");
        let mut bad = good.clone();
        // The first part of a file, which every look-up of these pages reads.
        bad[20] ^= 1;
        std::fs::write(&path, bad).expect("written");
        let name = path.file_name().expect("a name").to_str().expect("UTF-8");
        let verified = run(["table", "info", "--verify", text(&bench.table())]);
        assert_eq!(verified.status, 1);
        assert!(
            verified.stderr.contains(name) && verified.stderr.contains("at byte 0"),
            "{}",
            verified.stderr
        );
        let run = bench.dedup(&pages(0..200).concat(), true);
        assert!(run.status == 1 && run.stderr.contains("damaged at byte 0"), "{name}: {}", run.stderr);
        assert_eq!(run.stdout, "");
        std::fs::write(&path, good).expect("written");
    }
    let again = bench.dedup(&pages(0..200).concat(), true);
    assert!(again.verdicts().iter().all(|verdict| verdict["kind"] != "UNIQUE"), "{}", again.stderr);
}

#[test]
fn commands_without_support_for_tables_on_disk_say_so() {
    let bench = Bench::new();
    let config = text(&bench.config);
    let without = run(["dedup", "--config", config, "examples/pages.jsonl"]);
    assert!(without.status == 2 && without.stderr.contains("needs --table DIR"), "{}", without.stderr);
    let kafka = "[kafka]\nbootstrap_servers = \"localhost:1\"\n[table]\non_disk = true\n";
    let kafka = common::write(bench.folder.path(), "kafka.toml", kafka);
    let worker = run(["run", "--config", text(&kafka)]);
    assert!(worker.status == 2 && worker.stderr.contains("needs kafka.snapshots.dir"), "{}", worker.stderr);
    let checked = run(["config", "check", text(&kafka)]);
    assert!(
        checked.status == 2 && checked.stderr.contains("needs kafka.snapshots.dir"),
        "{}",
        checked.stderr
    );
    let odd = common::write(bench.folder.path(), "odd.toml", "[table]\nblock_centroids = 100\n");
    let odd = run(["dedup", "--config", text(&odd), "examples/pages.jsonl"]);
    assert!(odd.status == 2 && odd.stderr.contains("power of two"), "{}", odd.stderr);
}

/// A program that embeds Leitong gets the same verdicts. A folder has one deduplicator, which holds it for
/// its lifetime.
#[test]
fn an_embedded_table_on_disk_gives_the_verdicts_of_one_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = Config::parse(SETTINGS, Path::new("text"), every_setting).expect("settings");
    let error = Deduplicator::new(&config).err().expect("it has no folder");
    assert!(error.to_string().contains("needs a folder"), "{error}");
    let mut memory = Deduplicator::new(&Config::default()).expect("the defaults");
    let page = |round: usize, number: usize| {
        Page::text(format!("https://a.example/{round}/{number}"), article(number * 7 % 211, 25))
    };
    for round in 0..4 {
        let table = Table::open(folder.path()).expect("a table");
        let mut on_disk = table.deduplicator(&config).expect("opens");
        assert!(table.deduplicator(&config).is_err(), "a folder has one");
        for number in round * 40..round * 40 + 80 {
            let found = on_disk.decide(page(round, number)).expect("decided");
            let expected = memory.decide(page(round, number)).expect("in memory");
            assert_eq!(
                (found.kind, found.canonical_url),
                (expected.kind, expected.canonical_url),
                "{number}"
            );
        }
        assert_eq!(on_disk.centroid_count(), memory.centroid_count());
        table.save(&on_disk).expect("saved");
        let error = table.load(&mut on_disk).expect_err("it has its table");
        assert!(error.to_string().contains("load and save it only there"), "{error}");
        drop(table);
        assert!(Table::open(folder.path()).is_err(), "its deduplicator still holds the folder");
    }
    let blocks = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    assert!(blocks.filter(|file| file.file_name().to_string_lossy().starts_with("centroids-0")).count() > 2);
}

/// Undamaged blocks are not deleted, although the damaged file no longer names them.
#[test]
fn a_damaged_head_deletes_no_file() {
    let bench = Bench::new();
    assert_eq!(bench.dedup(&pages(0..150).concat(), true).status, 0);
    let config = Config::parse(SETTINGS, &bench.config, every_setting).expect("settings");
    let stage = FingerprintStage::new(config.clone()).expect("settings");
    let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
    let head = bench.table().join("centroids.leitong");
    let good = std::fs::read(&head).expect("a table");
    let files = || -> Vec<(PathBuf, u64)> {
        let entries =
            std::fs::read_dir(bench.table()).expect("a folder").map(|entry| entry.expect("an entry"));
        let mut files: Vec<_> =
            entries.map(|entry| (entry.path(), entry.metadata().expect("a file").len())).collect();
        files.sort();
        files
    };
    let before = files();
    // All bits of the head, and some of the following ones.
    let bits = (0..400 * 8).chain((400 * 8..good.len() * 8).step_by(61));
    for bit in bits.filter(|bit| *bit < good.len() * 8) {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&head, &bad).expect("written");
        let mut opened = None;
        // A process that another test starts has a copy of the last lock until it executes its own program.
        wait_until("the last lock is gone", || {
            opened = TableDir::open(&bench.table()).ok();
            opened.is_some()
        });
        let dir = opened.expect("it is open");
        assert!(dir.load(&settings).is_err(), "bit {bit}");
        assert!(files() == before, "bit {bit}");
    }
    std::fs::write(&head, &good).expect("written");
    assert_eq!(run(["table", "info", "--verify", text(&bench.table())]).status, 0);
    let again = bench.dedup(&pages(0..150).concat(), true).verdicts();
    assert!(again.iter().all(|verdict| verdict["kind"] == "EXACT_DUPLICATE"));
}

//! Tests of snapshots that are continued, cut off, damaged, or made by another table.

use std::fs;

use super::*;
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::Identity;
use leitong_cluster::log::TopicIds;

const AS_OF_MS: i64 = 1_000_000_000_000;

fn identity() -> Identity {
    Identity {
        log_partition: 3,
        log_partition_count: 4,
        fingerprint_hash: 5,
        cluster_hash: 6,
        corpus_hash: 7,
        app_hash: 0,
        topic_ids: TopicIds::default(),
    }
}

fn footer() -> proto::Snapshot {
    let position = proto::Position {
        log_partition: 3,
        log_partition_count: 4,
        cluster_hash: 6,
        next_log_offset: 99,
        centroid_count: 18,
        founded: Some(20),
        table_id: Some(8),
        ..proto::Position::default()
    };
    proto::Snapshot {
        changelog_topic: "centroids".into(),
        changelog_offset: 40,
        as_of_ms: AS_OF_MS,
        oldest_log_offset: 4,
        position: Some(position),
        ..proto::Snapshot::default()
    }
}

/// Writes twenty centroids, two of which have expired.
fn write(place: &SnapshotPlace) {
    let mut writer = place.create().expect("a file");
    for i in 0..20 {
        writer.add(i * 2, format!("centroid {i}").repeat(i as usize).as_bytes()).expect("written");
    }
    writer.finish(footer()).expect("in place");
}

type Contents = (Vec<(u64, Vec<u8>)>, proto::Position, u64, i64);

fn read(place: &SnapshotPlace) -> Result<Contents, Unusable> {
    let snapshot = place.open()?.expect("a file");
    let (offset, age) = (snapshot.changelog_offset(), snapshot.age_ms(at(0)));
    let mut centroids = Vec::new();
    let position = snapshot.read(|log_offset, value| {
        centroids.push((log_offset, value.to_vec()));
        Ok(true)
    })?;
    Ok((centroids, position.expect("read to its end"), offset, age))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_ms(AS_OF_MS + seconds * 1000).expect("a time")
}

#[test]
fn a_snapshot_has_the_unexpired_centroids_and_their_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = SnapshotPlace::new(folder.path(), "lei/tong", 3);
    assert!(place.open().expect("no file, no error").is_none());
    write(&place);
    assert!(place.path().ends_with("lei_tong-3.snapshot"));
    let (centroids, position, offset, age) = read(&place).expect("sound");
    assert_eq!((centroids.len(), centroids[0].0, offset, age), (18, 4, 40, 0));
    assert_eq!(centroids[1], (6, b"centroid 3centroid 3centroid 3".to_vec()));
    assert_eq!(Some(position), footer().position);
    let aside = place.set_aside().expect("renamed");
    assert!(aside.exists() && place.open().expect("no error").is_none());
}

#[test]
fn any_flipped_byte_and_any_cut_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = SnapshotPlace::new(folder.path(), "app", 0);
    write(&place);
    let whole = fs::read(place.path()).expect("a file");
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut flipped = whole.clone();
            flipped[at] ^= flip;
            fs::write(place.path(), &flipped).expect("written");
            assert!(read(&place).is_err(), "byte {at} of {} xor {flip:#x}", whole.len());
        }
        fs::write(place.path(), &whole[..at]).expect("written");
        assert!(read(&place).is_err(), "cut at byte {at} of {}", whole.len());
    }
    // An unfinished file of a process that died is ignored.
    fs::write(place.path(), &whole).expect("written");
    fs::write(folder.path().join("app-0.new"), &whole[..whole.len() / 2]).expect("written");
    assert!(read(&place).is_ok());
    write(&place);
    assert_eq!(fs::read(place.path()).expect("a file"), whole);
}

#[test]
fn an_unfinished_snapshot_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = SnapshotPlace::new(folder.path(), "app", 0);
    write(&place);
    let mut writer = place.create().expect("a file");
    writer.add(1, &[7; 1 << 20]).expect("written");
    assert!(folder.path().join("app-0.new").exists());
    drop(writer);
    assert!(!folder.path().join("app-0.new").exists());
    assert!(read(&place).is_ok(), "the last one is still there");
}

#[test]
fn only_one_process_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = SnapshotPlace::new(&folder.path().join("new"), "app", 0);
    let lock = place.lock().expect("a lock");
    assert!(lock.is_some() && place.lock().expect("no error").is_none());
    drop(lock);
    assert!(place.lock().expect("no error").is_some());
}

#[test]
fn a_snapshot_of_another_table_or_changelog_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = SnapshotPlace::new(folder.path(), "app", 0);
    write(&place);
    let check = |topic, identity: &Identity, bounds, table_id| {
        let wanted = ExpectedTable { topic, identity, table_id: Some(table_id), bounds };
        place.open().expect("sound").expect("a file").check(&wanted).map_err(|why| why.to_string())
    };
    let ours = identity();
    assert_eq!(check("centroids", &ours, (0, 41), 8), Ok(()));
    assert_eq!(check("centroids", &ours, (40, 40), 8), Ok(()));
    for (topic, identity, bounds, table_id, why) in [
        ("other", ours, (0, 41), 8, "its changelog is centroids"),
        ("centroids", Identity { log_partition: 2, ..ours }, (0, 41), 8, "its log partition is 3"),
        (
            "centroids",
            Identity { log_partition_count: 5, ..ours },
            (0, 41),
            8,
            "its number of log partitions is 4",
        ),
        (
            "centroids",
            Identity { cluster_hash: 7, ..ours },
            (0, 41),
            8,
            "its cluster_hash is 0000000000000006",
        ),
        ("centroids", ours, (0, 41), 9, "its table is 0000000000000008, but that of this instance is"),
        ("centroids", ours, (0, 39), 8, "at offset 40 of the changelog, which begins at 0 and ends at 39"),
        ("centroids", ours, (41, 50), 8, "begins at 41"),
    ] {
        let refused = check(topic, &identity, bounds, table_id).expect_err(why);
        assert!(refused.contains(why), "{why:?} in {refused:?}");
    }
}

//! Writes the seeds of the fuzz targets with binary inputs, with the program's own encoders. Run from the
//! project's folder after a change of a format: `cargo run -p leitong-fuzz --example make_seeds`.

#[path = "fuzz_targets/common.rs"]
mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::IDENTITY;
use leitong::config::Config;
use leitong_base::proto;
use leitong_base::record::{
    Carried, Cause, FingerprintRecord, LogRecord, Metadata, Outcome, Place, PublicationTime, Reason,
    Received, TextDigest, Timestamp, Unreadable,
};
use leitong_cluster::changelog::ChangelogRecord;
use leitong_cluster::log::{Entry, MessageOrigin, Watermark, Watermarks};
use leitong_cluster::{
    Canonical, Centroid, ClusterRules, Clusterer, NewCanonical, NewCentroid, Position, Rank,
};
use leitong_fingerprint::Detector;
use leitong_store::snapshot::{SnapshotPlace, TableDir, TableSettings};
use prost::Message;

fn main() {
    let detector = common::detector();
    // Bytes of the correct length.
    let fingerprint: Box<[u8]> = (1..1000_u16)
        .map(|length| (0..length).map(|byte| byte as u8).collect::<Vec<u8>>())
        .find(|bytes| detector.is_fingerprint(bytes))
        .expect("some length is right")
        .into();
    entries(&*detector, &fingerprint);
    tables(&detector, &fingerprint);
    messages();
    mappings();
    responses();
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new("fuzz/seeds").join(target);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), bytes).expect("written");
}

fn entries(detector: &dyn Detector, fingerprint: &[u8]) {
    let source = || Place::Message { topic: "pages".into(), partition: 3, offset: 7, epoch: 2 };
    let page = |outcome| {
        LogRecord::Page(Box::new(FingerprintRecord {
            source: source(),
            fetched_at: Timestamp::from_ms(5),
            log_time: Timestamp::from_ms(6),
            passthrough: Some("{\"a\":1}".into()),
            carried: Carried::new(
                Some(b"key".to_vec()),
                vec![("traceparent".into(), Some(b"00-1".to_vec()))],
            ),
            metadata: Some(Box::new(Metadata {
                publisher: Some("新华社".into()),
                authors: vec!["Jane Doe".into()],
                published_at: PublicationTime::from_iso_8601("2026-11-21T08:00+08:00"),
                ..Metadata::default()
            })),
            text: Some(TextDigest { digest: 1 << 100, chars: 9 }),
            outcome,
            ..FingerprintRecord::numbered(7, None)
        }))
    };
    let unreadable = LogRecord::Unreadable(Box::new(Unreadable {
        source: source(),
        cause: Cause::BrokenJson,
        message: "no".into(),
        raw: Some(vec![0xff, 0]),
        raw_bytes: 2,
        received: Some(Box::new(Received {
            key: Some(vec![1]),
            headers: vec![("a".into(), None), ("a".into(), Some(vec![]))],
            ..Received::default()
        })),
    }));
    let origin = MessageOrigin { previous_offset: Some(6), timestamp_ms: Some(12), topic_id: None };
    write(
        "entry",
        "page",
        &Entry::encode(page(Outcome::Fingerprint(fingerprint.into())), origin, detector.name()),
    );
    write(
        "entry",
        "undecidable",
        &Entry::encode(page(Outcome::Undecidable(Reason::TooShort)), origin, detector.name()),
    );
    write("entry", "unreadable", &Entry::encode(unreadable, origin, detector.name()));
}

/// Writes the same three centroids as a changelog, as a saved table and as a local snapshot.
fn tables(detector: &Arc<dyn Detector>, fingerprint: &[u8]) {
    let position = Position {
        log_generation: 9,
        log_partition: 3,
        next_log_offset: 40,
        log_time: Timestamp::from_ms(8),
    };
    let mut watermarks = Watermarks::default();
    let watermark =
        Watermark { epoch: 1, offset: 12, newest_timestamp_ms: Some(8), gap_accepted: false, topic_id: None };
    watermarks.restore("pages", 0, watermark);
    let mut clusterer = Clusterer::new(Arc::clone(detector), ClusterRules::default(), position);
    let mut changelog = Vec::new();
    let mut add = |key: &[u8], value: Option<&[u8]>| {
        let key = if key == b"position" { (255, &[][..]) } else { (key.len() as u8, key) };
        let length = value.map_or(0xffff, |value| value.len() as u16);
        changelog.extend_from_slice(&[key.0]);
        changelog.extend_from_slice(&length.to_be_bytes());
        changelog.extend_from_slice(key.1);
        changelog.extend_from_slice(value.unwrap_or_default());
    };
    let table = proto::Position { log_generation: 9, log_partition: 3, ..proto::Position::default() };
    let mut values = Vec::new();
    for (number, log_offset) in [(0, 10), (1, 20), (2, 30)] {
        let centroid = Centroid {
            log_offset,
            log_time: Timestamp::from_ms(7),
            fingerprint: fingerprint.iter().map(|byte| byte ^ log_offset as u8).collect(),
            text_digest: u128::from(log_offset),
            page_id: format!("page-{log_offset}").into(),
            url: format!("http://a/{log_offset}").into(),
        };
        clusterer.restore("default", 5, &centroid).expect("in memory");
        let rank = Some(Rank::from_bytes([number as u8 + 1; 16]));
        let new = NewCentroid { number, corpus: "default".into(), fingerprint_hash: 5, centroid, rank };
        let record = new.to_record(&table, &**detector);
        add(&record.key, Some(&record.value));
        values.push((log_offset, record.value));
    }
    let page = Some(("page-40".into(), "http://b/40".into()));
    let canonical = Canonical { rank: Rank::from_bytes([9; 16]), page };
    let record = NewCanonical { number: 1, log_offset: 20, canonical }.into_record(&table);
    add(&record.key, Some(&record.value));
    let first = IDENTITY.position(&clusterer, 0, Some(8), &watermarks).expect("in memory");
    add(b"position", Some(&ChangelogRecord::from_position(&first).value));
    let second = proto::Position { centroid_count: 2, dead_below: 1, oldest_log_offset: Some(20), ..first };
    add(b"position", Some(&ChangelogRecord::from_position(&second).value));
    write("changelog", "three", &changelog);

    let folder = tempfile::tempdir().expect("a folder");
    let settings = TableSettings {
        detector: Arc::clone(detector),
        rules: Config::default().cluster_rules(),
        fingerprint_hash: 5,
        cluster_hash: 6,
        corpus_hash: 7,
        on_disk: None,
    };
    let dir = TableDir::open(folder.path()).expect("a folder");
    dir.save_with_watermarks(&clusterer, &watermarks, &settings).expect("saved");
    let without_sum = |path: &Path, choice: u8| {
        let bytes = fs::read(path).expect("there");
        [&[choice], &bytes[..bytes.len() - 8]].concat()
    };
    write("snapshot", "table", &without_sum(&folder.path().join("centroids.leitong"), 0));
    let place = SnapshotPlace::new(folder.path(), "fuzz", 3);
    let mut writer = place.create().expect("a file");
    for (log_offset, value) in &values {
        writer.add(*log_offset, value).expect("written");
    }
    let footer = proto::Snapshot {
        changelog_topic: "centroids".into(),
        changelog_offset: 40,
        as_of_ms: 1_000_000,
        oldest_log_offset: 20,
        position: Some(second),
        ..proto::Snapshot::default()
    };
    writer.finish(footer).expect("in place");
    write("snapshot", "changelog", &without_sum(&place.path(), 1));
}

fn messages() {
    let page = proto::Page {
        id: Some("a1".into()),
        url: "http://a/".into(),
        body: Some(proto::page::Body::HtmlBytes(b"<p>\xc4\xe3".to_vec().into())),
        title: Some("title".into()),
        charset: Some("gbk".into()),
        content_type: Some("text/html; charset=gbk".into()),
        status: Some(200),
        fetched_at_ms: Some(1_763_712_000_123),
        passthrough_json: Some("{\"a\": [1, \"\\ud83d\"]}".into()),
        withdrawn: false,
    };
    let message = |choice: u8, header: &[u8], key: &[u8], value: &[u8]| {
        [&[choice, header.len() as u8, key.len() as u8][..], header, key, value].concat()
    };
    write("message", "protobuf", &message(1, b"", b"", &page.encode_to_vec()));
    write(
        "message",
        "protobuf-by-header",
        &message(128, b"application/x-protobuf", b"", &page.encode_to_vec()),
    );
    let json = br#"{"id":"a","url":"http://a/","text":"text","passthrough":{"a":1}}"#;
    write("message", "json", &message(0, b"", b"", json));
    write("message", "json-with-key", &message(64, b"", b"http://key/", json));
    write("message", "html", &message(2 | 128, b"text/html; charset=gbk", b"http://key/", b"<p>\xc4\xe3"));
}

/// Writes the first sample message of each preset in the tests.
fn mappings() {
    use base64::Engine;
    for (at, preset) in leitong_text::page::mapping::Preset::all().iter().enumerate() {
        let samples =
            fs::read_to_string(format!("tests/data/presets/{}.jsonl", preset.name)).expect("samples");
        let line = samples.lines().next().expect("a sample");
        let sample: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let decoded = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).expect("Base64");
        let value = match (sample["value_b64"].as_str(), sample.get("json")) {
            (Some(base64), _) => decoded(base64),
            (None, Some(json)) => json.to_string().into_bytes(),
            (None, None) => line.as_bytes().to_vec(),
        };
        let key = sample["key"].as_str().unwrap_or_default().as_bytes();
        let head = [2 * at as u8, key.len() as u8];
        write("mapping", preset.name, &[&head[..], key, &value].concat());
    }
}

/// Writes the same body in each coding.
fn responses() {
    use std::io::Write as _;
    let body = b"<p>hello hello hello";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(body).expect("memory");
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(body).expect("memory");
    let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    bare.write_all(body).expect("memory");
    // A brotli stream of one stored block: window, length, the bytes, and the last, empty block.
    let mut brotli = vec![0x0b, ((body.len() - 1) << 3) as u8, 0x80];
    brotli.extend_from_slice(body);
    brotli.push(3);
    let zstd = zstd::encode_all(&body[..], 3).expect("memory");
    let with = |choice: u8, bytes: &[u8]| [&[choice], bytes].concat();
    write("http", "plain", &with(1, body));
    write(
        "http",
        "head",
        &with(0, b"HTTP/1.0 404 No\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\nno"),
    );
    write("http", "gzip", &with(2, &gzip.finish().expect("memory")));
    write("http", "deflate", &with(3, &zlib.finish().expect("memory")));
    write("http", "bare-deflate", &with(3, &bare.finish().expect("memory")));
    write("http", "brotli", &with(4, &brotli));
    write("http", "zstd", &with(5, &zstd));
    write("http", "chunked", &with(6, b"3\r\n<p>\r\n5;x=y\r\nhello\r\n0\r\n\r\n"));
    write("http", "chunked-gzip", &with(7, b"3\r\n\x1f\x8b\x08\r\n0\r\n\r\n"));
}

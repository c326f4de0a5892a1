//! Whatever is in the page topic: good pages get verdicts, everything else gets its proper outcome, and
//! nothing stops.

use leitong_base::proto;
use prost::Message;
use serde_json::json;

use crate::admin::Admin;
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::article;

const JSON: Option<&str> = None;

fn row(content_type: Option<&str>, key: Option<&str>, value: &[u8]) -> Row {
    let mut headers = vec![("trace".to_owned(), Some(b"1".to_vec()))];
    headers.extend(content_type.map(|value| ("content-type".to_owned(), Some(value.as_bytes().to_vec()))));
    Row {
        key: key.map(|key| key.as_bytes().to_vec()),
        value: Some(value.to_vec()),
        headers,
        ..Row::default()
    }
}

fn page(id: &str, more: &serde_json::Value) -> Row {
    let mut page = json!({"id": id, "url": format!("http://a/{id}")});
    page.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    row(JSON, Some(id), page.to_string().as_bytes())
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Returns meaningless bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..length).map(step).collect()
}

/// A readable message with the id of its page, and kind and reason of the expected verdict.
type Readable = (&'static str, Row, &'static str, Option<&'static str>);

fn readable_messages() -> Vec<Readable> {
    let text = article(1, 30);
    let (gbk, _, _) = encoding_rs::GBK.encode(&text);
    let protobuf = proto::Page {
        url: "http://a/protobuf".into(),
        id: Some("protobuf".into()),
        body: Some(proto::page::Body::Text(text.clone())),
        ..proto::Page::default()
    };
    vec![
        ("text", page("text", &json!({"text": text})), "UNIQUE", None),
        (
            "protobuf",
            row(Some("application/protobuf"), None, &protobuf.encode_to_vec()),
            "EXACT_DUPLICATE",
            None,
        ),
        ("html", row(Some("text/html; charset=gbk"), Some("http://a/html"), &gbk), "EXACT_DUPLICATE", None),
        ("bytes", page("bytes", &json!({"html_b64": base64(&gbk)})), "EXACT_DUPLICATE", None),
        (
            "charset",
            page("charset", &json!({"html_b64": base64(&gbk), "charset": "utf-8"})),
            "EXACT_DUPLICATE",
            None,
        ),
        ("large", page("large", &json!({"text": "大".repeat(40_000)})), "UNDECIDABLE", Some("TOO_LARGE")),
        ("noise", page("noise", &json!({"html_b64": base64(&noise(5000))})), "UNDECIDABLE", Some("NOT_TEXT")),
        ("pdf", page("pdf", &json!({"html": "%PDF-1.7 \u{1}"})), "UNDECIDABLE", Some("NOT_HTML")),
        ("gone", page("gone", &json!({"text": text, "status": 404})), "UNDECIDABLE", Some("HTTP_STATUS")),
        ("empty", page("empty", &json!({})), "UNDECIDABLE", Some("EMPTY")),
    ]
}

/// Returns a message whose value is too long for a dead letter.
fn long_quote() -> Row {
    page("quote", &json!({"status": "9".repeat(500_000)}))
}

/// Returns messages that cannot be read as pages, with the expected cause.
fn unreadable_messages() -> Vec<(Row, &'static str)> {
    let huge_header =
        Row { headers: vec![("huge".into(), Some(vec![b'x'; 300_000]))], ..row(JSON, None, b"{") };
    vec![
        (row(JSON, Some("k"), &noise(1000)), "BROKEN_JSON"),
        (Row { value: None, ..row(JSON, Some("null"), b"") }, "NULL_VALUE"),
        (row(JSON, None, b""), "BROKEN_JSON"),
        (row(JSON, None, b"null"), "NULL_VALUE"),
        (row(JSON, None, br#"{"text": "a page without a url"}"#), "MISSING_URL"),
        (row(JSON, None, json!({"url": "u".repeat(9000)}).to_string().as_bytes()), "URL_TOO_LONG"),
        (row(JSON, None, br#"{"url": 7}"#), "WRONG_TYPE"),
        (row(JSON, None, br#"{"url": "u", "html_b64": "*"}"#), "BAD_BASE64"),
        (row(JSON, None, "[".repeat(100_000).as_bytes()), "WRONG_TYPE"),
        (row(Some("application/protobuf"), None, &noise(100)), "BROKEN_PROTOBUF"),
        (row(Some("text/html"), None, b"<p>no key"), "MISSING_URL"),
        (long_quote(), "WRONG_TYPE"),
        (huge_header, "BROKEN_JSON"),
    ]
}

/// Checks the dead letter of the message `sent`, which came from the topic `pages`.
fn assert_dead_letter(letter: &Row, sent: &Row, cause: &str, pages: &str) {
    assert_eq!(letter.header("__connect.errors.exception.class.name"), cause);
    assert_eq!(letter.header("__connect.errors.topic"), pages);
    assert!(letter.header("__connect.errors.exception.message").len() < 2000);
    if *sent == long_quote() {
        let place = letter.header("leitong.value.left.out");
        let offset = letter.header("__connect.errors.offset");
        assert!(place.ends_with(&format!("{pages}[0]@{offset}")), "{place}");
        assert_eq!(letter.value, None);
        return;
    }
    assert_eq!(letter.value, sent.value, "{cause}");
    let is_huge = sent.headers[0].0 == "huge";
    assert_eq!(letter.headers[0] == sent.headers[0], !is_huge, "{cause}");
    assert_eq!(letter.key, sent.key);
    assert_eq!(
        letter.header("leitong.headers.left.out").starts_with("key and headers, 300"),
        is_huge,
        "{cause}"
    );
}

#[test]
fn poison_stops_nothing() {
    let more = "[page]\nbytes_max = 100000\n[kafka.dead_letters]\nvalue_bytes_max = 200000\n\
                [kafka.create]\npage_partitions = 1";
    let installation = Installation::new(&crate::broker::bootstrap(), "poison", more);
    let (good, bad) = (readable_messages(), unreadable_messages());
    let mut rows = Vec::new();
    let (mut good_rows, mut bad_rows) = (good.iter(), bad.iter());
    loop {
        let (g, b) = (good_rows.next(), bad_rows.next());
        if g.is_none() && b.is_none() {
            break;
        }
        rows.extend(b.map(|(row, _)| row.clone()));
        rows.extend(g.map(|(_, row, ..)| row.clone()));
    }
    let worker = installation.worker(&[]);
    installation.produce(&rows);
    let verdicts = installation.wait_for_verdicts(rows.len());
    installation.assert_exactly_once(&rows);

    for (id, _, kind, reason) in &good {
        let found = verdicts.iter().find(|v| v["page_id"] == *id || v["url"] == format!("http://a/{id}"));
        let verdict = found.unwrap_or_else(|| panic!("{id}: no verdict"));
        assert_eq!((&verdict["kind"], &verdict["reason"]), (&json!(kind), &json!(reason)), "{id}");
    }
    let letters = installation.dead_letters();
    assert_eq!(letters.len(), bad.len());
    for ((sent, cause), letter) in bad.iter().zip(&letters) {
        assert_dead_letter(letter, sent, cause, &installation.topic("pages"));
    }

    // The counts are consistent.
    let metric = |name: &str| worker.metric(name) as usize;
    assert_eq!(metric("leitong_pages_read_total"), rows.len());
    assert_eq!(metric("leitong_log_records_taken_total"), rows.len());
    assert_eq!(metric("leitong_verdicts_total"), good.len());
    assert_eq!(metric("leitong_undecidable_total"), 5);
    assert_eq!(metric("leitong_dead_letters_total"), bad.len());
}

#[test]
fn a_dead_letter_that_the_broker_refuses_is_sent_without_its_value() {
    let installation =
        Installation::new(&crate::broker::bootstrap(), "refused", "[kafka.create]\npage_partitions = 1");
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    Admin::new(&installation).set_topic(&installation.topic("dead"), &[("max.message.bytes", "5000")]);
    let broken = row(JSON, Some("key"), &noise(20_000));
    let rows =
        [broken.clone(), row(JSON, None, b"{"), page("good", &json!({"text": article(1, 30)})), broken];
    installation.produce(&rows);
    installation.wait_for_verdicts(4);
    installation.assert_exactly_once(&rows);
    let letters = installation.dead_letters();
    let place =
        |offset: u32| format!("20000 bytes; the value is at {}[0]@{offset}", installation.topic("pages"));
    assert_eq!((letters[0].value.as_ref(), letters[0].header("leitong.value.left.out")), (None, place(0)));
    assert_eq!((letters[2].value.as_ref(), letters[2].header("leitong.value.left.out")), (None, place(3)));
    assert_eq!(letters[0].key.as_deref(), Some(&b"key"[..]));
    assert!(worker.metric("leitong_dead_letter_values_left_out_total") >= 2.0);
    assert_eq!(worker.terminate(), 0);
}

//! Lists of objects from gateways that violate the protocol, served by a simulated store.

use crate::common::{Run, article, leitong, page};
use crate::stores::server::{self, Answer};

/// Starts a store. `list` returns the part of its list for a token (`""` for the first part); all objects are the same
/// page.
fn store(list: fn(&str) -> String) -> String {
    server::start(move |request| {
        let parameter = |name: &str| request.query.get(name).map(String::as_str);
        let body = match (parameter("continuation-token"), parameter("list-type")) {
            (Some(token), _) => list(token),
            (None, Some("2")) => list(""),
            _ if request.path.contains(".jsonl") => page("a", &article(1, 20)),
            _ => return Answer::new(404, ""),
        };
        let answer = request.range_of(body.as_bytes()).with("ETag", "\"1\"");
        answer.with("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT")
    })
}

fn objects(keys: &[&str], end: &str) -> String {
    let size = page("a", &article(1, 20)).len();
    let object = |key: &&str| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-03-01T10:00:00Z</LastModified><ETag>\"1\"</ETag><Size>{size}\
             </Size></Contents>"
        )
    };
    let objects: String = keys.iter().map(object).collect();
    format!("<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name>{objects}{end}</ListBucketResult>")
}

fn more(token: &str) -> String {
    format!("<IsTruncated>true</IsTruncated>{token}")
}

fn dedup(list: fn(&str) -> String) -> Run {
    let mut command = leitong();
    command.args(["dedup", "s3://bucket/"]).env("AWS_ENDPOINT_URL", store(list)).env("NO_PROXY", "127.0.0.1");
    command.env("AWS_ALLOW_HTTP", "true").env("AWS_SKIP_SIGNATURE", "true").env("AWS_REGION", "eu-west-1");
    Run::from_output(command.output().expect("the program starts"))
}

/// An incomplete list must not be taken for a complete one, and a list that returns to its beginning must end.
#[test]
fn an_incomplete_list_ends_the_run() {
    for (list, told) in [
        (
            (|_| objects(&["a.jsonl"], &more(""))) as fn(&str) -> String,
            "IsTruncated without NextContinuationToken",
        ),
        (
            |_| objects(&["a.jsonl"], &more("<NextContinuationToken></NextContinuationToken>")),
            "IsTruncated without NextContinuationToken",
        ),
        (
            |token| match token {
                "1" => objects(&["b.jsonl"], &more("<NextContinuationToken>2</NextContinuationToken>")),
                _ => objects(&["a.jsonl"], &more("<NextContinuationToken>1</NextContinuationToken>")),
            },
            "NextContinuationToken is repeated",
        ),
    ] {
        let run = dedup(list);
        assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains("s3://bucket/") && run.stderr.contains(told), "{}", run.stderr);
        assert!(!run.stderr.contains("AWS_ENDPOINT_URL"), "{}", run.stderr);
    }
}

/// Returns the first part of a list, or `second` when the second part is asked for.
fn first_and(token: &str, second: &str) -> String {
    match token {
        "1" => second.to_owned(),
        _ => objects(&["a.jsonl"], &more("<NextContinuationToken>1</NextContinuationToken>")),
    }
}

/// If a store answers the request for the second part of a list with a log-in page and status 200, the list must not
/// seem to end there. An answer that never ends must not fill the memory.
#[test]
fn an_answer_that_is_no_list_ends_the_run() {
    for (list, told) in [
        (
            (|token| first_and(token, "<html><body>Log in</body></html>")) as fn(&str) -> String,
            "not a complete list of objects; it begins with \"<html>",
        ),
        (
            |token| first_and(token, "<?xml version='1.0'?><Error><Code>SlowDown</Code></Error>"),
            "<Code>SlowDown",
        ),
        (|token| first_and(token, "<ListBucketResult/>"), "not a complete list of objects"),
        (
            |token| {
                first_and(token, &objects(&["c"], "<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"))
            },
            "lists common prefixes",
        ),
        (|token| first_and(token, &"<".repeat(33 << 20)), "longer than a list"),
    ] {
        let run = dedup(list);
        assert_eq!((run.status, run.stdout.as_str()), (1, ""), "{}", run.stderr);
        assert!(run.stderr.contains("s3://bucket") && run.stderr.contains(told), "{}", run.stderr);
    }
}

/// A single key that cannot be requested must not prevent the other objects from being read. An object with content
/// whose key ends in a slash, or with another unusual name, is not skipped without a message.
#[test]
fn an_object_with_an_impossible_key_costs_only_itself() {
    let run = dedup(|token| match token {
        "1" => objects(&["d/../e.jsonl", "f.jsonl", "g//"], "<IsTruncated>false</IsTruncated>"),
        _ => {
            let keys = ["a.jsonl", "b//c.jsonl", "d/&#x1;.jsonl", "d//picture.png"];
            objects(&keys, &more("<NextContinuationToken>1</NextContinuationToken>"))
        }
    });
    assert_eq!((run.status, run.verdicts().len()), (3, 2), "{}", run.stderr);
    for told in [
        "\"b//c.jsonl\"",
        "\"d/../e.jsonl\"",
        "\"g//\"",
        "4 objects are not read",
        "1 files in folders are skipped",
    ] {
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
}

//! Traces of pages over a real broker, as seen by a collector that decodes OTLP with OpenTelemetry's own
//! package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::broker::server::Server;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;

/// A collector. It is ended when dropped.
struct Collector {
    _server: Server,
    said: PathBuf,
    endpoint: String,
}

impl Collector {
    fn start(folder: &Path) -> Self {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/otlp/bin/python");
        assert!(python.exists(), "the collector's package is missing: run `make all-tools`");
        let said = folder.join("collector.jsonl");
        let mut command = Command::new(python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kafka/traces/collector.py"));
        let server = Server::start(&command, &said, "KILL");
        let mut port = None;
        wait_until("the collector listens", || {
            port = lines(&said).first().and_then(|line| line["port"].as_u64());
            port.is_some()
        });
        let endpoint = format!("http://127.0.0.1:{}", port.expect("a port"));
        Self { _server: server, said, endpoint }
    }

    fn spans(&self) -> Vec<Value> {
        lines(&self.said).split_off(1)
    }

    /// Waits for the spans of these traces until there are `count` different ones, and returns them.
    #[track_caller]
    fn wait_for(&self, count: usize) -> Vec<Value> {
        let different = || self.spans().iter().map(|span| span["span"].to_string()).collect::<BTreeSet<_>>();
        wait_until(format_args!("{count} spans"), || different().len() >= count);
        self.spans()
    }
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The last line may be incomplete.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn with_headers(mut row: Row, headers: &[(&str, &str)]) -> Row {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Some(value.as_bytes().to_vec()));
    row.headers = headers.iter().map(owned).collect();
    row
}

/// Returns the header of a crawler's span.
fn parent(number: u64, flags: &str) -> String {
    format!("00-{:032x}-{:016x}-{flags}", u128::from(number) + 0xa_0000, number + 0xb00)
}

/// Returns the spans of a trace by name.
fn of_trace<'s>(spans: &'s [Value], trace: &str) -> BTreeMap<&'s str, &'s Value> {
    let spans = spans.iter().filter(|span| span["trace"] == trace);
    spans.map(|span| (span["name"].as_str().expect("a name"), span)).collect()
}

/// Checks the relations between the spans of a page, which went through the topics `pages`, `log` and `outcome`. A dead
/// letter has no steps. Returns the parent of the first span, and the last span.
fn ends_of_page(
    spans: &[Value],
    trace: &str,
    [pages, log, outcome]: [&str; 3],
    has_steps: bool,
) -> (String, String) {
    let spans = of_trace(spans, trace);
    // Each span with its parent.
    let receive = [format!("receive {pages}"), format!("receive {log}")];
    let process = [format!("process {pages}"), format!("process {log}")];
    let send = [format!("send {log}"), format!("send {outcome}")];
    let mut below = vec![
        (&process[0], &receive[0]),
        (&send[0], &receive[0]),
        (&receive[1], &send[0]),
        (&process[1], &receive[1]),
        (&send[1], &receive[1]),
    ];
    let steps = ["decode", "extract", "segment", "fingerprint"].map(str::to_owned);
    if has_steps {
        // Plain text needs no decoding.
        below.extend(steps.iter().skip(1).map(|step| (step, &process[0])));
    }
    for (span, parent) in below {
        assert_eq!(spans[&**span]["parent"], spans[&**parent]["span"], "{span} is below {parent}");
    }
    let kinds = [(&receive[0], "CONSUMER"), (&process[1], "CONSUMER"), (&send[0], "PRODUCER")];
    for (name, kind) in kinds {
        assert_eq!(spans[&**name]["kind"], format!("SPAN_KIND_{kind}"));
    }
    let first = spans[&*receive[0]]["parent"].as_str().expect("an id").to_owned();
    (first, spans[&*send[1]]["span"].as_str().expect("an id").to_owned())
}

/// Checks the attributes of the span that sent the verdict `row` to `topic`.
fn assert_attributes_of_sending(sent: &Value, row: &Row, topic: &str) {
    let attributes = &sent["attributes"];
    for (name, value) in [
        ("messaging.system", "kafka"),
        ("messaging.operation.type", "send"),
        ("messaging.destination.name", topic),
        ("leitong.page.id", "original"),
        ("url.full", "https://example.test/original"),
        ("leitong.corpus", "default"),
        ("leitong.kind", "UNIQUE"),
    ] {
        assert_eq!(attributes[name], value, "{name} of {attributes}");
    }
    assert_eq!(attributes["messaging.kafka.offset"], row.offset, "{attributes}");
    assert_eq!(attributes["messaging.destination.partition.id"], row.partition.to_string());
}

const SOON: (&str, &str) = ("OTEL_BSP_SCHEDULE_DELAY", "100");
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[test]
fn one_trace_goes_from_the_crawler_through_both_roles_to_the_consumer() {
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(folder.path());
    let installation = Installation::new(&bootstrap(), "traces", "[traces]\nenabled = true\n");
    let page = |id: &str, headers: &[(&str, &str)]| with_headers(Row::page(0, id, &article(1, 20)), headers);
    let (sampled, copy, unsampled) = (parent(1, "01"), parent(2, "01"), parent(3, "00"));
    let letter = Row { value: Some(b"no page".to_vec()), ..Row::default() };
    let rows = [
        page("original", &[("traceparent", &sampled), ("tracestate", "crawler=7")]),
        page("copy", &[("traceparent", &copy)]),
        page("unsampled", &[("traceparent", &unsampled), ("tracestate", "crawler=8")]),
        page("malformed", &[("traceparent", "00-zz")]),
        page("alone", &[]),
        with_headers(letter, &[("traceparent", &parent(4, "01"))]),
    ];
    let environment = [SOON, (ENDPOINT, &collector.endpoint), ("OTEL_SERVICE_NAME", "dedup")];
    let mut upstream = installation.worker_with(&["--role", "fingerprint"], &environment);
    let mut owner = installation.worker_with(&["--role", "cluster"], &environment);
    installation.feed(&rows, rows.len());
    // Nine spans for each page that is recorded, six for the dead letter, which has no steps.
    let spans = collector.wait_for(4 * 9 + 6);
    for (worker, role) in [(&mut upstream, "fingerprint"), (&mut owner, "cluster")] {
        let exported = worker.metric("leitong_trace_spans_total");
        assert!(exported > 0.0, "{role}: {exported}");
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
    }
    let traces: BTreeSet<&str> = spans.iter().filter_map(|span| span["trace"].as_str()).collect();
    assert_eq!(traces.len(), 5, "{traces:?}");
    for span in &spans {
        assert_eq!((&span["service"], &span["scope"]), (&"dedup".into(), &"leitong".into()), "{span}");
        assert!(span["unknown"] == 0 && span["failed"] == false, "{span}");
        assert!(span["start"].as_u64() > Some(0) && span["start"].as_u64() <= span["end"].as_u64(), "{span}");
    }
    let verdicts = topics::read_all(&installation.bootstrap, &installation.topic("verdicts"));
    let verdict =
        |id: &str| verdicts.iter().find(|row| row.header("leitong.page.id") == id).expect("a verdict");
    let [pages, log, out] = ["pages", "log", "verdicts"].map(|name| installation.topic(name));
    let of_page = |trace: &str| ends_of_page(&spans, trace, [&pages, &log, &out], true);
    for (id, header) in [("original", &sampled), ("copy", &copy)] {
        let (trace, crawler) = (&header[3..35], &header[36..52]);
        let (first, last) = of_page(trace);
        assert_eq!(first, crawler, "the crawler's span is the parent");
        assert_eq!(verdict(id).header("traceparent"), format!("00-{trace}-{last}-01"), "consumers go on");
        let headers = verdict(id).headers.iter().filter(|(name, _)| name == "traceparent").count();
        assert_eq!(headers, 1, "of a verdict's contexts there is one");
    }
    assert_eq!(verdict("original").header("tracestate"), "crawler=7");
    let original = of_trace(&spans, &sampled[3..35]);
    let sent = original[&*format!("send {out}")];
    assert_eq!(
        (&sent["state"], &sent["schema"]),
        (&"crawler=7".into(), &"https://opentelemetry.io/schemas/1.43.0".into())
    );
    assert_attributes_of_sending(sent, verdict("original"), &out);
    let kind = &of_trace(&spans, &copy[3..35])[&*format!("process {log}")]["attributes"]["leitong.kind"];
    assert_eq!(kind, "EXACT_DUPLICATE");
    // An unsampled context is passed on unchanged, and a malformed one counts as missing.
    assert_eq!(verdict("unsampled").header("traceparent"), unsampled);
    assert_eq!(verdict("unsampled").header("tracestate"), "crawler=8");
    for id in ["malformed", "alone"] {
        let header = verdict(id).header("traceparent");
        let (first, last) = of_page(&header[3..35]);
        assert_eq!((&*first, &header[36..52]), ("", &*last), "{id}: the trace begins here");
    }
    let letters = installation.dead_letters();
    let header = parent(4, "01");
    let (first, last) =
        ends_of_page(&spans, &header[3..35], [&pages, &log, &installation.topic("dead")], false);
    assert_eq!(first, header[36..52]);
    assert_eq!(letters[0].header("traceparent"), format!("00-{}-{last}-01", &header[3..35]));
    let received = letters[0].headers.iter().find(|(name, _)| name == "traceparent");
    assert_eq!(received.and_then(|(_, value)| value.clone()), Some(header.into_bytes()), "as received");
    installation.assert_exactly_once(&rows);
}

#[test]
fn killed_workers_begin_no_new_traces() {
    let folder = tempfile::tempdir().expect("a folder");
    let collector = Collector::start(folder.path());
    let more = format!("[traces]\nenabled = true\n{FAST_FAILURE_DETECTION}");
    let installation = Installation::new(&bootstrap(), "traces-killed", &more);
    let page = |number: u64| {
        let row = Row::page((number % 3) as i32, &format!("p{number}"), &article(number as usize % 40, 8));
        with_headers(row, &[("traceparent", &parent(number, "01"))])
    };
    let rows: Vec<Row> = (0..240).map(page).collect();
    let environment = [SOON, (ENDPOINT, &*collector.endpoint)];
    let mut workers: Vec<_> = (0..2).map(|_| installation.worker_with(&[], &environment)).collect();
    for (round, rows) in rows.chunks(80).enumerate() {
        installation.produce(rows);
        if round < 2 {
            wait_until("some verdicts", || installation.verdicts().len() > round * 80 + 10);
            workers[round].kill();
            workers.push(installation.worker_with(&[], &environment));
        }
    }
    installation.wait_for_verdicts(rows.len());
    installation.assert_exactly_once(&rows);
    let out = format!("send {}", installation.topic("verdicts"));
    // Spans that a killed worker had not sent yet are missing.
    wait_until("spans of most verdicts", || {
        collector.spans().iter().filter(|span| span["name"] == *out).count() > rows.len() / 2
    });
    drop(workers);
    let spans = collector.spans();
    let verdicts = topics::read_all(&installation.bootstrap, &installation.topic("verdicts"));
    let mut told = 0;
    for row in &verdicts {
        let number: u64 = row.header("leitong.page.id")[1..].parse().expect("a number");
        let (crawler, header) = (parent(number, "01"), row.header("traceparent"));
        assert_eq!(header[..36], crawler[..36], "the crawler's trace");
        let trace = &crawler[3..35];
        let ids: BTreeSet<(&str, &str)> = spans
            .iter()
            .filter(|span| span["trace"] == trace)
            .map(|span| (span["name"].as_str().expect("a name"), span["span"].as_str().expect("an id")))
            .collect();
        let names: BTreeSet<&str> = ids.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            ids.len(),
            names.len(),
            "p{number}: a page that is read again has the same spans: {ids:?}"
        );
        let by_name = of_trace(&spans, trace);
        if let Some(sent) = by_name.get(&*out) {
            assert_eq!(sent["span"], header[36..52], "p{number}");
            told += 1;
        }
        let first = by_name.get(&*format!("receive {}", installation.topic("pages")));
        assert!(first.is_none_or(|span| span["parent"] == crawler[36..52]), "p{number}");
    }
    assert!(told > rows.len() / 2, "{told} of {}", rows.len());
    let known: BTreeSet<String> = (0..240).map(|number| parent(number, "01")[3..35].to_owned()).collect();
    assert!(spans.iter().all(|span| span["trace"].as_str().is_some_and(|trace| known.contains(trace))));
}

#[test]
fn a_missing_collector_stops_nothing() {
    let more = "[traces]\nenabled = true\nqueue_spans = 10\n";
    let installation = Installation::new(&bootstrap(), "traces-away", more);
    let rows: Vec<Row> =
        (0..60).map(|number| Row::page(number % 3, &format!("p{number}"), &article(3, 8))).collect();
    // Small batches, because large ones would make room in the queue.
    let environment = [SOON, (ENDPOINT, "http://127.0.0.1:9"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")];
    let mut worker = installation.worker_with(&[], &environment);
    installation.feed(&rows, rows.len());
    wait_until("spans without room are counted", || worker.metric("leitong_trace_spans_total") >= 500.0);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    let warnings = worker.plain_log().matches("trace spans are lost").count();
    assert!(warnings <= 1, "{}", worker.plain_log());
    installation.assert_exactly_once(&rows);
}

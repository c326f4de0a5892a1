//! Exemplars: a real Prometheus reads a worker's metrics, and returns the pages that they name.

use serde_json::Value;

use crate::alerts::{Prometheus, free_address};
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, wait_until};
use crate::common::{article, percent_encoded};

/// Returns the labels of the exemplars of a query.
fn exemplars(prometheus: &Prometheus, query: &str) -> Vec<Value> {
    let path = format!("query_exemplars?query={}&start=0&end=9999999999", percent_encoded(query));
    let answer = prometheus.ask(&path).unwrap_or_default();
    let series = answer["data"].as_array().cloned().unwrap_or_default();
    let of_series = |series: &Value| series["exemplars"].as_array().cloned().unwrap_or_default();
    series.iter().flat_map(of_series).map(|exemplar| exemplar["labels"].clone()).collect()
}

#[test]
fn exemplars_name_the_last_page_of_each_count_and_its_trace() {
    // No collector listens: this test is not about spans.
    let more = "[traces]\nenabled = true\nendpoint = \"http://127.0.0.1:9\"\n";
    let installation = Installation::new(&bootstrap(), "exemplars", more);
    let text = std::fs::read_to_string(installation.config()).expect("a configuration");
    let text = text.replacen("[admin]\n", "[admin]\nexemplars = true\n", 1);
    std::fs::write(installation.config(), text).expect("written");
    let address = free_address();
    let worker = installation.worker(&["--admin", &address]);
    worker.wait_until_ready();
    let prometheus = Prometheus::start(installation.folder.path(), &address);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = |name: &str, value: String| (name.to_owned(), Some(value.into_bytes()));
    let traced = |mut row: Row| {
        row.headers = vec![header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"))];
        row
    };
    let awkward = "a \"quoted\" \\ id";
    let broken = Row { value: Some(b"no page".to_vec()), ..Row::default() };
    let rows = [
        traced(Row::page(0, "first", &article(1, 20))),
        traced(Row::page(0, "copy", &article(1, 20))),
        Row::page(0, awkward, "short"),
        broken,
    ];
    installation.feed(&rows, rows.len());
    let exemplars_of = |query: &str| exemplars(&prometheus, query);
    wait_until("exemplars of all counts", || !exemplars_of("leitong_dead_letters_total").is_empty());
    let unique = exemplars_of("leitong_verdicts_total{kind=\"UNIQUE\"}");
    assert_eq!(unique, [serde_json::json!({ "page_id": "first", "trace_id": trace })]);
    let copy = exemplars_of("leitong_verdicts_total{kind=\"EXACT_DUPLICATE\"}");
    assert_eq!(copy, [serde_json::json!({ "page_id": "copy", "trace_id": trace })]);
    // A page without a context has its own trace.
    let short = exemplars_of("leitong_undecidable_total{reason=\"TOO_SHORT\"}");
    assert_eq!(short.len(), 1, "{short:?}");
    // Older versions of Prometheus keep the escapes in labels of exemplars.
    let page_id = short[0]["page_id"].as_str().unwrap_or_default();
    let escaped = awkward.replace('\\', "\\\\").replace('"', "\\\"");
    assert!(page_id == awkward || page_id == escaped, "{page_id}");
    assert_eq!(short[0]["trace_id"].as_str().map(str::len), Some(32), "{short:?}");
    let letter = exemplars_of("leitong_dead_letters_total");
    assert_eq!(letter[0]["message"], format!("{}[0]@3", installation.topic("pages")), "{letter:?}");
    let delays = exemplars_of("leitong_verdict_delay_seconds_bucket");
    assert!(!delays.is_empty() && delays.iter().all(|labels| labels["trace_id"].is_string()), "{delays:?}");
    // A client that does not request OpenMetrics gets the older format.
    let (_, plain) = worker.get("/metrics").expect("metrics");
    assert!(!plain.contains("page_id") && !plain.contains("# EOF"), "{plain}");
}

//! Exemplars: the last page that each count of outcomes has counted, as an example for an operator who sees
//! the count rise. Off unless `admin.exemplars` is set, since exemplars name pages.
//!
//! In: committed outcomes; the exporter's text of metrics (Prometheus' text format 0.0.4). Out: the same
//! metrics as OpenMetrics 1.0, in which counters and buckets have `# {page_id="…",trace_id="…"} value time`.
//! A scraper that does not ask for OpenMetrics gets the unchanged text, without pages. Memory: one page for
//! each value of a label.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::metrics::{self, Outcome};
use leitong_base::record::timestamp::Timestamp;
use leitong_cluster::verdict::Conclusion;

/// Limit of OpenMetrics on the characters of all names and values of an exemplar's labels.
const LABELS_CHARS_MAX: usize = 128;
/// Sign that replaces the end of an id that is too long.
const CUT: char = '…';
/// Content type of OpenMetrics.
pub(crate) const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Name of the buckets of the delay histogram.
const DELAY_BUCKET: &str = "leitong_verdict_delay_seconds_bucket";

static OF_THIS_PROCESS: OnceLock<Mutex<Exemplars>> = OnceLock::new();

/// The page of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exemplar {
    /// Name and value of the label: the id of a page, or the place of a message that is not a page.
    page: (&'static str, Box<str>),
    /// Id of its trace, if the trace is recorded.
    trace_id: Option<u128>,
}

impl Exemplar {
    /// Returns the exemplar for `conclusion`; `None` unless [`begin`] was called.
    pub(crate) fn of(conclusion: &Conclusion, trace_id: Option<u128>) -> Option<Self> {
        OF_THIS_PROCESS.get()?;
        let page = match conclusion {
            Conclusion::Verdict(verdict) => ("page_id", verdict.page_id.as_str().into()),
            Conclusion::DeadLetter(letter) => ("message", letter.source.to_string().into()),
        };
        Some(Self { page, trace_id })
    }

    /// Returns the escaped labels. An id that is too long is cut.
    fn labels(&self) -> String {
        let (name, value) = &self.page;
        let trace = self.trace_id.map(|id| format!(",trace_id=\"{id:032x}\"")).unwrap_or_default();
        // Only names and values count, not the punctuation.
        let of_trace = if self.trace_id.is_some() { "trace_id".len() + 32 } else { 0 };
        let room = LABELS_CHARS_MAX - name.len() - of_trace;
        let mut kept: String = value.chars().take(room).collect();
        if kept.len() < value.len() {
            kept.pop();
            kept.push(CUT);
        }
        let escaped = kept.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{escaped}\"{trace}")
    }
}

/// The last exemplar of each line of the metrics, keyed by the part of the line before its value.
#[derive(Debug, Default)]
struct Exemplars(HashMap<String, String>);

impl Exemplars {
    fn put(&mut self, head: String, labels: &str, value: f64, now: Timestamp) {
        let seconds = now.as_ms() as f64 / 1e3;
        self.0.insert(head, format!("{{{labels}}} {value} {seconds:.3}"));
    }

    fn committed(&mut self, outcome: &Outcome, exemplar: &Exemplar, delay: Option<f64>, now: Timestamp) {
        let labels = exemplar.labels();
        let mut counted = |metric: &str, label: &str, value: &str| {
            self.put(format!("{metric}{{{label}=\"{value}\"}}"), &labels, 1.0, now);
        };
        match outcome {
            Outcome::Verdict { kind, reason, recrawl } => {
                counted("leitong_verdicts_total", "kind", kind);
                if let Some(reason) = reason {
                    counted("leitong_undecidable_total", "reason", reason);
                }
                if let Some(recrawl) = recrawl {
                    counted("leitong_recrawls_total", "outcome", recrawl);
                }
            }
            Outcome::DeadLetter { cause } => counted("leitong_dead_letters_total", "cause", cause),
        }
        if let Some(delay) = delay {
            let bound = metrics::SECONDS.iter().find(|bound| delay <= **bound);
            let bound = bound.map_or("+Inf".to_owned(), ToString::to_string);
            self.put(format!("{DELAY_BUCKET}{{le=\"{bound}\"}}"), &labels, delay, now);
        }
    }

    /// Converts metrics from the text format to OpenMetrics, with the exemplars.
    fn openmetrics(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + self.0.len() * 160 + 8);
        // OpenMetrics has no empty lines.
        for line in text.lines().filter(|line| !line.is_empty()) {
            let described =
                ["# HELP ", "# TYPE "].iter().find_map(|word| Some((word, line.strip_prefix(word)?)));
            if let Some((word, rest)) = described {
                // The name of a family of counters is that of its lines without the suffix.
                let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let _ = writeln!(out, "{word}{} {rest}", name.strip_suffix("_total").unwrap_or(name));
                continue;
            }
            let head = line.rsplit_once(' ').map_or("", |(head, _)| head);
            match self.0.get(head) {
                Some(exemplar) => _ = writeln!(out, "{line} # {exemplar}"),
                None => _ = writeln!(out, "{line}"),
            }
        }
        out.push_str("# EOF\n");
        out
    }
}

/// Starts to keep exemplars in this process.
pub(crate) fn begin() {
    OF_THIS_PROCESS.get_or_init(Mutex::default);
}

/// Remembers the page of a committed outcome. `delay` is the time in seconds since its message was written.
pub(crate) fn committed(outcome: &Outcome, exemplar: &Exemplar, delay: Option<f64>, now: Timestamp) {
    if let Some(exemplars) = OF_THIS_PROCESS.get() {
        let mut exemplars = exemplars.lock().unwrap_or_else(PoisonError::into_inner);
        exemplars.committed(outcome, exemplar, delay, now);
    }
}

/// Returns the metrics in `text` as OpenMetrics, for a scraper with the header `accept`. `None` if it gets
/// the plain text.
pub(crate) fn openmetrics(accept: Option<&str>, text: impl FnOnce() -> String) -> Option<String> {
    let exemplars = OF_THIS_PROCESS.get()?;
    if !asks_for_openmetrics(accept?) {
        return None;
    }
    let text = text();
    Some(exemplars.lock().unwrap_or_else(PoisonError::into_inner).openmetrics(&text))
}

/// Returns true if a header `accept` names OpenMetrics with a weight above 0.
fn asks_for_openmetrics(accept: &str) -> bool {
    accept.split(',').any(|media| {
        let mut parts = media.split(';').map(str::trim);
        let is_named =
            parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok());
        is_named && weight.is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use ::metrics::with_local_recorder;
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

    use super::*;
    use crate::telemetry::metrics::{ALL, API_SECONDS, SECONDS, SHORT_SECONDS};

    fn exemplar(id: &str, trace_id: Option<u128>) -> Exemplar {
        Exemplar { page: ("page_id", id.into()), trace_id }
    }

    const UNIQUE: Outcome = Outcome::Verdict { kind: "UNIQUE", reason: None, recrawl: None };

    #[test]
    fn each_count_of_the_exporters_text_gets_an_exemplar() {
        let recorder = PrometheusBuilder::new()
            .set_buckets(SECONDS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full(API_SECONDS.into()), SHORT_SECONDS)
            })
            .expect("buckets")
            .build_recorder();
        let mut exemplars = Exemplars::default();
        let now = Timestamp::from_ms(1_700_000_000_250).expect("a time");
        with_local_recorder(&recorder, || {
            metrics::describe();
            metrics::begin();
            metrics::centroids(0, 5);
            for (outcome, id, delay) in [
                (UNIQUE, "first", 0.004),
                (UNIQUE, "last", 1.0),
                (Outcome::DeadLetter { cause: "BROKEN_JSON" }, "letter", 400.0),
                (
                    Outcome::Verdict { kind: "UNDECIDABLE", reason: Some("WALL"), recrawl: Some("CHANGED") },
                    "wall",
                    0.03,
                ),
            ] {
                metrics::committed(&outcome);
                metrics::verdict_delay(std::time::Duration::from_secs_f64(delay));
                exemplars.committed(
                    &outcome,
                    &exemplar(id, (id == "last").then_some(0xabc)),
                    Some(delay),
                    now,
                );
            }
        });
        let plain = recorder.handle().render();
        let text = exemplars.openmetrics(&plain);
        assert!(text.ends_with("\n# EOF\n") && !text.contains("\n\n"), "{text}");
        let trace = "00000000000000000000000000000abc";
        for wanted in [
            format!(
                "leitong_verdicts_total{{kind=\"UNIQUE\"}} 2 # {{page_id=\"last\",trace_id=\"{trace}\"}} 1 1700000000.250"
            ),
            "leitong_dead_letters_total{cause=\"BROKEN_JSON\"} 1 # {page_id=\"letter\"} 1 1700000000.250"
                .to_owned(),
            "leitong_undecidable_total{reason=\"WALL\"} 1 # {page_id=\"wall\"} 1 1700000000.250".to_owned(),
            "leitong_verdict_delay_seconds_bucket{le=\"0.005\"} 1 # {page_id=\"first\"} 0.004 1700000000.250"
                .to_owned(),
            format!(
                "leitong_verdict_delay_seconds_bucket{{le=\"1\"}} 3 # {{page_id=\"last\",trace_id=\"{trace}\"}} 1 1700000000.250"
            ),
            "leitong_verdict_delay_seconds_bucket{le=\"+Inf\"} 4 # {page_id=\"letter\"} 400 1700000000.250"
                .to_owned(),
            "# TYPE leitong_verdicts counter".to_owned(),
            "# TYPE leitong_centroids gauge".to_owned(),
        ] {
            assert!(text.lines().any(|line| line == wanted), "{wanted}\n{text}");
        }
        // Nothing else is changed: without exemplars and suffixes, the text is the same.
        let samples = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.map(|line| line.split(" # ").next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(samples(&text), samples(&plain));
        for metric in ALL.iter().filter(|metric| metric.kind == "counter") {
            assert!(metric.name.ends_with("_total"), "OpenMetrics requires the suffix for {}", metric.name);
        }
    }

    #[test]
    fn labels_are_escaped_and_no_longer_than_allowed() {
        let escaped = exemplar("a\"b\\c\nd", None).labels();
        assert_eq!(escaped, "page_id=\"a\\\"b\\\\c\\nd\"");
        let long = "雷".repeat(500);
        for trace_id in [None, Some(7)] {
            let labels = exemplar(&long, trace_id).labels();
            let chars = labels.chars().filter(|c| !matches!(c, '"' | '=' | ',')).count();
            assert_eq!(chars, LABELS_CHARS_MAX, "{labels}");
            assert!(labels.contains('…'));
        }
        let fits = "x".repeat(LABELS_CHARS_MAX - "page_id".len());
        assert_eq!(exemplar(&fits, None).labels(), format!("page_id=\"{fits}\""));
    }

    #[test]
    fn number_of_exemplars_is_bounded_by_label_values() {
        let mut exemplars = Exemplars::default();
        let now = Timestamp::from_ms(0).expect("a time");
        for number in 0..1_000 {
            exemplars.committed(
                &UNIQUE,
                &exemplar(&number.to_string(), None),
                Some(f64::from(number) / 10.0),
                now,
            );
        }
        assert!(exemplars.0.len() <= 1 + SECONDS.len() + 1, "{}", exemplars.0.len());
    }

    #[test]
    fn only_scrapers_that_accept_openmetrics_get_exemplars() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert!(asks_for_openmetrics(prometheus) && asks_for_openmetrics("Application/OpenMetrics-Text"));
        for other in ["", "*/*", "text/plain;version=0.0.4", "application/openmetrics-text; q=0"] {
            assert!(!asks_for_openmetrics(other), "{other:?}");
        }
    }
}

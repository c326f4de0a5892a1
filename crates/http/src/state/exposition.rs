//! Parses the text of `/metrics` into numbers by name and label.
//!
//! In: the output of the program's own recorder (Prometheus' text format). Other lines are ignored, so memory
//! is bounded by this program's metrics.

use std::collections::BTreeMap;

/// Prefix of the names of all metrics of the program.
const OWN: &str = "leitong_";

/// One line of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// Name of the metric.
    pub name: String,
    /// Labels of the sample.
    pub labels: BTreeMap<String, String>,
    /// Value of the sample.
    pub value: f64,
}

/// All metrics at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Metrics {
    samples: Vec<Sample>,
}

impl Metrics {
    /// Parses the text.
    pub(crate) fn read(text: &str) -> Self {
        Self { samples: text.lines().filter_map(line).collect() }
    }

    /// Returns the lines of a metric.
    pub(crate) fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.name == name)
    }

    /// Returns the value of a metric without labels.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.samples(name).next().map(|sample| sample.value)
    }

    /// Returns the sum of a metric's values over all labels.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.samples(name).map(|sample| sample.value).sum()
    }

    /// Returns the values by one label, in the label's order, without values of 0.
    pub(crate) fn by(&self, name: &str, label: &str) -> Vec<(String, f64)> {
        let mut by: BTreeMap<String, f64> = BTreeMap::new();
        for sample in self.samples(name).filter(|sample| sample.value != 0.0) {
            *by.entry(sample.labels.get(label).cloned().unwrap_or_default()).or_default() += sample.value;
        }
        by.into_iter().collect()
    }
}

fn line(line: &str) -> Option<Sample> {
    let (head, value) = line.rsplit_once(' ').filter(|_| line.starts_with(OWN))?;
    let value = value.parse().ok()?;
    let (name, labels) = match head.split_once('{') {
        Some((name, labels)) => (name, self::labels(labels)?),
        None => (head, BTreeMap::new()),
    };
    Some(Sample { name: name.to_owned(), labels, value })
}

/// Parses `a="b",c="d"}`, with `\\`, `\"` and `\n` in values.
fn labels(mut rest: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while rest != "}" {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.insert(name.trim_start_matches(',').to_owned(), value);
        rest = &after[end + 1..];
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn the_recorders_output_is_parsed() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            metrics::counter!("leitong_pages_read_total").increment(7);
            let hostile = "a\"} 9\n\\<script>{";
            metrics::gauge!("leitong_lag_records", "topic" => hostile, "partition" => "0").set(2.5);
            metrics::gauge!("leitong_lag_records", "topic" => "b", "partition" => "1").set(0.0);
            metrics::histogram!("leitong_verdict_delay_seconds").record(0.5);
        });
        let metrics = Metrics::read(&recorder.handle().render());
        assert_eq!(metrics.value("leitong_pages_read_total"), Some(7.0));
        assert_eq!(metrics.by("leitong_lag_records", "topic"), [("a\"} 9\n\\<script>{".to_owned(), 2.5)]);
        assert_eq!(metrics.value("leitong_verdict_delay_seconds_count"), Some(1.0));
        assert_eq!(metrics.value("nothing"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_ignored(text in "[a{}=\",\\\\ 0-9\n#é-]{0,80}") {
            let _ = Metrics::read(&text);
        }
    }
}

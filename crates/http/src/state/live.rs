//! The current state of a worker, from its metrics and health.
//!
//! Pure. Rates come from [`History`], which keeps the counters of the last 15 minutes.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::exposition::Metrics;

/// Maximum number of past moments that are kept.
const MOMENTS_MAX: usize = 181;
/// Seconds between two moments.
pub const MOMENT_S: u32 = 5;
/// Limit on the rows of a table.
const ROWS_MAX: usize = 200;

/// Counters at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    seconds: f64,
    pages: f64,
    verdicts: f64,
    duplicates: f64,
    delay_sum: f64,
    delays: f64,
}

/// The counters of the last 15 minutes.
#[derive(Debug, Default)]
pub(crate) struct History {
    moments: VecDeque<Moment>,
}

impl History {
    /// Adds the counters at `seconds` on a monotonic clock.
    pub(crate) fn add(&mut self, seconds: f64, metrics: &Metrics) {
        let kinds = metrics.by("leitong_verdicts_total", "kind");
        let duplicates = kinds.iter().filter(|(kind, _)| kind.ends_with("_DUPLICATE"));
        self.moments.push_back(Moment {
            seconds,
            pages: metrics.sum("leitong_pages_read_total"),
            verdicts: metrics.sum("leitong_verdicts_total"),
            duplicates: duplicates.map(|(_, count)| count).sum(),
            delay_sum: metrics.sum("leitong_verdict_delay_seconds_sum"),
            delays: metrics.sum("leitong_verdict_delay_seconds_count"),
        });
        while self.moments.len() > MOMENTS_MAX {
            self.moments.pop_front();
        }
    }

    /// Returns the rates per second between consecutive moments.
    fn rates(&self, of: impl Fn(&Moment) -> f64) -> Vec<f64> {
        let pairs = self.moments.iter().zip(self.moments.iter().skip(1));
        let rate =
            |(a, b): (&Moment, &Moment)| ((of(b) - of(a)) / (b.seconds - a.seconds).max(0.001)).max(0.0);
        pairs.map(rate).collect()
    }

    /// Returns the growth over the last minute.
    fn last_minute(&self, of: impl Fn(&Moment) -> f64) -> f64 {
        let Some(last) = self.moments.back() else { return 0.0 };
        let from = self.moments.iter().find(|moment| last.seconds - moment.seconds <= 60.0).unwrap_or(last);
        (of(last) - of(from)).max(0.0)
    }

    /// Returns the rate per second over the last minute.
    fn rate(&self, of: impl Fn(&Moment) -> f64) -> f64 {
        self.last_minute(of) / self.last_minute(|moment| moment.seconds).max(0.001)
    }

    /// Returns the growth of `of` over the last minute per growth of `per`; `None` if that did not grow.
    fn ratio(&self, of: impl Fn(&Moment) -> f64, per: impl Fn(&Moment) -> f64) -> Option<f64> {
        Some(self.last_minute(per)).filter(|per| *per > 0.0).map(|per| self.last_minute(of) / per)
    }
}

/// A name with a count.
pub(crate) type Count = (String, u64);

/// Records of a partition that are not read yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Lag {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: String,
    /// Number of records.
    pub records: u64,
}

/// The table of a log partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Table {
    /// The partition of the log.
    pub partition: String,
    /// Centroids, if this instance owns the partition.
    pub centroids: Option<u64>,
    /// Centroids in a standby table, for a partition that another instance owns.
    pub standby_centroids: Option<u64>,
    /// Centroids read by the last or current restore.
    pub restored_centroids: Option<u64>,
    /// Duration of the last restore.
    pub restore_seconds: Option<f64>,
    /// Age of the last snapshot.
    pub snapshot_age_seconds: Option<f64>,
    /// True if the partition waits for an operator.
    pub halted: bool,
}

/// The state of a worker, as `/state` shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Live {
    /// Seconds since the start.
    pub up_seconds: f64,
    /// Reasons why the worker is not alive.
    pub dead: Vec<String>,
    /// Reasons why the worker is not ready.
    pub not_ready: Vec<String>,
    /// Pages read per second, over the last minute.
    pub pages_per_second: f64,
    /// Verdicts per second, over the last minute.
    pub verdicts_per_second: f64,
    /// Verdicts per second, every five seconds of the last 15 minutes.
    pub verdicts_series: Vec<f64>,
    /// Pages read since the start.
    pub pages_read: u64,
    /// Verdicts by kind.
    pub verdicts: Vec<Count>,
    /// Undecidable pages by reason.
    pub undecidable: Vec<Count>,
    /// Dead letters by cause.
    pub dead_letters: Vec<Count>,
    /// Mean time from page to verdict, in seconds.
    pub delay_seconds: Option<f64>,
    /// The same over the last minute.
    pub recent_delay_seconds: Option<f64>,
    /// Share of duplicates among the verdicts of the last minute.
    pub recent_duplicates: Option<f64>,
    /// Assigned partitions by stage.
    pub owned: Vec<Count>,
    /// True if reading of the page topic is paused because the queue is full.
    pub paused: bool,
    /// Lag of the partitions that this instance reads.
    pub lag: Vec<Lag>,
    /// Number of all partitions of the log, those of other instances included.
    pub log_partitions: u64,
    /// Tables of the log partitions.
    pub tables: Vec<Table>,
    /// Number of template alarms.
    pub template_alarms: u64,
}

impl Live {
    /// Builds the state, apart from the worker's health, from present and past metrics. `now` is the time in seconds
    /// since 1970.
    pub(crate) fn from_metrics(metrics: &Metrics, history: &History, now: f64) -> Self {
        let counts = |name: &str, label: &str| -> Vec<Count> {
            let by = metrics.by(name, label);
            let mut counts: Vec<Count> = by.into_iter().map(|(name, value)| (name, whole(value))).collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            counts
        };
        let started = metrics.value("leitong_start_timestamp_seconds");
        let delays = metrics.value("leitong_verdict_delay_seconds_count").filter(|count| *count > 0.0);
        let delay_sum = metrics.value("leitong_verdict_delay_seconds_sum");
        Self {
            up_seconds: started.map_or(0.0, |started| (now - started).max(0.0)),
            dead: Vec::new(),
            not_ready: Vec::new(),
            pages_per_second: history.rate(|moment| moment.pages),
            verdicts_per_second: history.rate(|moment| moment.verdicts),
            verdicts_series: history.rates(|moment| moment.verdicts),
            pages_read: whole(metrics.sum("leitong_pages_read_total")),
            verdicts: counts("leitong_verdicts_total", "kind"),
            undecidable: counts("leitong_undecidable_total", "reason"),
            dead_letters: counts("leitong_dead_letters_total", "cause"),
            delay_seconds: delay_sum.zip(delays).map(|(sum, count)| sum / count),
            recent_delay_seconds: history.ratio(|moment| moment.delay_sum, |moment| moment.delays),
            recent_duplicates: history.ratio(|moment| moment.duplicates, |moment| moment.verdicts),
            owned: counts("leitong_partitions_owned", "stage"),
            paused: metrics.value("leitong_pages_paused") == Some(1.0),
            lag: lag(metrics),
            log_partitions: whole(metrics.sum("leitong_log_partitions")),
            tables: tables(metrics, now),
            template_alarms: whole(metrics.sum("leitong_templates_total")),
        }
    }
}

fn whole(value: f64) -> u64 {
    // Counts are far below 2⁵³. A negative value or NaN becomes 0.
    value.max(0.0) as u64
}

/// Returns the partitions with the largest lag, in their order.
fn lag(metrics: &Metrics) -> Vec<Lag> {
    let lag_of = |sample: &super::exposition::Sample| Lag {
        topic: sample.labels.get("topic").cloned().unwrap_or_default(),
        partition: sample.labels.get("partition").cloned().unwrap_or_default(),
        records: whole(sample.value),
    };
    let mut lag: Vec<Lag> = metrics.samples("leitong_lag_records").map(lag_of).collect();
    lag.sort_by_key(|lag| std::cmp::Reverse(lag.records));
    lag.truncate(ROWS_MAX);
    lag.sort_by_key(|lag| (lag.topic.clone(), lag.partition.parse::<u32>().unwrap_or(u32::MAX)));
    lag
}

fn tables(metrics: &Metrics, now: f64) -> Vec<Table> {
    let mut tables: BTreeMap<(u32, String), Table> = BTreeMap::new();
    let mut each = |name: &str, set: &dyn Fn(&mut Table, f64)| {
        for sample in metrics.samples(name) {
            let partition = sample.labels.get("partition").cloned().unwrap_or_default();
            let key = (partition.parse().unwrap_or(u32::MAX), partition.clone());
            let table = tables.entry(key).or_insert_with(|| Table { partition, ..Table::default() });
            set(table, sample.value);
        }
    };
    each("leitong_centroids", &|table, value| table.centroids = Some(whole(value)));
    each("leitong_standby_centroids", &|table, value| table.standby_centroids = Some(whole(value)));
    each("leitong_restored_centroids", &|table, value| table.restored_centroids = Some(whole(value)));
    each("leitong_restore_seconds", &|table, value| table.restore_seconds = Some(value));
    each("leitong_snapshot_timestamp_seconds", &|table, value| {
        table.snapshot_age_seconds = Some((now - value).max(0.0));
    });
    each("leitong_partition_halted", &|table, value| table.halted = value > 0.0);
    let all = tables.into_values();
    // The page topic has no table, and is listed only while it is halted.
    all.filter(|table| table.halted || table.partition.parse::<u32>().is_ok()).take(ROWS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
leitong_start_timestamp_seconds 1000
leitong_pages_read_total 900
leitong_verdicts_total{kind=\"UNIQUE\"} 600
leitong_verdicts_total{kind=\"NEAR_DUPLICATE\"} 150
leitong_verdicts_total{kind=\"UNDECIDABLE\"} 0
leitong_dead_letters_total{cause=\"NO_URL\"} 3
leitong_lag_records{topic=\"leitong.pages\",partition=\"10\"} 7
leitong_lag_records{topic=\"leitong.pages\",partition=\"2\"} 40
leitong_centroids{partition=\"0\"} 600
leitong_standby_centroids{partition=\"1\"} 580
leitong_snapshot_timestamp_seconds{partition=\"0\"} 1040
leitong_partition_halted{partition=\"0\"} 0
leitong_partition_halted{partition=\"pages\"} 1
leitong_log_partitions 4
leitong_templates_total{what=\"cluster\"} 2
leitong_verdict_delay_seconds_sum 30
leitong_verdict_delay_seconds_count 60
";

    #[test]
    fn metrics_become_the_state_of_a_worker() {
        let mut history = History::default();
        let pages = |pages: u32| {
            Metrics::read(&format!(
                "leitong_verdicts_total{{kind=\"UNIQUE\"}} {}\nleitong_verdicts_total{{kind=\"NEAR_DUPLICATE\"}} {}\n\
                 leitong_verdict_delay_seconds_sum {pages}\nleitong_verdict_delay_seconds_count {pages}",
                pages - pages / 4,
                pages / 4
            ))
        };
        for (at, count) in [(0.0, 0), (5.0, 50), (10.0, 50), (15.0, 200)] {
            history.add(at, &pages(count));
        }
        let live = Live::from_metrics(&Metrics::read(TEXT), &history, 1100.0);
        assert_eq!(live.verdicts_series, [10.0, 0.0, 30.0]);
        assert!((live.verdicts_per_second - 200.0 / 15.0).abs() < 1e-9 && live.pages_per_second < 1e-9);
        assert_eq!((live.up_seconds, live.pages_read, live.delay_seconds), (100.0, 900, Some(0.5)));
        assert_eq!(live.verdicts[1..], [("NEAR_DUPLICATE".to_owned(), 150)]);
        assert_eq!(live.dead_letters, [("NO_URL".to_owned(), 3)]);
        let lags: Vec<_> = live.lag.iter().map(|lag| (&*lag.partition, lag.records)).collect();
        assert_eq!(lags, [("2", 40), ("10", 7)]);
        assert_eq!((live.recent_duplicates, live.recent_delay_seconds), (Some(0.25), Some(1.0)));
        assert_eq!((live.log_partitions, live.template_alarms, live.tables.len()), (4, 2, 3));
        assert_eq!((live.tables[0].centroids, live.tables[0].snapshot_age_seconds), (Some(600), Some(60.0)));
        assert_eq!((live.tables[1].standby_centroids, live.tables[1].halted), (Some(580), false));
        assert!(live.tables[2].partition == "pages" && live.tables[2].halted);
    }

    #[test]
    fn the_past_is_bounded_and_restarted_counters_give_no_rate() {
        let mut history = History::default();
        for at in 0..1_000_u32 {
            let count = if at < 990 { at } else { 0 };
            history.add(f64::from(at) * 5.0, &Metrics::read(&format!("leitong_pages_read_total {count}")));
        }
        assert_eq!(history.moments.len(), MOMENTS_MAX);
        assert!(history.rates(|moment| moment.pages).iter().all(|rate| (0.0..=1.0).contains(rate)));
    }
}

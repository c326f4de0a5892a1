//! Formats the state of all workers as the lines of a terminal screen, for `leitong top`.
//!
//! Pure. In: the answers of each admin port. Out: lines without control characters, whatever metrics and
//! reasons contain. The caller cuts them to the width of the terminal.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use super::exposition::Metrics;
use super::live::{Context, History, Live};
use crate::telemetry::tally::Tally;
use leitong_base::terminal::escape;

/// Period of rates and delays, in seconds.
const WINDOW_S: f64 = 60.0;
/// Maximum number of partitions whose lag is shown. Those with the largest lag are chosen.
const LAGS_MAX: usize = 12;
/// Maximum number of causes of dead letters that are shown.
const CAUSES_MAX: usize = 8;
/// Maximum length of a reason that is shown, in characters.
const REASON_CHARS_MAX: usize = 120;

/// Counters at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Moment {
    seconds: f64,
    pages: f64,
    verdicts: f64,
    duplicates: f64,
    delay_sum: f64,
    delays: f64,
}

/// The answers of an admin port.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// The text of `/metrics`.
    pub metrics: String,
    /// Reasons from `/livez` and `/readyz`, if their status is not 200.
    pub reasons: Vec<String>,
}

/// A worker, with its counters of the last minute.
#[derive(Debug)]
pub(crate) struct Seen {
    name: String,
    moments: VecDeque<Moment>,
    /// Last answer, or the reason why there is none.
    last: Result<(Metrics, Vec<String>), String>,
}

impl Seen {
    /// Creates a worker that was not asked yet.
    #[must_use]
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), moments: VecDeque::new(), last: Err("not asked yet".to_owned()) }
    }

    /// Adds an answer that came at `seconds` on a monotonic clock.
    pub(crate) fn take(&mut self, seconds: f64, answer: Result<Answer, String>) {
        self.last = answer.map(|answer| (Metrics::read(&answer.metrics), answer.reasons));
        let Ok((metrics, _)) = &self.last else { return };
        let kinds = metrics.by("leitong_verdicts_total", "kind");
        let duplicates = kinds.iter().filter(|(kind, _)| kind.ends_with("_DUPLICATE"));
        let now = Moment {
            seconds,
            pages: metrics.sum("leitong_pages_read_total"),
            verdicts: metrics.sum("leitong_verdicts_total"),
            duplicates: duplicates.map(|(_, count)| count).sum(),
            delay_sum: metrics.sum("leitong_verdict_delay_seconds_sum"),
            delays: metrics.sum("leitong_verdict_delay_seconds_count"),
        };
        // A restarted worker counts from 0 again.
        if self.moments.back().is_some_and(|last| last.verdicts > now.verdicts || last.pages > now.pages) {
            self.moments.clear();
        }
        self.moments.push_back(now);
        while self.moments.len() > 2 && now.seconds - self.moments[1].seconds >= WINDOW_S {
            self.moments.pop_front();
        }
    }

    /// Returns the increase of the counters over the last minute. `seconds` is the length of that time.
    fn lately(&self) -> Moment {
        let (Some(a), Some(b)) = (self.moments.front(), self.moments.back()) else {
            return Moment::default();
        };
        Moment {
            seconds: b.seconds - a.seconds,
            pages: b.pages - a.pages,
            verdicts: b.verdicts - a.verdicts,
            duplicates: b.duplicates - a.duplicates,
            delay_sum: b.delay_sum - a.delay_sum,
            delays: b.delays - a.delays,
        }
    }

    /// Returns everything that the last answer contains. `now` is in seconds since 1970.
    fn live(&self, now: f64) -> Option<Live> {
        let (metrics, reasons) = self.last.as_ref().ok()?;
        let context = Context {
            dead: Vec::new(),
            not_ready: reasons.clone(),
            history: &History::default(),
            tally: &Tally::default(),
            templates: Vec::new(),
            now,
        };
        Some(Live::from_metrics(metrics, context))
    }
}

/// Returns the lines of the screen. `now` is in seconds since 1970.
#[must_use]
pub(crate) fn frame(workers: &[Seen], now: f64) -> Vec<String> {
    let lives: Vec<(&Seen, Option<Live>)> = workers.iter().map(|seen| (seen, seen.live(now))).collect();
    let mut lines = Vec::new();
    totals(&lives, &mut lines);
    each_worker(&lives, &mut lines);
    tables(&lives, &mut lines);
    lag(&lives, &mut lines);
    dead_letters(&lives, &mut lines);
    templates(&lives, &mut lines);
    lines
}

type Lives<'a> = [(&'a Seen, Option<Live>)];

fn totals(lives: &Lives<'_>, lines: &mut Vec<String>) {
    let answering = lives.iter().filter(|(_, live)| live.is_some()).count();
    let is_ready = |live: &Option<Live>| live.as_ref().is_some_and(|live| live.not_ready.is_empty());
    let ready = lives.iter().filter(|(_, live)| is_ready(live)).count();
    lines.push(format!("{} worker(s), {answering} answering, {ready} ready", lives.len()));
    let sum = |of: fn(&Moment) -> f64| lives.iter().map(|(seen, _)| of(&seen.lately())).sum::<f64>();
    let rates = |of: fn(&Moment) -> f64| {
        let rate = |seen: &Seen| of(&seen.lately()) / seen.lately().seconds.max(0.001);
        lives.iter().map(|(seen, _)| rate(seen)).sum::<f64>()
    };
    let live = || lives.iter().filter_map(|(_, live)| live.as_ref());
    let dead: u64 = live().flat_map(|live| &live.dead_letters).map(|(_, count)| count).sum();
    lines.push(format!(
        "pages/s {:.0}   verdicts/s {:.0}   duplicates {}   delay {}   waiting {}   dead letters {dead}",
        rates(|moment| moment.pages),
        rates(|moment| moment.verdicts),
        share(sum(|moment| moment.duplicates), sum(|moment| moment.verdicts)),
        delay(sum(|moment| moment.delay_sum), sum(|moment| moment.delays)),
        live().map(Live::lag_records).sum::<u64>(),
    ));
}

fn each_worker(lives: &Lives<'_>, lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(format!(
        "{:<24} {:<10} {:>9} {:>10} {:>10} {:>9} {:>9} {:>6}  OWNS",
        "WORKER", "STATE", "PAGES/S", "VERDICTS/S", "DUPLICATES", "DELAY", "WAITING", "DEAD"
    ));
    for (seen, live) in lives {
        let name = escape(&seen.name);
        let Some(live) = live else {
            let why = seen.last.as_ref().err().map_or("", String::as_str);
            lines.push(format!("{name:<24} no answer: {}", short(why)));
            continue;
        };
        let lately = seen.lately();
        let per_second = |count: f64| count / lately.seconds.max(0.001);
        let owned = live.owned.iter().map(|(stage, count)| format!("{} {count}", escape(stage)));
        let dead: u64 = live.dead_letters.iter().map(|(_, count)| count).sum();
        let state = match (live.not_ready.is_empty(), live.paused) {
            (false, _) => "not ready",
            (true, true) => "paused",
            (true, false) => "working",
        };
        lines.push(format!(
            "{name:<24} {state:<10} {:>9.1} {:>10.1} {:>10} {:>9} {:>9} {dead:>6}  {}",
            per_second(lately.pages),
            per_second(lately.verdicts),
            share(lately.duplicates, lately.verdicts),
            delay(lately.delay_sum, lately.delays),
            live.lag_records(),
            owned.collect::<Vec<_>>().join(", "),
        ));
        for reason in &live.not_ready {
            lines.push(format!("{:<24} {}", "", short(reason)));
        }
    }
}

/// Lists the owner and the standbys of each log partition.
fn tables(lives: &Lives<'_>, lines: &mut Vec<String>) {
    #[derive(Default)]
    struct Table {
        owners: Vec<String>,
        standbys: Vec<String>,
        more: Vec<String>,
    }
    let mut tables: BTreeMap<u32, Table> = BTreeMap::new();
    for (seen, live) in lives {
        let Some(live) = live else { continue };
        let (name, owns) = (escape(&seen.name), live.owned.iter().any(|(stage, _)| stage == "cluster"));
        if let Ok((metrics, _)) = &seen.last {
            // A partition without an owner gets a line as well.
            let all = metrics.value("leitong_log_partitions").unwrap_or(0.0).clamp(0.0, 10_000.0) as u32;
            (0..all).for_each(|partition| _ = tables.entry(partition).or_default());
        }
        for found in &live.tables {
            let Ok(partition) = found.partition.parse() else { continue };
            let table = tables.entry(partition).or_default();
            if let Some(centroids) = found.centroids.filter(|_| owns) {
                table.owners.push(format!("{name} ({centroids} centroids)"));
            } else if let Some(restored) = found.restored_centroids.filter(|_| !live.not_ready.is_empty()) {
                table.more.push(format!("{name} is restoring: {restored} centroids so far"));
            }
            if let Some(centroids) = found.standby_centroids.filter(|centroids| *centroids > 0) {
                table.standbys.push(format!("{name} ({centroids})"));
            }
            if let Some(age) = found.snapshot_age_seconds.filter(|_| owns) {
                table.more.push(format!("snapshot {age:.0} s old"));
            }
            if found.halted {
                table.more.push(format!("HALTED at {name}: see its log"));
            }
        }
    }
    if tables.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push(format!("{:<9} {:<42} {:<34} MORE", "PARTITION", "OWNER", "STANDBY"));
    for (partition, table) in tables {
        let or =
            |list: &[String], none: &str| if list.is_empty() { none.to_owned() } else { list.join(", ") };
        lines.push(format!(
            "{partition:<9} {:<42} {:<34} {}",
            or(&table.owners, "none of these workers"),
            or(&table.standbys, "-"),
            table.more.join("; ")
        ));
    }
}

fn lag(lives: &Lives<'_>, lines: &mut Vec<String>) {
    let mut lags: Vec<(u64, String)> = Vec::new();
    for (seen, live) in lives {
        for lag in live.iter().flat_map(|live| &live.lag).filter(|lag| lag.records > 0) {
            let place = format!("{}[{}]", escape(&lag.topic), escape(&lag.partition));
            lags.push((lag.records, format!("{place:<40} {}", escape(&seen.name))));
        }
    }
    lags.sort_by(|a, b| b.cmp(a));
    lines.push(String::new());
    if lags.is_empty() {
        lines.push("no partition has waiting records".to_owned());
        return;
    }
    lines.push(format!("{:>10}  {:<40} READ BY", "WAITING", "PARTITION"));
    let more = lags.len().saturating_sub(LAGS_MAX);
    lines.extend(lags.iter().take(LAGS_MAX).map(|(records, place)| format!("{records:>10}  {place}")));
    if more > 0 {
        lines.push(format!("{:>10}  and {more} partitions with fewer", ""));
    }
}

fn dead_letters(lives: &Lives<'_>, lines: &mut Vec<String>) {
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in
        lives.iter().filter_map(|(_, live)| live.as_ref()).flat_map(|live| &live.dead_letters)
    {
        *causes.entry(cause).or_default() += count;
    }
    if causes.is_empty() {
        return;
    }
    let mut causes: Vec<(&str, u64)> = causes.into_iter().filter(|(_, count)| *count > 0).collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut line = "dead letters:".to_owned();
    for (cause, count) in causes.iter().take(CAUSES_MAX) {
        let _ = write!(line, " {} {count}", escape(cause));
    }
    lines.push(String::new());
    lines.push(line);
}

/// Lists the number of template alarms by worker.
fn templates(lives: &Lives<'_>, lines: &mut Vec<String>) {
    let alarms = lives.iter().filter_map(|(seen, _)| {
        let (metrics, _) = seen.last.as_ref().ok()?;
        let count = metrics.sum("leitong_templates_total");
        (count > 0.0).then(|| format!("{} {count:.0}", escape(&seen.name)))
    });
    let alarms: Vec<String> = alarms.collect();
    if !alarms.is_empty() {
        lines.push(format!("template alarms (see the workers' logs): {}", alarms.join(", ")));
    }
}

fn share(part: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.1} %", 100.0 * part / all) } else { "-".to_owned() }
}

fn delay(sum: f64, count: f64) -> String {
    if count > 0.0 { format!("{:.2} s", sum / count) } else { "-".to_owned() }
}

/// Escapes and cuts text of another process, so it stays on one line.
fn short(text: &str) -> String {
    let cut: String = text.chars().take(REASON_CHARS_MAX).collect();
    escape(&cut).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(metrics: &str) -> Result<Answer, String> {
        Ok(Answer { metrics: metrics.to_owned(), reasons: Vec::new() })
    }

    #[test]
    fn rates_cover_the_last_minute_and_start_again_with_the_worker() {
        let mut seen = Seen::new("a");
        let at = |pages: u32| {
            answer(&format!(
                "leitong_pages_read_total {pages}\nleitong_verdicts_total{{kind=\"UNIQUE\"}} {pages}\n"
            ))
        };
        for second in 0..200 {
            seen.take(f64::from(second), at(second * if second < 100 { 1_000 } else { 0 } + 500_000));
        }
        assert!(seen.moments.len() <= 62, "{}", seen.moments.len());
        let mut seen = Seen::new("a");
        for second in 0..100 {
            seen.take(f64::from(second), at(second * 20));
        }
        assert_eq!((seen.lately().pages, seen.lately().seconds), (1_200.0, 60.0));
        seen.take(100.0, at(3));
        assert_eq!(seen.lately().pages, 0.0, "not negative");
        seen.take(101.0, at(10));
        assert_eq!((seen.lately().pages, seen.lately().seconds), (7.0, 1.0));
    }

    #[test]
    fn a_frame_shows_owners_and_waiting_records() {
        let mut a = Seen::new("10.0.0.1:9464");
        let metrics = |verdicts: u32| {
            answer(&format!(
                "leitong_verdicts_total{{kind=\"UNIQUE\"}} 90\nleitong_verdicts_total{{kind=\"NEAR_DUPLICATE\"}} {verdicts}\n\
                 leitong_partitions_owned{{stage=\"cluster\"}} 1\nleitong_centroids{{partition=\"0\"}} 600\n\
                 leitong_standby_centroids{{partition=\"1\"}} 55\nleitong_log_partitions 3\n\
                 leitong_lag_records{{topic=\"t\\u{{1b}}[2J\",partition=\"2\"}} 40\nleitong_partition_halted{{partition=\"2\"}} 1\n\
                 leitong_dead_letters_total{{cause=\"BROKEN_JSON\"}} 3\n"
            ))
        };
        a.take(0.0, metrics(10));
        a.take(10.0, metrics(60));
        let mut b = Seen::new("b:1");
        b.take(0.0, Ok(Answer { metrics: String::new(), reasons: vec!["restoring \u{1b}[31m".to_owned()] }));
        let mut c = Seen::new("c:1");
        c.take(0.0, Err("connection refused".to_owned()));
        let text = frame(&[a, b, c], 0.0).join("\n");
        for expected in [
            "3 worker(s), 2 answering, 1 ready",
            "verdicts/s 5 ",
            "duplicates 100.0 %",
            "10.0.0.1:9464 (600 centroids)",
            "10.0.0.1:9464 (55)",
            "none of these workers",
            "HALTED at 10.0.0.1:9464",
            "restoring \\u{1b}[31m",
            "c:1                      no answer: connection refused",
            "dead letters: BROKEN_JSON 3",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        assert!(!text.replace('\n', "").contains(char::is_control), "{text:?}");
    }
}

//! Breaks a worker in several ways; Prometheus itself fires the alerts that ship.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use leitong_base::proto;
use prost::Message;
use serde_json::Value;

use crate::admin::Admin;
use crate::broker::server::Server;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{Installation, Worker};
use crate::broker::{HANG_LIMIT, bootstrap, pause, wait_until};
use crate::common::{article, free_ports, percent_encoded, prometheus_tool};

/// Queues are reported five times per second.
const OFTEN: &str = "[kafka.properties]\n\"statistics.interval.ms\" = 200\n";

fn pages(from: usize, count: usize, sentences: usize) -> Vec<Row> {
    let page = |i| Row::page((i % 3) as i32, &format!("p{i}"), &article(i % 50, sentences));
    (from..from + count).map(page).collect()
}

/// docs/kafka.md says to wait until the lag of the log is 0, so a metric must show it.
#[test]
fn the_lag_of_the_log_is_shown() {
    let installation = Installation::new(&bootstrap(), "lag", OFTEN);
    installation.produce(&pages(0, 6000, 4));
    let upstream = installation.worker(&["--role", "fingerprint"]);
    wait_until("all pages are in the log", || upstream.metric("leitong_log_records_sent_total") >= 6000.0);
    let lag = |worker: &Worker, topic: &str| {
        let (_, metrics) = worker.get("/metrics").unwrap_or_default();
        let wanted = format!("leitong_lag_records{{topic=\"{}\"", installation.topic(topic));
        let lines = metrics.lines().filter(|line| line.starts_with(&wanted));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).reduce(|a, b| a + b)
    };
    wait_until("no page is unread", || lag(&upstream, "pages") == Some(0.0));
    let owner = installation.worker(&["--role", "cluster"]);
    let mut most = 0.0_f64;
    wait_until("the log is read to its end", || {
        let lag = lag(&owner, "log");
        most = most.max(lag.unwrap_or(0.0));
        lag == Some(0.0) && owner.metric("leitong_log_records_taken_total") >= 6000.0
    });
    assert!(most > 0.0 && most <= 6000.0, "the greatest lag that was seen is {most}\n{}", owner.log());
    // New records count before they are read, and no longer once they are.
    installation.feed(&pages(6000, 30, 4), 6030);
    wait_until("the log is read to its end again", || lag(&owner, "log") == Some(0.0));
}

/// Prometheus with the rules that ship, but with short windows. It is ended when dropped.
pub(crate) struct Prometheus {
    _server: Server,
    address: String,
}

impl Prometheus {
    pub(crate) fn start(folder: &Path, worker: &str) -> Self {
        let mut rules = std::fs::read_to_string("deploy/alerts.yml").expect("the rules");
        for (long, short) in [("[15m]", "[10s]"), ("[10m]", "[15s]"), ("[5m]", "[15s]")] {
            assert!(rules.contains(long), "{long}");
            rules = rules.replace(long, short);
        }
        let short = |line: &str| match line.trim_start().starts_with("for: ") {
            true => "        for: 2s".to_owned(),
            false => line.to_owned(),
        };
        let rules: Vec<String> = rules.lines().map(short).collect();
        std::fs::write(folder.join("alerts.yml"), rules.join("\n")).expect("written");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [alerts.yml]\nscrape_configs:\n- \
             job_name: leitong\n  static_configs: [{{targets: ['{worker}']}}]\n"
        );
        std::fs::write(folder.join("prometheus.yml"), config).expect("written");
        let address = free_address();
        let mut command = prometheus_tool("prometheus");
        command
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"));
        let server = Server::start(&command, &folder.join("prometheus.log"), "KILL");
        Self { _server: server, address }
    }

    /// Returns the answer to an API request.
    pub(crate) fn ask(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(*HANG_LIMIT)).ok()?;
        write!(stream, "GET /api/v1/{path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split("\r\n\r\n").nth(1)?).ok()
    }

    /// Returns true once Prometheus has read the worker's metrics. A counter that rose earlier shows no increase.
    fn has_scraped(&self) -> bool {
        self.ask("query?query=up").is_some_and(|answer| answer["data"]["result"][0]["value"][1] == "1")
    }

    /// Returns the number of series of a query whose current values are numbers.
    fn series(&self, query: &str) -> usize {
        let answer = self.ask(&format!("query?query={}", percent_encoded(query))).unwrap_or_default();
        let result = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        result.iter().filter(|series| series["value"][1] != "NaN").count()
    }

    /// Returns the firing alerts.
    fn firing(&self) -> Option<Vec<String>> {
        let answer = self.ask("alerts")?;
        let alerts = answer["data"]["alerts"].as_array()?;
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        firing.map(|alert| alert["labels"]["alertname"].as_str().map(str::to_owned)).collect()
    }

    fn fires(&self, alert: &str) -> bool {
        self.firing().is_some_and(|firing| firing.iter().any(|name| name == alert))
    }

    #[track_caller]
    fn wait_for(&self, alert: &str) {
        wait_until(format_args!("{alert} fires"), || self.fires(alert));
    }
}

pub(crate) fn free_address() -> String {
    format!("127.0.0.1:{}", free_ports(1)[0])
}

/// Fetches a batch of each partition at most every three seconds, however fast the worker is otherwise.
const SLOW: &str = "\"fetch.queue.backoff.ms\" = 3000\n\"queued.min.messages\" = 1\n\
    \"queued.max.messages.kbytes\" = 1\n\"max.partition.fetch.bytes\" = 1000\n";

#[test]
fn alerts_fire_if_a_worker_is_broken() {
    let slow = format!("{OFTEN}{SLOW}");
    let installation = Installation::new(&bootstrap(), "alerts", &slow);
    let address = free_address();
    let mut worker = installation.worker(&["--admin", &address]);
    worker.wait_until_ready();
    let prometheus = Prometheus::start(installation.folder.path(), &address);
    installation.feed(&pages(0, 60, 20), 60);
    wait_until("Prometheus has read the worker's metrics", || prometheus.has_scraped());
    wait_until("no alert fires", || prometheus.firing().is_some_and(|firing| firing.is_empty()));

    let broken = Row { value: Some(b"no page".to_vec()), ..Row::default() };
    installation.produce(&vec![broken; 30]);
    prometheus.wait_for("LeitongDeadLetters");

    // The worker does not keep up with the crawler.
    let mut written = 60;
    let mut more = 14_000;
    wait_until("LeitongLagGrows fires", || {
        installation.produce(&pages(written, more, 20));
        written += more;
        more = 1_000;
        pause(300);
        prometheus.fires("LeitongLagGrows")
    });

    worker.kill();
    installation.configure(OFTEN);
    prometheus.wait_for("LeitongWorkerDown");
    prometheus.wait_for("LeitongNoOwner");
    prometheus.wait_for("LeitongNoReader");

    // Retention deletes records while nobody reads. The next worker notices it before its first scrape.
    Admin::new(&installation).delete_records(&installation.topic("pages"), written as i64 / 3);
    let newer = proto::FingerprintRecord { format_version: 99, ..proto::FingerprintRecord::default() };
    let row = Row { value: Some(newer.encode_to_vec()), ..Row::default() };
    topics::produce(&installation.bootstrap, &installation.topic("log"), &[row]);
    let worker = installation.worker(&["--admin", &address]);
    prometheus.wait_for("LeitongPagesLost");
    prometheus.wait_for("LeitongPartitionHalted");
    drop(worker);
}

const NOTICE: &str = "本站所有内容仅供参考，转载请注明出处。";

/// Returns a page of one site's form: everything except the last sentences is the same.
fn filled_in(number: usize) -> Row {
    let text = [article(100 + number, 2), article(60, 40), NOTICE.to_owned()].join("\n\n");
    Row::page((number % 3) as i32, &format!("form{number}"), &text)
}

/// The command recommended by the template alarm reads the page topic and needs no worker.
#[test]
fn common_text_of_a_sites_pages_is_listed_by_every_reader() {
    let installation = Installation::new(&bootstrap(), "boilerplate", "");
    let page = |site: &str, number: usize, text: &str| {
        let url = format!("https://{site}/{number}");
        let page = serde_json::json!({ "id": format!("{site}-{number}"), "url": url, "text": text });
        let partition = (number % 3) as i32;
        Row { partition, value: Some(page.to_string().into_bytes()), ..Row::default() }
    };
    let mut rows: Vec<Row> = (0..30).map(|number| page("other.test", number, &article(number, 6))).collect();
    rows.extend((0..12).map(|number| {
        let text = [article(100 + number, 3), NOTICE.to_owned(), article(200 + number, 3)].join("\n\n");
        page("Forms.test:443", number, &text)
    }));
    rows.push(Row { value: Some(b"no page".to_vec()), ..Row::default() });
    installation.produce(&rows);
    let listed = installation.leitong(&["boilerplate", "site", "forms.TEST"]);
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    let [head, about, on, notice] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((*head, *on), ("# leitong boilerplate 1", "# On 10 of 10:"));
    assert!(about.contains("10 pages of forms.TEST") && notice.contains("转载请注明出处"), "{lines:?}");
    let elsewhere = installation.leitong(&["boilerplate", "site", "none.test", "--from", "beginning"]);
    assert_eq!(elsewhere.status, 1, "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains("0 page(s) of \"none.test\""), "{}", elsewhere.stderr);
}

#[test]
fn the_template_alarm_fires_and_every_query_has_data() {
    let installation = Installation::new(&bootstrap(), "templates", OFTEN);
    let address = free_address();
    let worker = installation.worker(&["--admin", &address]);
    worker.wait_until_ready();
    let prometheus = Prometheus::start(installation.folder.path(), &address);
    installation.feed(&pages(0, 60, 20), 60);
    wait_until("Prometheus has read the worker's metrics", || prometheus.has_scraped());
    assert!(
        !prometheus.fires("LeitongTemplate"),
        "fifty texts, ten of them twice, are not a template\n{}",
        worker.log()
    );

    let forms: Vec<Row> = (0..14).map(filled_in).collect();
    installation.feed(&forms, 74);
    prometheus.wait_for("LeitongTemplate");
    assert!(prometheus.series("ALERTS{alertname=\"LeitongTemplate\",what=\"cluster\"}") > 0);
    let said = worker.plain_log();
    assert!(said.contains("looks like a template") && said.contains("site=\"example.test\""), "{said}");
    // The command lists what the pages of the site share.
    let command = "leitong boilerplate site --config FILE example.test";
    assert!(said.contains(&format!("command=\"{command}\"")), "{said}");

    let dashboard = std::fs::read_to_string("deploy/grafana/dashboards/leitong.json").expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let rules = std::fs::read_to_string("deploy/alerts.yml").expect("the rules");
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    let mut queries: Vec<String> = recorded.map(str::to_owned).collect();
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    queries.extend(targets.map(|target| target["expr"].as_str().expect("a query").to_owned()));
    assert!(queries.len() > 20, "{queries:?}");
    // Rates per second need pages in these seconds.
    let mut number = 100;
    for query in &queries {
        wait_until(format_args!("{query} has data"), || {
            installation.produce(&pages(number, 3, 20));
            number += 3;
            pause(300);
            prometheus.series(query) > 0
        });
    }
}

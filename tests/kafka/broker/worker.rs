//! Runs `leitong run` as an operator does: processes that can be stopped, killed and frozen.

use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::topics::{self, Row};
use super::{HANG_LIMIT, wait_until};
use crate::common::{self, EVERY_SETTING, Run, leitong};

/// The topics and the configuration of one test.
pub(crate) struct Installation {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) bootstrap: String,
    pub(crate) app: String,
    /// The configured brokers: `bootstrap`, or a proxy.
    workers_bootstrap: String,
    workers: AtomicU32,
}

impl Installation {
    /// Creates topics for `name`, with a configuration that ends in `more`; three page partitions unless it
    /// sets another number.
    pub(crate) fn new(bootstrap: &str, name: &str, more: &str) -> Self {
        let installation = Self::without_topics(bootstrap, name, more);
        // On a busy machine a broker may not answer in time, or hear of a topic late.
        wait_until("the topics are made and known", || {
            installation.leitong(&["topics", "create"]).status == 0
        });
        installation
    }

    /// Creates an installation whose workers reach the brokers through a proxy. `proxy` may be a variable in
    /// their environment, `${LIKE_THIS}`. The test's own clients talk to the brokers directly.
    pub(crate) fn behind(proxy: &str, bootstrap: &str, name: &str, more: &str) -> Self {
        let mut installation = Self::new(bootstrap, name, more);
        installation.workers_bootstrap = proxy.to_owned();
        installation.configure(more);
        installation
    }

    pub(crate) fn without_topics(bootstrap: &str, name: &str, more: &str) -> Self {
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_millis();
        let app = format!("{name}-{}-{now}", std::process::id());
        let installation = Self {
            folder: tempfile::tempdir().expect("a folder"),
            bootstrap: bootstrap.to_owned(),
            app,
            workers_bootstrap: bootstrap.to_owned(),
            workers: AtomicU32::new(0),
        };
        installation.configure(more);
        installation
    }

    /// Writes the configuration again, with another end.
    pub(crate) fn configure(&self, more: &str) {
        let app = &self.app;
        let create =
            if more.contains("[kafka.create]") { "" } else { "[kafka.create]\npage_partitions = 3\n" };
        let text = format!(
            "[kafka]\nbootstrap_servers = \"{}\"\napp = \"{app}\"\n[kafka.topics]\npages = \"{app}.pages\"\n\
             fingerprints = \"{app}.log\"\nverdicts = \"{app}.verdicts\"\ncentroids = \"{app}.centroids\"\n\
             dead_letters = \"{app}.dead\"\n[admin]\naddress = \"127.0.0.1:0\"\n{create}{more}\n",
            self.workers_bootstrap
        );
        std::fs::write(self.config(), text).expect("written");
    }

    /// Lets every instance that starts from now on keep standby tables.
    pub(crate) fn keep_standbys(&self) {
        self.edit("[kafka]\n", "[kafka]\nstandby = true\n");
    }

    /// Replaces the first `from` in the configuration.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.config()).expect("a configuration");
        assert!(text.contains(from), "{from}: {text}");
        std::fs::write(self.config(), text.replacen(from, to, 1)).expect("written");
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("leitong.toml")
    }

    pub(crate) fn topic(&self, name: &str) -> String {
        format!("{}.{name}", self.app)
    }

    /// Runs a command to its end, with this configuration.
    pub(crate) fn leitong(&self, arguments: &[&str]) -> Run {
        let output =
            leitong().args(arguments).arg("--config").arg(self.config()).output().expect("it starts");
        Run::from_output(output)
    }

    pub(crate) fn produce(&self, rows: &[Row]) {
        topics::produce(&self.bootstrap, &self.topic("pages"), rows);
    }

    /// Writes pages, and waits until there are `total` verdicts and dead letters.
    #[track_caller]
    pub(crate) fn feed(&self, rows: &[Row], total: usize) {
        self.produce(rows);
        self.wait_for_verdicts(total);
    }

    /// Returns true once a worker has joined a group.
    pub(crate) fn has_groups(&self) -> bool {
        let groups = topics::groups(&self.bootstrap);
        groups.iter().any(|group| group.starts_with(&self.app))
    }

    pub(crate) fn verdicts(&self) -> Vec<serde_json::Value> {
        topics::verdicts(&self.bootstrap, &self.topic("verdicts"))
    }

    pub(crate) fn dead_letters(&self) -> Vec<Row> {
        topics::read_all(&self.bootstrap, &self.topic("dead"))
    }

    /// Waits until there are `count` verdicts and dead letters, and returns the verdicts.
    #[track_caller]
    pub(crate) fn wait_for_verdicts(&self, count: usize) -> Vec<serde_json::Value> {
        let mut verdicts = Vec::new();
        wait_until(format_args!("{count} verdicts and dead letters"), || {
            verdicts = self.verdicts();
            verdicts.len() + self.dead_letters().len() >= count
        });
        verdicts
    }

    /// Starts `leitong run` with additional arguments.
    pub(crate) fn worker(&self, arguments: &[&str]) -> Worker {
        self.worker_with(arguments, &[])
    }

    /// Starts a worker and waits until it is ready; its table must come from `source`.
    #[track_caller]
    pub(crate) fn restored_worker(&self, source: &str, arguments: &[&str]) -> Worker {
        let worker = self.worker(arguments);
        worker.wait_until_ready();
        let said = worker.plain_log();
        assert!(said.contains(&format!("from={source}")), "{said}");
        worker
    }

    /// Starts `leitong run` with additional arguments and environment variables.
    pub(crate) fn worker_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Worker {
        self.start(leitong(), arguments, environment)
    }

    /// Starts `run` of another program.
    pub(crate) fn worker_of(&self, program: &Path, arguments: &[&str]) -> Worker {
        let mut command = Command::new(program);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).env_remove("RUST_LOG");
        command.env(EVERY_SETTING.0, EVERY_SETTING.1);
        self.start(command, arguments, &[])
    }

    /// Starts `run` of a program with its own arguments, such as those of a container engine.
    pub(crate) fn start(
        &self,
        mut program: Command,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Worker {
        let number = self.workers.fetch_add(1, Ordering::Relaxed);
        let log = self.folder.path().join(format!("worker{number}.log"));
        let file = File::create(&log).expect("a file");
        let child = program
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("the worker starts");
        Worker { child, log }
    }

    /// Returns the verdicts of `leitong replay` on the log.
    pub(crate) fn replay(&self, more: &[&str]) -> Run {
        let output = leitong().arg("replay").arg("--config").arg(self.config()).args(more).output();
        Run::from_output(output.expect("it starts"))
    }
}

/// The outcomes compared with the pages that were written.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Partition and offset of pages with more than one outcome.
    pub(crate) twice: Vec<(i64, i64)>,
    /// Partition and offset of pages without an outcome.
    pub(crate) lost: Vec<(i64, i64)>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let few = |places: &[(i64, i64)]| places.iter().copied().take(20).collect::<Vec<_>>();
        let Self { twice, lost } = self;
        write!(f, "{} lost {:?}, {} twice {:?}", lost.len(), few(lost), twice.len(), few(twice))
    }
}

impl Installation {
    /// Returns which of `rows` have no outcome so far, or more than one, for a `read_committed` consumer.
    pub(crate) fn tally(&self, rows: &[Row]) -> Tally {
        tally(&self.verdicts(), &self.dead_letters(), rows)
    }

    /// Checks what must always hold: one outcome for each of `rows` for a `read_committed` consumer, and
    /// verdicts equal to those of the log. Returns the verdicts.
    #[track_caller]
    pub(crate) fn assert_exactly_once(&self, rows: &[Row]) -> Vec<serde_json::Value> {
        let (verdicts, letters) = (self.verdicts(), self.dead_letters());
        let tally = tally(&verdicts, &letters, rows);
        assert!(tally.twice.is_empty() && tally.lost.is_empty(), "of {} pages: {tally}", rows.len());
        let replay = self.replay(&["--dead-letters", "/dev/null"]);
        assert_eq!(replay.status, if letters.is_empty() { 0 } else { 3 }, "{}", replay.stderr);
        let [published, replayed] =
            [verdicts.clone(), replay.verdicts()].map(|verdicts| checked_by_cluster(&verdicts));
        common::assert_same("verdict topic and replay", &published, &replayed);
        verdicts
    }
}

fn tally(verdicts: &[serde_json::Value], letters: &[Row], rows: &[Row]) -> Tally {
    let sources = topics::sources(verdicts, letters);
    let twice = sources.iter().filter(|(_, count)| **count > 1).map(|(place, _)| *place).collect();
    let mut written = std::collections::BTreeMap::new();
    for row in rows {
        *written.entry(i64::from(row.partition)).or_insert(0) += 1;
    }
    let places = written.iter().flat_map(|(partition, count)| (0..*count).map(|offset| (*partition, offset)));
    let lost = places.filter(|place| !sources.contains_key(place)).collect();
    Tally { twice, lost }
}

/// Returns the fields of verdicts that are the same whenever a log is read. Ids of clusters are not among
/// them. Instead, this checks that each id has one canonical page, in the order of the log, until a verdict
/// says that its page replaces that one.
fn checked_by_cluster(verdicts: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let is_of_cluster = |verdict: &&serde_json::Value| {
        !verdict["cluster_id"].is_null() || !verdict["recrawl"]["left_cluster_id"].is_null()
    };
    let mut in_order: Vec<_> = verdicts.iter().filter(is_of_cluster).collect();
    in_order.sort_by_key(|verdict| (verdict["log_partition"].as_u64(), verdict["log_offset"].as_u64()));
    let mut canonical = std::collections::HashMap::new();
    for verdict in in_order {
        let (named, replaces) = (&verdict["canonical_page_id"], &verdict["replaces_page_id"]);
        if !named.is_null()
            && let Some(former) = canonical.insert(&verdict["cluster_id"], named)
        {
            let canonical = if replaces.is_null() { named } else { replaces };
            assert_eq!(canonical, former, "a cluster has one canonical page: {verdict}");
        }
        let recrawl = &verdict["recrawl"];
        if !recrawl["successor_page_id"].is_null() {
            canonical.insert(&recrawl["left_cluster_id"], &recrawl["successor_page_id"]);
        }
    }
    verdicts.iter().map(common::stable_fields).collect()
}

/// Fast failure detection: a missing member is noticed after 1.5 seconds. Last part of a configuration, to
/// which more properties may be added.
pub(crate) const FAST_FAILURE_DETECTION: &str =
    "[kafka.properties]\n\"session.timeout.ms\" = 1500\n\"heartbeat.interval.ms\" = 300\n";

/// A running worker. It is killed when dropped.
pub(crate) struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The log, read when it is displayed: for messages about waiting.
    pub(crate) fn latest(&self) -> impl Display {
        std::fmt::from_fn(|formatter| formatter.write_str(&self.log()))
    }

    /// Returns the log, without colours.
    pub(crate) fn plain_log(&self) -> String {
        common::plain(&self.log())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, given by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status();
        assert!(sent.expect("sh starts").success());
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends SIGTERM, and returns the exit status.
    #[track_caller]
    pub(crate) fn terminate(&mut self) -> i32 {
        self.signal("TERM");
        self.wait()
    }

    /// Returns the exit status; as in a shell, 143 and similar if a signal has ended the worker.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> i32 {
        let mut status = None;
        wait_until("the worker ends", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        let status = status.expect("it has ended");
        status.code().or_else(|| Some(128 + status.signal()?)).expect("a code or a signal")
    }

    /// Returns true if the worker has not ended. The system keeps an ended process as a zombie until somebody waits for
    /// it.
    pub(crate) fn is_running(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/status", self.pid()))
            .is_ok_and(|status| !status.contains("State:\tZ"))
    }

    #[track_caller]
    pub(crate) fn wait_for_log(&self, text: &str) {
        wait_until(format_args!("{text:?} in the log:\n{}", self.latest()), || self.log().contains(text));
    }

    /// Returns status and body of a path of the admin port.
    pub(crate) fn get(&self, path: &str) -> Option<(u16, String)> {
        let log = self.plain_log();
        let address = log.split("admin port: http://").nth(1)?.split_whitespace().next()?.to_owned();
        let mut stream = TcpStream::connect(&address).ok()?;
        stream.set_read_timeout(Some(*HANG_LIMIT)).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        Some((status, answer.split("\r\n\r\n").nth(1)?.to_owned()))
    }

    #[track_caller]
    pub(crate) fn wait_until_ready(&self) {
        wait_until(format_args!("ready:\n{}", self.latest()), || {
            assert!(self.is_running(), "it has ended:\n{}", self.log());
            self.get("/readyz").is_some_and(|(status, _)| status == 200)
        });
    }

    /// Returns the sum of a metric over all labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").unwrap_or_default();
        let values = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('{'))
        });
        values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Returns the resident memory in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) * 1024
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- {}:\n{}", self.log.display(), self.log());
        }
    }
}

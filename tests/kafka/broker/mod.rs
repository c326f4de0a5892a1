//! Apache Kafka for the tests: `make broker-tools` fetches it into `target/kafka`. It listens on free
//! loopback ports, and is killed with the test process. `KAFKA_BOOTSTRAP` names another cluster, for tests
//! that do not need their own broker.

pub(crate) mod crawler;
pub(crate) mod jars;
pub(crate) mod server;
pub(crate) mod topics;
pub(crate) mod watch;
pub(crate) mod worker;

use crate::common::free_ports;
pub(crate) use crate::common::wait::{HANG_LIMIT, wait_until};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// A cluster of this test binary.
pub(crate) struct Brokers {
    folder: tempfile::TempDir,
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    running: Option<Running>,
}

struct Running {
    child: Child,
    /// Kills the broker and removes its data when its standard input closes, that is, however the test
    /// process ends.
    watchdog: Child,
}

/// An additional listener of a broker, for clients that are sent to the port of a proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proxied {
    /// The port on which the broker listens.
    pub(crate) port: u16,
    /// The port that the broker advertises to the clients of this listener.
    pub(crate) advertised: u16,
}

/// Returns the address of the brokers: `KAFKA_BOOTSTRAP`, or a cluster that all tests of this binary share.
pub(crate) fn bootstrap() -> String {
    static SHARED: OnceLock<Brokers> = OnceLock::new();
    match std::env::var("KAFKA_BOOTSTRAP") {
        Ok(servers) if !servers.is_empty() => servers,
        _ => SHARED.get_or_init(|| Brokers::start(1)).bootstrap(),
    }
}

impl Brokers {
    /// Starts `count` brokers, and waits until they serve.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(&vec![Vec::new(); count], "")
    }

    /// Starts a broker for each entry, which lists its additional listeners; `more` are properties that
    /// replace the defaults of the tests.
    pub(crate) fn start_with(proxied: &[Vec<Proxied>], more: &str) -> Self {
        let count = proxied.len();
        let folder = tempfile::tempdir().expect("a folder");
        let ports = free_ports(count * 2);
        let voters: Vec<String> =
            (0..count).map(|i| format!("{}@127.0.0.1:{}", i + 1, ports[count + i])).collect();
        let replicas = count.min(3);
        let min_isr = if count >= 3 { 2 } else { 1 };
        for i in 0..count {
            let (port, controller, data) =
                (ports[i], ports[count + i], folder.path().join(format!("data{i}")));
            let (mut listeners, mut advertised, mut protocols) =
                (String::new(), String::new(), String::new());
            for (at, proxied) in proxied[i].iter().enumerate() {
                listeners += &format!(",PROXIED{at}://127.0.0.1:{}", proxied.port);
                advertised += &format!(",PROXIED{at}://127.0.0.1:{}", proxied.advertised);
                protocols += &format!(",PROXIED{at}:PLAINTEXT");
            }
            let properties = format!(
                "process.roles=broker,controller\nnode.id={id}\ncontroller.quorum.voters={voters}\n\
                 listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listeners}\n\
                 advertised.listeners=PLAINTEXT://127.0.0.1:{port}{advertised}\ncontroller.listener.names=CONTROLLER\n\
                 listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}\n\
                 inter.broker.listener.name=PLAINTEXT\nnum.network.threads=2\nlog.dirs={data}\n\
                 auto.create.topics.enable=false\ndefault.replication.factor={replicas}\nmin.insync.replicas={min_isr}\n\
                 offsets.topic.num.partitions=4\noffsets.topic.replication.factor={replicas}\n\
                 transaction.state.log.num.partitions=4\ntransaction.state.log.replication.factor={replicas}\n\
                 transaction.state.log.min.isr={min_isr}\nshare.coordinator.state.topic.replication.factor={replicas}\n\
                 share.coordinator.state.topic.min.isr={min_isr}\ngroup.initial.rebalance.delay.ms=0\n\
                 group.min.session.timeout.ms=1000\ntransaction.abort.timed.out.transaction.cleanup.interval.ms=1000\n\
                 log.cleaner.backoff.ms=500\nbroker.session.timeout.ms=6000\n{more}",
                id = i + 1,
                voters = voters.join(","),
                data = data.display(),
            );
            let file = folder.path().join(format!("{i}.properties"));
            fs::write(&file, properties).expect("written");
            let formatted = java()
                .args(["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c"])
                .arg(&file)
                .output()
                .expect("java starts");
            assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stderr));
        }
        let nodes = ports[..count].iter().map(|port| Node { port: *port, running: None }).collect();
        let mut brokers = Self { folder, nodes };
        (0..count).for_each(|i| brokers.spawn(i));
        (0..count).for_each(|i| brokers.wait_until_up(i));
        brokers
    }

    /// Returns the bootstrap address for clients.
    pub(crate) fn bootstrap(&self) -> String {
        let servers: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        servers.join(",")
    }

    /// Kills a broker (`kill -9`).
    pub(crate) fn kill(&mut self, i: usize) {
        if let Some(mut running) = self.nodes[i].running.take() {
            running.child.kill().expect("killed");
            running.child.wait().expect("it ends");
            running.watchdog.kill().expect("killed");
            running.watchdog.wait().expect("it ends");
        }
    }

    /// Starts a killed broker again.
    pub(crate) fn restart(&mut self, i: usize) {
        self.spawn(i);
        self.wait_until_up(i);
    }

    /// Kills all brokers (`kill -9`).
    pub(crate) fn kill_all(&mut self) {
        (0..self.nodes.len()).for_each(|i| self.kill(i));
    }

    /// Restarts all brokers. A single one would wait for the others.
    pub(crate) fn restart_all(&mut self) {
        (0..self.nodes.len()).for_each(|i| self.spawn(i));
        (0..self.nodes.len()).for_each(|i| self.wait_until_up(i));
    }

    /// Sends a signal, given by name, to a broker.
    pub(crate) fn signal(&self, i: usize, name: &str) {
        let running = self.nodes[i].running.as_ref().expect("it runs");
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", running.child.id())]).status();
        assert!(sent.expect("sh starts").success());
    }

    /// Returns true if all brokers have all of a topic.
    pub(crate) fn in_sync(&self, topic: &str) -> bool {
        let client: BaseConsumer =
            ClientConfig::new().set("bootstrap.servers", self.bootstrap()).create().expect("a client");
        // The caller repeats this: a broker that has just come back may leave a request unanswered.
        let asked = client.fetch_metadata(Some(topic), Duration::from_secs(10));
        let Ok(metadata) = asked else { return false };
        let partitions = metadata.topics()[0].partitions();
        !partitions.is_empty() && partitions.iter().all(|p| p.isr().len() == self.nodes.len())
    }

    /// Changes a byte in a batch of records, counted from 0, of the topic's first partition that has so many. The
    /// topic is on the first broker.
    pub(crate) fn damage(&self, topic: &str, batch: usize) {
        let end_of = |bytes: &[u8], begin: usize| {
            let length = bytes.get(begin + 8..begin + 12)?.try_into().map(u32::from_be_bytes).ok()?;
            Some(begin + 12 + length as usize)
        };
        let last_byte = (0..16).find_map(|partition| {
            let file = self.folder.path().join(format!("data0/{topic}-{partition}/00000000000000000000.log"));
            let bytes = fs::read(&file).ok()?;
            let end = (0..=batch).try_fold(0, |begin, _| end_of(&bytes, begin))?;
            Some((file, end - 1, bytes[end - 1]))
        });
        let (file, at, byte) = last_byte.expect("a partition with so many batches");
        let file = File::options().write(true).open(file).expect("opened");
        file.write_all_at(&[byte ^ 0x55], at as u64).expect("written");
    }

    fn spawn(&mut self, i: usize) {
        let output = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join(format!("{i}.log")))
            .expect("a file");
        let child = java()
            .arg("kafka.Kafka")
            .arg(self.folder.path().join(format!("{i}.properties")))
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .spawn()
            .expect("java starts");
        let watchdog = Command::new("sh")
            .args(["-c", "read line; kill -9 $0; rm -rf \"$1\"", &child.id().to_string()])
            .arg(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        self.nodes[i].running = Some(Running { child, watchdog });
    }

    fn wait_until_up(&mut self, i: usize) {
        let node = &mut self.nodes[i];
        let log = self.folder.path().join(format!("{i}.log"));
        let log = std::fmt::from_fn(|out| out.write_str(&fs::read_to_string(&log).unwrap_or_default()));
        wait_until(format_args!("the broker comes up:\n{log}"), || {
            let running = node.running.as_mut().expect("it runs");
            assert!(running.child.try_wait().expect("a child").is_none(), "the broker has ended:\n{log}");
            TcpStream::connect(("127.0.0.1", node.port)).is_ok()
        });
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// Returns a command for Java with Kafka's classes.
pub(crate) fn java() -> Command {
    jars::java("tests/kafka/broker/pom.xml", "kafka")
}

/// Lets time pass, for tests about what happens in the meantime. Never use it to wait for an event.
pub(crate) fn pause(ms: u64) {
    crate::common::wait::pause(Duration::from_millis(ms));
}

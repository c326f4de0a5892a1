//! The connector for PostgreSQL in `examples/connectors`, used as an operator would: a real Kafka Connect
//! writes verdicts into a real PostgreSQL. `tests/shipped/connectors.rs` checks the fields of all connectors,
//! including those that are not in Maven.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::broker::jars::java;
use crate::broker::server::{NOBODY, Server, is_root, not_as_root};
use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, wait_until};
use crate::common::{article, free_ports};

const USER: &str = "crawl";

/// Returns a command for a program of PostgreSQL, from the folder that `make all-tools` has found, or the
/// system's.
fn postgresql(name: &str) -> Command {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/postgresql").join(name);
    let program = if found.is_file() { found } else { PathBuf::from(name) };
    let works = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(
        works.is_ok_and(|status| status.success()),
        "this test needs PostgreSQL's `{name}`: `make all-tools` installs Debian's package `postgresql`, which then \
         starts no service"
    );
    Command::new(program)
}

/// A database server with one user.
struct PostgreSql {
    port: u16,
    _server: Server,
}

impl PostgreSql {
    fn start(folder: &Path) -> Self {
        let (data, port) = (folder.join("database"), free_ports(1)[0]);
        fs::create_dir(&data).expect("a folder");
        if is_root() {
            fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("permissions");
            chown(&data, Some(NOBODY), Some(NOBODY)).expect("another owner");
        }
        let mut make = postgresql("initdb");
        make.args(["-U", USER, "-A", "trust", "--no-sync", "-D"]).arg(&data).current_dir("/");
        let made = not_as_root(make).output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = postgresql("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(&data);
        server.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-F"]);
        let log = folder.join("database.log");
        let started = Self { port, _server: Server::start_not_as_root(&server, &log, "QUIT") };
        wait_until("PostgreSQL answers", || started.ask("postgres", "SELECT 1").is_ok());
        started
    }

    /// Returns the rows of a statement, one line each, or the error.
    fn ask(&self, database: &str, sql: &str) -> Result<Vec<String>, String> {
        let answer = postgresql("psql")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", USER, "-d", database])
            .args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .expect("psql starts");
        match answer.status.success() {
            true => Ok(String::from_utf8_lossy(&answer.stdout).lines().map(str::to_owned).collect()),
            false => Err(String::from_utf8_lossy(&answer.stderr).into_owned()),
        }
    }
}

/// Returns the contents of a file in `examples/connectors`.
fn example(name: &str) -> String {
    fs::read_to_string(Path::new("examples/connectors").join(name)).expect("an example")
}

#[test]
fn verdicts_are_written_into_postgresql() {
    let folder = tempfile::tempdir().expect("a folder");
    let installation = Installation::new(&bootstrap(), "connect", "");
    // Each text comes from two pages, and all contain a letter that is unusual in code.
    let page = |i: usize| Row::page((i % 3) as i32, &format!("é/{i}"), &format!("{}'\"", article(i / 2, 12)));
    installation.produce(&(0..40).map(page).collect::<Vec<_>>());
    let _worker = installation.worker(&[]);

    let database = PostgreSql::start(folder.path());
    database.ask("postgres", "CREATE DATABASE crawl").expect("a database");
    database.ask("crawl", &example("postgresql.sql")).expect("the tables of the example");

    let mut connector: Value = serde_json::from_str(&example("postgresql.json")).expect("JSON");
    connector["name"] = installation.topic("sink").into();
    let config = &mut connector["config"];
    assert_eq!(config["topics"], "leitong.verdicts");
    config["topics"] = installation.topic("verdicts").into();
    let url = config["connection.url"].as_str().expect("a url");
    assert!(url.contains("//postgresql:5432/"), "{url}");
    config["connection.url"] =
        url.replace("//postgresql:5432/", &format!("//127.0.0.1:{}/", database.port)).into();
    fs::write(folder.path().join("connector.json"), connector.to_string()).expect("written");
    let strings = "org.apache.kafka.connect.storage.StringConverter";
    let offsets = folder.path().join("connect.offsets");
    let of_worker = format!(
        "bootstrap.servers={}\nkey.converter={strings}\nvalue.converter={strings}\noffset.storage.file.filename={}\n\
         listeners=http://127.0.0.1:{}\nplugin.discovery=only_scan\n",
        installation.bootstrap,
        offsets.display(),
        free_ports(1)[0],
    );
    fs::write(folder.path().join("connect.properties"), of_worker).expect("written");
    let mut connect = java("tests/kafka/connectors/pom.xml", "connect");
    connect.arg("org.apache.kafka.connect.cli.ConnectStandalone");
    connect.arg(folder.path().join("connect.properties")).arg(folder.path().join("connector.json"));
    let log = folder.path().join("connect.log");
    let _connect = Server::start(&connect, &log, "KILL");

    let mut verdicts = installation.wait_for_verdicts(40);
    let failed = || fs::read_to_string(&log).unwrap_or_default();
    wait_until("all verdicts are in the database", || {
        assert!(!failed().contains("unrecoverable exception"), "{}", failed());
        database.ask("crawl", "SELECT count(*) FROM verdicts").expect("a count") == ["40"]
    });
    let id = |verdict: &Value| verdict["page_id"].as_str().expect("an id").to_owned();
    verdicts.sort_by_key(id);
    let rows =
        database.ask("crawl", "SELECT verdict FROM verdicts ORDER BY page_id COLLATE \"C\"").expect("rows");
    let rows: Vec<Value> = rows.iter().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert_eq!(rows, verdicts);
    let count =
        |sql: &str| database.ask("crawl", sql).expect("a count")[0].parse::<usize>().expect("a number");
    let unique = verdicts.iter().filter(|verdict| verdict["kind"] == "UNIQUE").count();
    let is_kept = |verdict: &&Value| {
        !verdict["kind"].as_str().expect("a kind").ends_with("_DUPLICATE") || verdict["same_url"] == true
    };
    let kept = verdicts.iter().filter(is_kept).count();
    assert_eq!((count("SELECT count(*) FROM kept"), count("SELECT count(*) FROM clusters")), (kept, unique));
    assert_eq!(count("SELECT sum(pages) FROM clusters"), 40);
}

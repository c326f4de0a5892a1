//! A worker in a container: `make image` builds the image, tries it without a broker, and runs this test.

use std::process::{Command, Stdio};

use crate::broker::topics::Row;
use crate::broker::worker::Installation;
use crate::common::{Run, name, sample_pages};

const ENGINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/image/engine.sh");

/// The broker's host, as containers find it in their `/etc/hosts`.
const HOST: &str = "broker.test";

/// A container of a test. Removed, and its program killed, when dropped.
struct Container(String);

impl Container {
    /// Runs the image with the configuration of `installation` at its path on this machine.
    fn run(&self, installation: &Installation) -> Command {
        let config = installation.config();
        let mut command = Command::new(ENGINE);
        command.args(["podman", "run", "--rm", "--pull", "never", "--name", &self.0, "--network", "host"]);
        command.args(["--read-only", "--read-only-tmpfs=false", "--cap-drop", "all"]);
        command.args(["--security-opt", "no-new-privileges", "--add-host", &format!("{HOST}:127.0.0.1")]);
        command.arg("--volume").arg(format!("{0}:{0}:ro", name(&config)));
        command.arg("localhost/leitong").stdin(Stdio::null());
        command
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let removed = Command::new(ENGINE).args(["podman", "rm", "--force", "--time", "0", &self.0]).output();
        if let Err(error) = removed {
            eprintln!("the container {} is left: {error}", self.0);
        }
    }
}

#[test]
#[ignore = "`make image` makes the image, which needs Podman, and runs this"]
fn a_worker_in_a_container_gives_one_verdict_for_each_sample_page() {
    let more = "[expiry]\ncentroids_max = 1000\n";
    let installation = Installation::without_topics(&crate::broker::bootstrap(), "image", more);
    installation.edit(&installation.bootstrap, &installation.bootstrap.replace("127.0.0.1", HOST));
    let container = Container(installation.app.clone());
    for arguments in [["topics", "create"], ["run", "--check"]] {
        let mut command = container.run(&installation);
        command.args(arguments).arg("--config").arg(installation.config());
        let run = Run::from_output(command.output().expect("the engine starts"));
        assert_eq!(run.status, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
    }

    let pages = sample_pages();
    let rows: Vec<Row> = (0..)
        .zip(&pages)
        .map(|(i, page)| Row { partition: i % 3, value: Some(page.to_string().into()), ..Row::default() })
        .collect();
    installation.produce(&rows);
    let mut worker = installation.start(container.run(&installation), &[], &[]);
    worker.wait_until_ready();
    installation.wait_for_verdicts(rows.len());
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    // The test's own programs cannot resolve this host.
    installation.edit(HOST, "127.0.0.1");
    installation.assert_exactly_once(&rows);
}

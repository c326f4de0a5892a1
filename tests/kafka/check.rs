//! `leitong run --check`: reports the problems for which a start would be refused, without starting.

use crate::broker::worker::Installation;
use crate::broker::{Brokers, java};
use crate::common::Run;

/// A table for which every machine has enough memory.
const SMALL: &str = "[expiry]\ncentroids_max = 1000\n";

fn check(installation: &Installation) -> Run {
    installation.leitong(&["run", "--check"])
}

/// Returns the findings that are not `ok`.
fn findings(run: &Run) -> Vec<&str> {
    run.stdout.lines().filter(|line| !line.starts_with("ok ")).collect()
}

#[test]
fn a_good_configuration_is_reported_without_a_start() {
    let installation = Installation::new(&crate::broker::bootstrap(), "check", SMALL);
    let run = check(&installation);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(findings(&run), [""; 0], "{}", run.stdout);
    for what in ["settings", "admin port", "brokers", "topics", "rights", "tables", "machine"] {
        assert!(run.stdout.contains(&format!("ok       {what}")), "{what} in {}", run.stdout);
    }
    // The check holds no lock or port: a worker starts at once.
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
}

#[test]
fn all_problems_are_reported_at_once() {
    let installation = Installation::without_topics(&crate::broker::bootstrap(), "check-wrong", SMALL);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let run = installation.leitong(&["run", "--check", "--admin", &address]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    let found = findings(&run);
    assert!(found[0].starts_with("refused  admin port cannot listen on 127.0.0.1:"), "{found:?}");
    assert_eq!(found.len(), 6, "the port and five topics: {found:?}");
    assert!(
        found[1..].iter().all(|line| line.contains("does not exist; create it with `leitong topics create`")),
        "{found:?}"
    );
}

/// One port in two settings is not reported as free. A transaction timeout that brokers do not allow is not reported
/// as a missing right. A limit on address space is found before the start fails.
#[test]
fn ports_timeouts_and_limits_that_do_not_fit_are_named() {
    let more =
        "[kafka.properties]\n\"transaction.timeout.ms\" = 9000000\n[api]\naddress = \"127.0.0.1:PORT\"\n";
    let port = crate::common::free_ports(1)[0];
    let installation =
        Installation::new(&crate::broker::bootstrap(), "check-fit", &more.replace("PORT", &port.to_string()));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_leitong")]);
    command.args(["run", "--check", "--admin", &format!("127.0.0.1:{port}"), "--config"]);
    let run = Run::from_output(command.arg(installation.config()).output().expect("sh starts"));
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    let found = findings(&run);
    assert!(
        found[0].starts_with("refused  look-ups   cannot listen on api.address = 127.0.0.1:"),
        "{found:?}"
    );
    assert!(found[1].starts_with("refused  rights     transactional id"), "{found:?}");
    assert!(
        found[1].ends_with(
            "; lower transaction.timeout.ms in [kafka.properties], or raise transaction.max.timeout.ms of the brokers"
        ),
        "{found:?}"
    );
    assert!(found[2].starts_with("warning  machine    memory is limited to 3906 MiB"), "{found:?}");
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Adds an ACL rule about a topic of this cluster, whose only principal is anonymous.
fn rule(bootstrap: &str, topic: &str, operations: &[&str]) {
    let mut command = java();
    command.args([
        "org.apache.kafka.tools.AclCommand",
        "--bootstrap-server",
        bootstrap,
        "--add",
        "--topic",
        topic,
    ]);
    command.args(["--allow-principal", "User:ANONYMOUS"]);
    operations.iter().for_each(|operation| _ = command.args(["--operation", operation]));
    let output = command.output().expect("java starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn missing_rights_are_named() {
    // A topic without rules is open to all; one with rules only to the principals in them.
    let more = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
                allow.everyone.if.no.acl.found=true\n";
    let brokers = Brokers::start_with(&[Vec::new()], more);
    let installation = Installation::new(&brokers.bootstrap(), "check-rights", SMALL);
    let (verdicts, changelog) = (installation.topic("verdicts"), installation.topic("centroids"));
    rule(&brokers.bootstrap(), &verdicts, &["Read", "Describe", "DescribeConfigs"]);
    rule(&brokers.bootstrap(), &changelog, &["Read", "Write", "Describe", "DescribeConfigs"]);
    let run = check(&installation);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    let expected = [
        format!(
            "warning  rights     topic {changelog}: this user lacks Delete, so expired records are never deleted; grant it"
        ),
        format!("refused  rights     topic {verdicts}: this user lacks [Write]; grant them"),
    ];
    assert_eq!(findings(&run), expected, "{}", run.stderr);
}

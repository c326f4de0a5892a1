//! Mistakes of new operators in configurations: `leitong config check` reports them before anything runs.

use crate::common::{Run, article, leitong_of_users, run, write};

fn check(text: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "leitong.toml", text);
    let mut command = leitong_of_users();
    Run::from_output(command.args(["config", "check"]).arg(file).output().expect("the program starts"))
}

/// `config check` must find everything in the settings that `run` or brokers would refuse.
#[test]
fn config_check_finds_settings_that_run_or_brokers_refuse() {
    let cases: [(&str, &[&str]); 14] = [
        (
            "[kafka.properties]\n\"linger.ms\" = 5\n\"sesion.timeout.ms\" = 9000\n",
            &[
                "line 3: kafka.properties.sesion.timeout.ms: ",
                "No such configuration property",
                "CONFIGURATION.md",
            ],
        ),
        (
            "[kafka.properties]\n\"security.protocol\" = \"SSLL\"\n",
            &["line 2: kafka.properties.security.protocol: ", "plaintext, ssl, sasl_plaintext or sasl_ssl"],
        ),
        (
            "[kafka.properties]\n\"security.protocol\" = \"ssl\"\n\"ssl.ca.location\" = \"/no/such/ca.pem\"\n",
            &["line 3: kafka.properties.ssl.ca.location = \"/no/such/ca.pem\": ", "No such file"],
        ),
        (
            "[kafka.properties]\n\"session.timeout.ms\" = 400000\n",
            &["kafka.properties: ", "session.timeout.ms"],
        ),
        ("[admin]\naddress = \"9464\"\n", &["line 2: admin.address = \"9464\": ", "\"127.0.0.1:9464\""]),
        ("[admin]\naddress = \"localhost:94640\"\n", &["line 2: admin.address = \"localhost:94640\": "]),
        (
            "[kafka]\n\nbootstrap_servers = \"kafka://broker\"\n",
            &["line 3: kafka.bootstrap_servers = \"kafka://broker\": ", "host:port", "broker:9092"],
        ),
        (
            "[kafka]\nbootstrap_servers = \"one:9092,two:port\"\n",
            &["line 2: kafka.bootstrap_servers = \"one:9092,two:…\": ", "\"two:…\""],
        ),
        (
            "detector = \"shingle\"\n[kafka]\nbootstrap_servers = \"broker:9092\"\n",
            &["line 1: detector = \"shingle\": ", "only for comparison", "choose one of simhash"],
        ),
        (
            "[paragraph]\nscore_length = 0.5\nscore_position = 0.5\nscore_relevance = 0.5\n",
            &[
                "line 2: paragraph.score_length = 0.5: ",
                "is not a setting of a run",
                "--variant",
                "a run uses 0.3",
            ],
        ),
        ("detector = \"md5\"\n", &["line 1: detector = (3 characters, not shown): no such detector"]),
        (
            "[kafka.topics]\nverdicts = \"leitong.pages\"\n",
            &["line 2: kafka.topics.verdicts = \"leitong.pages\": is already the name of kafka.topics.pages"],
        ),
        (
            "[kafka.properties]\n\"group.instance.id\" = \"worker-1\"\n",
            &["line 2: kafka.properties.group.instance.id: ", "kafka.instance_id"],
        ),
        (
            "[kafka.topics]\npages = \"crawled pages\"\n",
            &["line 2: kafka.topics.pages = (13 characters, not shown): ", "letters, digits"],
        ),
    ];
    for (text, expected) in cases {
        let check = check(text);
        assert_eq!(check.status, 2, "{text}\n{}{}", check.stdout, check.stderr);
        for expected in expected {
            assert!(check.stderr.contains(expected), "{expected} is not in\n{}\nof\n{text}", check.stderr);
        }
        assert!(!check.stderr.contains("WARN") && !check.stderr.contains("INFO"), "{}", check.stderr);
    }
}

#[test]
fn config_check_shows_no_secret() {
    for name in
        ["sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password", "sasl.mechanism"]
    {
        let text = format!(
            "[kafka.properties]\n\"security.protocol\" = \"SASL_SSL\"\n\"{name}\" = \"hunter2\"\nnonsense = \"hunter2\"\n"
        );
        let check = check(&text);
        assert_eq!(check.status, 2, "{}", check.stdout);
        assert!(!(check.stdout + &check.stderr).contains("hunter2"), "{name}");
    }
}

#[test]
fn config_check_accepts_good_configurations() {
    let secure = "[kafka]\nbootstrap_servers = \"one:9093, [::1]:9093,SASL_SSL://three\"\n[kafka.properties]\n\
                  \"security.protocol\" = \"SASL_SSL\"\n\"sasl.mechanism\" = \"SCRAM-SHA-512\"\n\"sasl.username\" = \"lei\"\n\
                  \"sasl.password\" = \"hunter2\"\n[admin]\naddress = \"\"\n";
    for text in
        [secure, "[admin]\naddress = \"[::]:9464\"\n", "detector = \"paragraph\"\n[kafka]\napp = \"other\"\n"]
    {
        let check = check(text);
        assert_eq!((check.status, check.stderr.as_str()), (0, ""), "{text}");
    }
}

/// Files and pipes get no colour codes.
#[test]
fn redirected_output_has_no_colours() {
    let run = run(["run", "--check", "--config", "deploy/leitong.toml"]);
    assert!(run.stderr.contains("WARN") && !run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
}

/// `compare` prints lines that fit a terminal, with the differences between the texts.
#[test]
fn compare_fits_a_terminal_and_shows_what_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(5, 60);
    let a = write(folder.path(), "a.txt", &text);
    let other = text.replacen("三只猫", "四十只白色的骆驼", 1) + "最后一句只在第二页里。";
    let b = write(folder.path(), "b.txt", other);
    let compared = run(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
    for line in compared.stdout.lines() {
        let columns: usize =
            line.chars().map(|c| if c > '\u{1100}' && c != '…' && c != '–' { 2 } else { 1 }).sum();
        assert!(columns <= 80, "{columns} columns: {line}");
    }
    for expected in
        ["only in A: 1 passages", "四十只白色的骆驼", "最后一句只在第二页里", "shingle", "sketch matches: "]
    {
        assert!(compared.stdout.contains(expected), "{expected} is not in\n{}", compared.stdout);
    }
    for json in ["{\"", "\":", "[["] {
        assert!(!compared.stdout.contains(json), "{json} is in\n{}", compared.stdout);
    }
    let samples = run(["compare", "examples/pages.jsonl#zh-pc", "examples/pages.jsonl#zh-pc-tw"]);
    assert_eq!(samples.status, 0, "{}", samples.stderr);
}

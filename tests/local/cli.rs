//! The other commands, and the generated pages.

use serde_json::Value;

use crate::common::{self, Run, article, leitong, leitong_of_users, run, run_with_input, write};

#[test]
fn extract_prints_one_paragraph_a_line() {
    let html = "<html><head><title>Title</title></head><body><nav><a href=/>Home</a> <a href=/a>News</a></nav>\
                <article><h1>A headline</h1><p>First paragraph, which is long enough to be one, \
                and has some commas, too.</p><ul><li>An item of a list that says something.</li></ul>\
                <p>Second paragraph, which is long enough to be one as well, and ends here.</p></article></body></html>";
    let text = run_with_input(["extract"], html);
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert!(text.stdout.starts_with("A headline\n"), "{}", text.stdout);
    let first = text.stdout.find("First paragraph").expect("the first paragraph");
    let second = text.stdout.find("Second paragraph").expect("the second paragraph");
    assert!(first < second && !text.stdout.contains("Home"), "{}", text.stdout);

    let json = run_with_input(["extract", "--format", "json", "-"], html);
    let document: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(document["title"], "Title");
    assert_eq!(document["charset"]["name"], "UTF-8");
    let kinds: Vec<_> =
        document["paragraphs"].as_array().expect("a list").iter().map(|p| p["kind"].clone()).collect();
    assert!(kinds.contains(&"paragraph".into()) && kinds.contains(&"list_item".into()), "{document:#}");
}

#[test]
fn extract_says_why_there_is_no_text() {
    let run = run_with_input(["extract"], "%PDF-1.7\n%\u{1}\u{2}");
    assert_eq!(run.status, 1);
    assert_eq!(run.stderr, "leitong: -: the body is a PDF document, not HTML (NOT_HTML)\n");
}

#[test]
fn extract_reads_whole_files() {
    let run = run(["extract", "--jsonl", "examples/pages.jsonl"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let pages = common::sample_pages();
    assert_eq!(lines.len(), pages.len());
    for (line, page) in lines.iter().zip(&pages) {
        assert_eq!(line["id"], page["id"]);
        assert!(line["reason"].is_null() || line["reason"] == "NO_CONTENT" || line["text"] == "", "{line}");
    }
    let gbk = lines.iter().find(|line| line["id"] == "zh-stew-gbk").expect("it is there");
    assert_eq!(gbk["charset"], "GBK");
}

#[test]
fn inputs_may_be_patterns_that_no_shell_expands() {
    let folder = tempfile::tempdir().expect("a folder");
    for (day, name) in ["b.jsonl", "a.jsonl", "a.txt"].into_iter().enumerate() {
        write(folder.path(), name, common::page(name, &article(day, 20)));
    }
    let named = |name: &str| run(["dedup".into(), folder.path().join(name)]);
    let both = named("*.jsonl");
    assert_eq!(both.status, 0, "{}", both.stderr);
    let ids: Vec<Value> = both.verdicts().iter().map(|verdict| verdict["page_id"].clone()).collect();
    assert_eq!(ids, ["a.jsonl", "b.jsonl"]);
    let none = named("*.warc");
    assert_eq!(none.status, 1);
    assert!(
        none.stderr.ends_with("*.warc: no file has this name, and as a pattern it matches no file\n"),
        "{}",
        none.stderr
    );
}

/// Each of these is refused with a message that names the user's mistake.
#[test]
fn a_mistake_in_a_command_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let pages = "examples/pages.jsonl";
    let refused = |arguments: &[&str], why: &str| {
        let run = run(arguments.iter().copied());
        assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{arguments:?}: {}", run.stderr);
    };
    for (option, name) in
        [("--output", "v.jsonl.gz"), ("--clusters", "c.jsonl.zst"), ("--report", "r.html.lz4")]
    {
        let output = path(name);
        refused(&["dedup", option, &output, pages], "is written without compression; remove .");
        assert!(!folder.path().join(name).exists(), "{option}");
    }
    let missing = run(["dedup", "--keep", &path("kept.jsonl"), &path("missing.jsonl")]);
    assert!(
        missing.status == 1 && missing.stderr.contains("missing.jsonl: No such file"),
        "{}",
        missing.stderr
    );
    refused(
        &["compare", pages, pages],
        "holds JSON lines, not one page; `compare` takes a page of it as FILE#ID",
    );
}

#[test]
fn compare_explains_its_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(5, 40);
    let a = write(folder.path(), "a.txt", &text);
    let b = write(folder.path(), "b.html", format!("<p>{}</p>", text.replacen("三只猫", "两只猫", 1)));
    let c = write(folder.path(), "c.txt", article(6, 40));
    let near = run(["compare".as_ref(), a.as_os_str(), b.as_os_str()]);
    assert_eq!(near.status, 0, "{}", near.stderr);
    for expected in ["NEAR_DUPLICATE", "sketch_matches", "main text", "top terms of A", "UTF-8"] {
        assert!(near.stdout.contains(expected), "{expected} is not in\n{}", near.stdout);
    }
    let same = run(["compare".as_ref(), a.as_os_str(), a.as_os_str()]);
    assert!(same.stdout.contains("EXACT_DUPLICATE") && same.stdout.contains("distance 0"), "{}", same.stdout);
    let far = run(["compare".as_ref(), a.as_os_str(), c.as_os_str()]);
    assert!(far.stdout.contains("UNIQUE: B is not near A"), "{}", far.stdout);
    let sample = run(["compare", "examples/pages.jsonl#zh-pc", "examples/pages.jsonl#zh-pc-tw"]);
    assert!(sample.stdout.contains("NEAR_DUPLICATE"), "{}", sample.stdout);
    let missing = run(["compare", "examples/pages.jsonl#zh-pc", "examples/pages.jsonl#nothing"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("no page has the id \"nothing\""), "{}", missing.stderr);
    // The second page was said to be empty, since the first had used up the input.
    let twice = run_with_input(["compare", "-", "-"], &text);
    assert_eq!(twice.status, 2, "{}", twice.stdout);
    assert!(twice.stderr.contains("-: is named twice, but can be read only once"), "{}", twice.stderr);
}

#[test]
fn config_example_passes_config_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = run(["config", "example"]).stdout;
    let file = write(folder.path(), "leitong.toml", example);
    let check = run(["config".as_ref(), "check".as_ref(), file.as_os_str()]);
    assert_eq!(check.status, 0, "{}", check.stderr);
    assert!(check.stdout.contains("valid; detector simhash"), "{}", check.stdout);
}

/// The report must be readable without a network, on any machine, and by strangers.
#[test]
fn a_comparison_is_written_as_one_page_without_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = "<article><p>Ships come in at noon, when the tide is high &lt;script&gt;alert(1)&lt;/script&gt; and \
                   the village stands on the quay to see what they have brought this time.</p></article>";
    let a = write(folder.path(), "a\"><script>.html", hostile);
    let b = write(
        folder.path(),
        "b.txt",
        "The committee met on Tuesday to talk about the budget of the library, and \
                   could not agree whether the roof or the heating should be mended before winter. ",
    );
    let html = folder.path().join("c.html");
    let (compare, option) = ("compare".as_ref(), "--html".as_ref());
    let written = run([
        compare,
        option,
        html.as_os_str(),
        "--language".as_ref(),
        "zh".as_ref(),
        a.as_os_str(),
        b.as_os_str(),
    ]);
    assert!(written.status == 0 && written.stdout.is_empty(), "{}", written.stderr);
    let page = std::fs::read_to_string(&html).expect("a page");
    assert!(page.contains("<html lang=\"zh-CN\">") && page.contains("两篇不同的文本"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"), "{page}");
    // Without a browser, the command prints the path.
    let opened = Run::from_output(
        leitong()
            .args(["compare".as_ref(), "--open".as_ref(), a.as_os_str(), a.as_os_str()])
            .env("PATH", "")
            .env("TMPDIR", folder.path())
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("the program starts"),
    );
    let path = opened.stdout.trim();
    assert!(opened.status == 0 && path.ends_with(".html"), "{}", opened.stderr);
    assert!(std::fs::read_to_string(path).expect("a page").contains("The same text"));
}

#[test]
fn config_check_finds_all_faults() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(
        folder.path(),
        "leitong.toml",
        "[simhash.near]\nmax_distanse = 3\nconfirm = \"maybe\"\n[segment]\nuser_dictionary = \"${LEITONG_NO_SUCH}\"\n",
    );
    let check = run(["config".as_ref(), "check".as_ref(), file.as_os_str()]);
    assert_eq!(check.status, 2);
    for expected in
        ["did you mean simhash.near.max_distance?", "\"sketch\" or \"none\"", "LEITONG_NO_SUCH is not set"]
    {
        assert!(check.stderr.contains(expected), "{expected} is not in\n{}", check.stderr);
    }
}

/// NaN and infinity are not valid settings. Errors about them name line and key.
#[test]
fn errors_about_nan_and_infinity_name_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for value in ["nan", "+nan", "inf", "-inf", "1e999"] {
        let config = format!("[paragraph]\n[paragraph.near]\n\nshare_min = {value}\n");
        let file = write(folder.path(), "leitong.toml", config);
        let check = run(["config".as_ref(), "check".as_ref(), file.as_os_str()]);
        assert_eq!(check.status, 2, "{value}");
        let expected = format!("leitong.toml: line 4: paragraph.near.share_min = {value}: must be a number");
        assert!(check.stderr.contains(&expected), "{expected} is not in\n{}", check.stderr);
    }
}

/// Without an address of brokers, commands must not try to reach a broker on this machine.
#[test]
fn commands_that_need_kafka_require_its_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = write(folder.path(), "empty.toml", "[kafka]\nbootstrap_servers = \" \"\n");
    for command in [&["run"][..], &["topics", "create"], &["replay"]] {
        for config in [None, Some(&empty)] {
            let mut arguments: Vec<&std::ffi::OsStr> = command.iter().map(std::ffi::OsStr::new).collect();
            arguments.extend(config.iter().flat_map(|file| ["--config".as_ref(), file.as_os_str()]));
            let run = run(&arguments);
            assert_eq!(run.status, 2, "{arguments:?}: {}", run.stderr);
            let told = "kafka.bootstrap_servers is not set";
            assert!(run.stderr.contains(told), "{arguments:?}: {}", run.stderr);
            assert_eq!(config.is_some(), run.stderr.contains("empty.toml"), "{arguments:?}: {}", run.stderr);
        }
    }
}

/// systemd starts a worker again and again unless the status says that its configuration is wrong.
#[test]
fn workers_report_what_their_settings_name_and_lack_as_wrong_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    for (settings, told) in [
        ("[fingerprint]\nsecret_env = \"NOT_SET\"\n", "\"NOT_SET\": is not set"),
        ("[segment]\nuser_dictionary = \"none.txt\"\n", "none.txt"),
        ("[traces]\nenabled = true\n", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ] {
        let config = format!("[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\n{settings}");
        let config = write(folder.path(), "worker.toml", config);
        let output = leitong()
            .args(["run".as_ref(), "--config".as_ref(), config.as_os_str()])
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://localhost")
            .output();
        let run = Run::from_output(output.expect("it starts"));
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
}

#[test]
fn user_dictionaries_are_applied() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "words.txt", "三只猫 100000\n");
    write(folder.path(), "stop.txt", "老船长\n");
    let config = "[segment]\nuser_dictionary = \"words.txt\"\nstop_word_file = \"${STOP:-stop.txt}\"\n";
    let config = write(folder.path(), "leitong.toml", config);
    let text = write(folder.path(), "a.txt", "老船长寻找三只猫。".repeat(20));
    let run = run([
        "compare".as_ref(),
        "--config".as_ref(),
        config.as_os_str(),
        text.as_os_str(),
        text.as_os_str(),
    ]);
    assert!(
        run.stdout.contains("三只猫 20") && !run.stdout.contains("老船长"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    write(folder.path(), "words.txt", "三只猫 many\n");
    let bad = common::run(["config".as_ref(), "check".as_ref(), config.as_os_str()]);
    assert_eq!(bad.status, 2);
    assert!(bad.stderr.contains("segment.user_dictionary: line 1"), "{}", bad.stderr);
}

#[test]
fn no_run_decides_with_a_detector_that_is_only_for_comparison() {
    let run = |arguments: &[&str]| {
        Run::from_output(leitong_of_users().args(arguments).output().expect("it starts"))
    };
    for command in [&["dedup", "examples/pages.jsonl"][..], &["console"], &["serve", "--table", "never-made"]]
    {
        let refused = run(&[command, &["--detector", "shingle"]].concat());
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        let says = "--detector \"shingle\": is only for comparison, in `leitong compare` and leitong-lab";
        assert!(refused.stderr.contains(says), "{command:?}: {}", refused.stderr);
    }
    let pages = ["examples/pages.jsonl#zh-pc", "examples/pages.jsonl#zh-pc-tw"];
    for detector in [["--detector", "shingle"], ["--variant", "examples/shingle-paper.toml"]] {
        let compared = run(&[&["compare"], &detector[..], &pages].concat());
        assert!(
            compared.status == 0 && compared.stdout.contains("shingle"),
            "{}{}",
            compared.stdout,
            compared.stderr
        );
    }
}

#[test]
fn generated_pages_are_up_to_date() {
    let docs = run(["config", "docs"]).stdout;
    let file = std::fs::read_to_string("docs/configuration.md").expect("the page");
    assert!(docs == file, "docs/configuration.md is stale: run `make docs`");
    let detectors = run(["config", "detector-docs"]).stdout;
    let file = std::fs::read_to_string("docs/detector-settings.md").expect("the page");
    assert!(detectors == file, "docs/detector-settings.md is stale: run `make docs`");
    let metrics = run(["config", "metrics"]).stdout;
    let file = std::fs::read_to_string("docs/metrics.md").expect("the page");
    assert!(metrics == file, "docs/metrics.md is stale: run `make docs`");
    let commands = run(["config", "commands"]).stdout;
    let file = std::fs::read_to_string("docs/commands.md").expect("the page");
    assert!(commands == file, "docs/commands.md is stale: run `make docs`");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let help = run(["--help"]).stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|word| help.contains(&format!("\n  {word} ")) && *word != "help")
        .collect();
    assert!(commands.contains(&"dedup") && commands.contains(&"config"), "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(["completions", shell]);
        assert_eq!(script.status, 0, "{}", script.stderr);
        for command in &commands {
            assert!(script.stdout.contains(command), "{shell} does not know {command}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man/man1");
    let written = run(["man".as_ref(), pages.as_os_str()]);
    assert_eq!(written.status, 0, "{}", written.stderr);
    for command in &commands {
        let page = pages.join(format!("leitong-{command}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(page.contains(".SH") && page.contains("log\\-format"), "{command}");
    }
    assert!(pages.join("leitong.1").exists());
}

#[test]
fn logs_and_the_last_error_can_be_json() {
    let output = common::leitong()
        .args(["--log-format", "json", "dedup", "/no/such/file"])
        .env("RUST_LOG", "info,=nonsense=")
        .output()
        .expect("the program starts");
    let run = common::Run::from_output(output);
    let events: Vec<serde_json::Value> =
        run.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [refused, failed] = &events[..] else { panic!("two events: {}", run.stderr) };
    assert_eq!((&refused["level"], &failed["level"]), (&"WARN".into(), &"ERROR".into()), "{}", run.stderr);
    assert!(failed["message"].as_str().expect("a string").contains("/no/such/file"), "{failed}");
    assert!(failed["timestamp"].as_str().expect("a string").ends_with('Z'), "{failed}");

    // Messages for people are events as well.
    let whole =
        common::run(["--log-format", "json", "dedup", "--output", "/dev/null", "examples/pages.jsonl"]);
    assert_eq!(whole.status, 0, "{}", whole.stderr);
    let said: Vec<serde_json::Value> =
        whole.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(said.iter().any(|event| event["message"].to_string().contains("centroids")), "{}", whole.stderr);
}

#[test]
fn doctor_reports_what_a_bug_report_needs_and_no_secret() {
    let plain = run(["doctor"]);
    assert_eq!(plain.status, 0, "{}", plain.stderr);
    let version = format!("leitong {}\n", env!("CARGO_PKG_VERSION"));
    assert!(plain.stdout.starts_with(&version), "{}", plain.stdout);
    assert!(plain.stdout.contains(" cores, memory ") && plain.stdout.contains("no configuration file"));

    let folder = tempfile::tempdir().expect("a folder");
    let config = "[expiry]\ncentroids_max = 7\n[kafka]\nbootstrap_servers = \"127.0.0.1:1\"\n\
                  [kafka.properties]\n\"sasl.password\" = \"hunter2\"\n\
                  [api]\ntoken_env = \"hunter2\"\n";
    let config = write(folder.path(), "leitong.toml", config);
    let offline = run(["doctor".as_ref(), "--offline".as_ref(), "--config".as_ref(), config.as_os_str()]);
    assert_eq!(offline.status, 0, "{}", offline.stderr);
    let changed: Vec<&str> = offline.stdout.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(
        changed,
        [
            "  expiry.centroids_max = 7",
            "  kafka.bootstrap_servers = \"127.0.0.1:1\"",
            "  kafka.properties.sasl.password = (not shown)",
            "  api.token_env = (not shown, since no environment variable has this name)"
        ]
    );
    let asked = run(["doctor".as_ref(), "--config".as_ref(), config.as_os_str()]);
    assert_eq!(asked.status, 0, "{}", asked.stderr);
    assert!(asked.stdout.contains("\n  refused  brokers    no answer from"), "{}", asked.stdout);
    for report in [&offline, &asked] {
        assert!(!report.stdout.contains("hunter2") && !report.stderr.contains("hunter2"));
    }
}

/// A command is added when another one goes.
#[test]
fn there_are_at_most_26_commands() {
    let docs = std::fs::read_to_string("docs/commands.md").expect("the page");
    let commands = docs.matches("```text\nleitong ").count();
    assert!((20..=26).contains(&commands), "{commands}");
}

//! Alerts, their runbook, the dashboard and the metrics use the same names, and each rule is tested.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::common::{prometheus_tool, run};
use crate::compose::yaml;
use crate::image::{ROOT, read};

/// Returns the rules of one kind, `alert` or `record`.
fn rules(kind: &str) -> Vec<Value> {
    let alerts = yaml("deploy/alerts.yml");
    let groups = alerts["groups"].as_array().expect("groups");
    let all = groups.iter().flat_map(|group| group["rules"].as_array().expect("rules").clone());
    all.filter(|rule| rule.get(kind).is_some()).collect()
}

fn name(rule: &Value) -> &str {
    rule["alert"].as_str().or(rule["record"].as_str()).expect("a name")
}

/// Returns the metrics and recorded series in a query; names of the latter contain colons.
fn metrics_in(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words
        .filter(|word| word.starts_with("leitong_") || word.contains(":leitong_"))
        .map(|word| word.trim_end_matches(':').to_owned())
        .collect()
}

/// Name and kind of each metric that the program exports.
fn metrics() -> &'static [(String, String)] {
    static METRICS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let reference = run(["config", "metrics"]).stdout;
        let metric = |line: &str| {
            let [name, kind, ..] = line.strip_prefix("| `")?.split(" | ").collect::<Vec<_>>()[..] else {
                return None;
            };
            Some((name.trim_end_matches('`').to_owned(), kind.to_owned()))
        };
        let metrics: Vec<_> = reference.lines().filter_map(metric).collect();
        assert!(metrics.len() > 40, "{reference}");
        metrics
    });
    &METRICS
}

/// Returns true for a recorded series, or for a metric that the worker exports, possibly as a series of a
/// histogram.
fn is_exported(series: &str) -> bool {
    if series.contains(':') {
        return rules("record").iter().any(|rule| name(rule) == series);
    }
    metrics().iter().any(|(name, kind)| match kind.as_str() {
        "histogram" => {
            series.strip_prefix(name.as_str()).is_some_and(|end| ["_bucket", "_sum", "_count"].contains(&end))
        }
        _ => series == name,
    })
}

/// Returns the section of docs/operations.md about alerts.
fn runbook() -> String {
    let page = read("docs/operations.md");
    let section = page.split("\n## Alerts\n").nth(1).expect("a section about alerts");
    section.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn every_alert_has_a_runbook_entry_and_every_entry_an_alert() {
    let page = runbook();
    let entries: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let rules = rules("alert");
    assert_eq!(entries, rules.iter().map(name).collect::<Vec<_>>(), "in the same order");
    for rule in &rules {
        let link = format!("docs/operations.md#{}", name(rule).to_lowercase());
        assert_eq!(rule["annotations"]["runbook"], link);
        assert!(["page", "warn"].contains(&rule["labels"]["severity"].as_str().expect("a severity")));
    }
    for document in ["docs/operations.md", "docs/kafka.md", "README.md"] {
        for series in metrics_in(&read(document)).iter().filter(|series| !series.ends_with('_')) {
            let known = is_exported(series) || metrics().iter().any(|(name, _)| name == series);
            assert!(known, "{document} names {series}, which no worker exports");
        }
    }
}

#[test]
fn queries_use_existing_metrics() {
    let mut queries: Vec<(String, String)> = [rules("record"), rules("alert")]
        .iter()
        .flatten()
        .map(|rule| (name(rule).to_owned(), rule["expr"].as_str().expect("a query").to_owned()))
        .collect();
    let dashboard: Value =
        serde_json::from_str(&read("deploy/grafana/dashboards/leitong.json")).expect("JSON");
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query").to_owned();
            queries.push((format!("panel {}", panel["title"]), query));
        }
    }
    for (place, query) in queries {
        let metrics = metrics_in(&query);
        assert!(!metrics.is_empty() || query.contains("up{"), "{place}: {query}");
        for series in metrics {
            assert!(is_exported(&series), "{place}: no worker exports {series}");
        }
    }
}

#[test]
fn each_rule_fires_exactly_when_it_should() {
    for arguments in [["check", "rules", "deploy/alerts.yml"], ["test", "rules", "deploy/tests/alerts.yml"]] {
        let run = prometheus_tool("promtool").args(arguments).current_dir(ROOT).output().expect("it starts");
        let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "promtool {arguments:?}\n{said}");
    }
    let tests = yaml("deploy/tests/alerts.yml");
    let cases: Vec<&Value> = tests["tests"]
        .as_array()
        .expect("tests")
        .iter()
        .flat_map(|test| test["alert_rule_test"].as_array().into_iter().flatten())
        .collect();
    for rule in rules("alert") {
        for fires in [true, false] {
            let tried = cases.iter().any(|case| {
                case["alertname"] == rule["alert"]
                    && case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty()) == fires
            });
            assert!(tried, "{}: no case where it {}", name(&rule), if fires { "fires" } else { "is silent" });
        }
    }
}

/// The operations at the end of a recorded name describe its query; the level lists the remaining labels.
#[test]
fn recorded_series_are_named_by_convention_listed_and_tested() {
    let page = runbook();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: Vec<&str> = rows.map(|(series, _)| series).collect();
    let recorded = rules("record");
    assert_eq!(listed, recorded.iter().map(name).collect::<Vec<_>>(), "in the same order");
    let tests = yaml("deploy/tests/alerts.yml");
    let cases = tests["tests"].as_array().expect("tests").iter();
    let tried: BTreeSet<String> = cases
        .flat_map(|test| test["promql_expr_test"].as_array().into_iter().flatten())
        .filter(|case| !case["exp_samples"].as_array().expect("samples").is_empty())
        .flat_map(|case| metrics_in(case["expr"].as_str().expect("a query")))
        .collect();
    for rule in &recorded {
        let (name, query) = (name(rule), rule["expr"].as_str().expect("a query"));
        let [level, _, operations] = name.split(':').collect::<Vec<_>>()[..] else {
            panic!("{name}: it is not level:metric:operations")
        };
        let labels = level.replace('_', ", ");
        let kept = [format!("by ({labels})"), format!("by ({labels}, le)")];
        assert!(kept.iter().any(|kept| query.contains(kept.as_str())), "{name}: its labels are not {labels}");
        let window = operations.split_once("rate").map(|(_, window)| format!("[{window}]"));
        let reads = window.is_none_or(|window| {
            query.contains(&window) || query.contains(&format!(":rate{}", &window[1..window.len() - 1]))
        });
        assert!(reads, "{name}: another window than its name says");
        assert!(tried.contains(name), "{name}: deploy/tests/alerts.yml does not try it");
    }
}

//! Alerts, their runbook, the dashboard and the metrics
//! name the same things, and each rule is tried.

use std::collections::BTreeSet;

use leitong::telemetry::metrics::ALL;
use serde_json::Value;

use crate::common::prometheus_tool;
use crate::compose::yaml;
use crate::image::{ROOT, read};

fn rules() -> Vec<Value> {
    let alerts = yaml("deploy/alerts.yml");
    let groups = alerts["groups"].as_array().expect("groups");
    groups.iter().flat_map(|group| group["rules"].as_array().expect("rules").clone()).collect()
}

fn name(rule: &Value) -> &str {
    rule["alert"].as_str().expect("a name")
}

/// The metrics that a query names.
fn metrics_in(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("leitong_")).map(str::to_owned).collect()
}

/// A metric that the worker exports, if need be as one of the series of a histogram.
fn is_exported(series: &str) -> bool {
    ALL.iter().any(|metric| match metric.kind {
        "histogram" => {
            series.strip_prefix(metric.name).is_some_and(|end| ["_bucket", "_sum", "_count"].contains(&end))
        }
        _ => series == metric.name,
    })
}

#[test]
fn every_alert_has_a_runbook_entry_and_every_entry_an_alert() {
    let page = read("docs/alerts.md");
    let entries: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let rules = rules();
    assert_eq!(entries, rules.iter().map(name).collect::<Vec<_>>(), "in the same order");
    for rule in &rules {
        let link = format!("docs/alerts.md#{}", name(rule).to_lowercase());
        assert_eq!(rule["annotations"]["runbook"], link);
        assert!(["page", "warn"].contains(&rule["labels"]["severity"].as_str().expect("a severity")));
    }
    for document in ["docs/alerts.md", "docs/deploying.md", "docs/kafka.md", "README.md"] {
        for series in metrics_in(&read(document)).iter().filter(|series| !series.ends_with('_')) {
            let known = is_exported(series) || ALL.iter().any(|metric| metric.name == series);
            assert!(known, "{document} names {series}, which no worker exports");
        }
    }
}

#[test]
fn queries_name_metrics_that_there_are() {
    let mut queries: Vec<(String, String)> = rules()
        .iter()
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
fn each_rule_fires_when_it_should_and_only_then() {
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
        .flat_map(|test| test["alert_rule_test"].as_array().expect("cases"))
        .collect();
    for rule in rules() {
        for fires in [true, false] {
            let tried = cases.iter().any(|case| {
                case["alertname"] == rule["alert"]
                    && case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty()) == fires
            });
            assert!(tried, "{}: no case where it {}", name(&rule), if fires { "fires" } else { "is silent" });
        }
    }
}

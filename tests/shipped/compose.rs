//! `docker-compose.yml`: everything that it refers to is in the repository or in the image, and its commands
//! are valid.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common;
use crate::image::{ROOT, read};

pub(crate) fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn services() -> Vec<(String, Value)> {
    let compose = yaml("docker-compose.yml");
    let services = compose["services"].as_object().expect("services");
    services.iter().map(|(name, service)| (name.clone(), service.clone())).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|item| item.as_str().expect("a string")).collect()
}

/// Returns the files of the repository that a container sees, with their place.
fn mounts(service: &Value) -> Vec<(String, String)> {
    let volumes = strings(&service["volumes"]).into_iter();
    let files = volumes.filter_map(|volume| volume.strip_prefix("./").and_then(|rest| rest.split_once(':')));
    files.map(|(file, place)| (file.to_owned(), place.trim_end_matches(":ro").to_owned())).collect()
}

#[test]
fn the_compose_file_refers_to_existing_files() {
    for (name, service) in services() {
        for (file, _) in mounts(&service) {
            assert!(Path::new(ROOT).join(&file).exists(), "{name}: ./{file} is not in the repository");
        }
        if !service["build"].is_null() {
            assert_eq!(service["build"]["context"], ".");
            read(service["build"]["dockerfile"].as_str().expect("a file"));
        }
        for dependency in service["depends_on"].as_object().into_iter().flatten() {
            let (on, condition) = (dependency.0, dependency.1["condition"].as_str().expect("a condition"));
            let services = services();
            let (_, on) = services.iter().find(|(name, _)| name == on).expect("a service");
            assert!(condition != "service_healthy" || on["healthcheck"].is_object(), "{name}: {condition}");
        }
    }
    let declared = &yaml("docker-compose.yml")["volumes"];
    for (name, service) in services() {
        for volume in strings(&service["volumes"]).iter().filter(|volume| !volume.starts_with(['.', '/'])) {
            let volume = volume.split(':').next().expect("a name");
            assert!(declared.get(volume).is_some(), "{name}: no such volume: {volume}");
        }
    }
}

/// Arguments that contain paths of a container's file system must exist there.
#[test]
fn commands_find_their_files_where_they_are_mounted() {
    let image = read("deploy/Dockerfile");
    let mut started = Vec::new();
    for (name, service) in services().iter().filter(|(_, service)| service["image"] == "leitong") {
        let command = match &service["command"] {
            Value::Null => {
                let line = image.lines().find_map(|line| line.strip_prefix("CMD ")).expect("a command");
                serde_json::from_str(line).expect("a list")
            }
            command => command.clone(),
        };
        let arguments = strings(&command);
        let mounts = mounts(service);
        // The container's path, with the file of the repository.
        let there = arguments.iter().map(|argument| {
            let mount = mounts.iter().find(|(_, place)| place == argument);
            assert!(mount.is_some() || !argument.starts_with('/'), "{name}: {argument} is not mounted");
            mount.map_or((*argument).to_owned(), |(file, _)| format!("{ROOT}/{file}"))
        });
        let there: Vec<String> = there.collect();
        // Nobody listens on port 1. The program accepts its arguments and reports that there is no broker.
        let mut more = vec![];
        if there[0] == "run" {
            more.extend(["--admin", "127.0.0.1:0"]);
        }
        let child = common::leitong()
            .args(&there)
            .args(more)
            .env("KAFKA_BOOTSTRAP", "127.0.0.1:1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        started.push((name.clone(), child));
    }
    for (name, child) in started {
        let run = common::Run::from_output(child.wait_with_output().expect("it ends"));
        assert_eq!(run.status, 1, "{name}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("no answer from kafka.bootstrap_servers"), "{name}: {}", run.stderr);
    }
}

#[test]
fn prometheus_scrapes_the_port_that_workers_open() {
    let prometheus = yaml("deploy/prometheus.yml");
    let scraped = &prometheus["scrape_configs"][0]["dns_sd_configs"][0];
    assert!(services().iter().any(|(name, _)| scraped["names"][0] == name.as_str()), "{scraped}");
    let port = scraped["port"].as_u64().expect("a port");
    let address = format!("address = \"0.0.0.0:{port}\"");
    assert!(read("deploy/leitong.toml").contains(&address), "{address}");
    assert!(read("deploy/Dockerfile").contains(&format!("EXPOSE {port}")));
    let (_, service) = services().into_iter().find(|(name, _)| name == "prometheus").expect("it is there");
    for rules in strings(&prometheus["rule_files"]) {
        let place = format!("/etc/prometheus/{rules}");
        assert!(mounts(&service).iter().any(|(_, mounted)| *mounted == place), "{place}");
    }
    let datasources = yaml("deploy/grafana/provisioning/datasources/prometheus.yml");
    assert_eq!(datasources["datasources"][0]["url"], "http://prometheus:9090");
}

#[test]
fn grafana_finds_its_dashboard() {
    let (_, service) = services().into_iter().find(|(name, _)| name == "grafana").expect("it is there");
    let home = service["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"].as_str().expect("a path");
    let of_repository = |path: &str| {
        let mounts = mounts(&service);
        let found = mounts.iter().find_map(|(file, place)| {
            path.strip_prefix(place.as_str()).map(|rest| Path::new(ROOT).join(format!("{file}{rest}")))
        });
        found.unwrap_or_else(|| panic!("{path} is not mounted"))
    };
    assert!(of_repository(home).is_file(), "{home}");
    let providers = yaml("deploy/grafana/provisioning/dashboards/leitong.yml");
    let folder = providers["providers"][0]["options"]["path"].as_str().expect("a path");
    assert!(of_repository(folder).is_dir(), "{folder}");
}

//! The Helm chart, and the kustomize base that is rendered from it. Each object fits Kubernetes' own schema,
//! and so do rules beyond schemas: selectors, ports, probes, commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leitong::Config;
use serde_json::{Value, json};

use crate::common::{Run, leitong, write};
use crate::compose::yaml;
use crate::image::{ROOT, read};

const CHART: &str = "deploy/helm/leitong";
/// Switches on everything in the chart, and sets each value that only some installations set.
const EVERYTHING: &str = r#"{
    "imagePullSecrets": [{"name": "registry"}],
    "role": "fingerprint",
    "snapshots": {"storageClassName": "fast"},
    "extraVolumes": [{"name": "ca", "secret": {"secretName": "kafka-ca"}}],
    "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/kafka", "readOnly": true}],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "crawl", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "kafka"}}}]}},
    "podAnnotations": {"team": "crawl"},
    "api": {"enabled": true, "from": [{"namespaceSelector": {"matchLabels": {"team": "index"}}}]},
    "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": true, "labels": {"release": "prometheus"}},
    "keda": {"enabled": true, "authentication": "kafka"}
}"#;
/// Kinds of resources that operators define. Their schemas are not part of Kubernetes.
const OF_OPERATORS: [&str; 3] = ["ServiceMonitor", "PrometheusRule", "ScaledObject"];

fn tools() -> PathBuf {
    Path::new(ROOT).join("target/tools/kubernetes")
}

/// Runs helm or kubectl, and returns its output.
fn tool(name: &str, arguments: &[&str]) -> String {
    let run = Command::new(tools().join(name)).args(arguments).current_dir(ROOT).output();
    let run = run.unwrap_or_else(|error| {
        panic!("this test needs `{name}`: `make all-tools` fetches it to target/tools: {error}")
    });
    assert!(run.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("UTF-8")
}

fn objects(manifests: &str) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifests).expect("YAML");
    objects.into_iter().filter(|object| !object.is_null()).collect()
}

/// Returns the chart with its default values.
fn base() -> Vec<Value> {
    objects(&tool("helm", &["template", "leitong", CHART]))
}

/// Returns the chart under another name, with everything switched on.
fn everything() -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let values = write(folder.path(), "values.json", EVERYTHING);
    objects(&tool("helm", &["template", "crawl", CHART, "--values", values.to_str().expect("UTF-8")]))
}

/// Returns the installation that users copy.
fn example() -> Vec<Value> {
    objects(&tool("kubectl", &["kustomize", "deploy/kubernetes/example"]))
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Returns the Service that names the workers, for the StatefulSet and for metrics.
fn workers_service(objects: &[Value]) -> &Value {
    let name = &of_kind(objects, "StatefulSet")["spec"]["serviceName"];
    let mut services = objects.iter().filter(|object| object["kind"] == "Service");
    services.find(|service| service["metadata"]["name"] == *name).expect("a Service of the workers")
}

/// Returns the pod templates: of the workers, and of the job that creates topics.
fn pod_templates(objects: &[Value]) -> [&Value; 2] {
    ["StatefulSet", "Job"].map(|kind| &of_kind(objects, kind)["spec"]["template"])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Compares a file with what it is generated from, or writes it again.
fn is_committed(path: &str, expected: &str) {
    if std::env::var("LEITONG_GOLDEN").is_ok_and(|value| value == "write") {
        fs::write(Path::new(ROOT).join(path), expected).expect("written");
    }
    assert!(
        read(path) == expected,
        "{path} is not what the chart renders; write it again with \
         `LEITONG_GOLDEN=write cargo test --test shipped kubernetes`"
    );
}

#[test]
fn committed_manifests_equal_the_rendered_chart() {
    let render = |more: &[&str]| tool("helm", &[&["template", "leitong", CHART], more].concat());
    let shown = |name: &str| format!("templates/{name}.yaml");
    let monitoring = [
        "--set=serviceMonitor.enabled=true,prometheusRule.enabled=true",
        "--show-only",
        &shown("servicemonitor"),
        "--show-only",
        &shown("prometheusrule"),
    ];
    // The chart's own copy first, since it is rendered.
    is_committed(&format!("{CHART}/files/alerts.yml"), &read("deploy/alerts.yml"));
    is_committed("deploy/kubernetes/base/leitong.yaml", &render(&[]));
    is_committed("deploy/kubernetes/components/monitoring/monitoring.yaml", &render(&monitoring));
    let keda = render(&["--set=keda.enabled=true", "--show-only", &shown("scaledobject")]);
    is_committed("deploy/kubernetes/components/keda/keda.yaml", &keda);
    let chart = yaml(&format!("{CHART}/Chart.yaml"));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    for template in pod_templates(&base()) {
        let image = format!("leitong:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(template["spec"]["containers"][0]["image"], image);
    }
}

#[test]
fn helm_lint_accepts_the_chart() {
    tool("helm", &["lint", "--strict", CHART]);
}

/// Renders the chart with these values; returns Helm's message if it refuses them.
fn rendered(values: &Value) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let values = write(folder.path(), "values.json", values.to_string());
    let run = Command::new(tools().join("helm"))
        .args(["template", "crawl", CHART, "--values"])
        .arg(values)
        .current_dir(ROOT)
        .output()
        .expect("helm: `make all-tools`");
    match run.status.success() {
        true => Ok(objects(&String::from_utf8(run.stdout).expect("UTF-8"))),
        false => Err(String::from_utf8_lossy(&run.stderr).into_owned()),
    }
}

/// YAML reads a tag such as 1.10 as a number, and Helm would write 20261128 as 2.0261128e+07.
#[test]
fn values_of_a_wrong_type_and_unknown_values_are_refused() {
    for (values, says) in [
        (json!({"image": {"tag": 20_261_128}}), "/image/tag"),
        (json!({"image": {"tag": 1.1}}), "/image/tag"),
        (json!({"podAnnotations": {"version": 1.1}}), "/podAnnotations/version"),
        (json!({"nodeSelector": {"gpu": true}}), "/nodeSelector/gpu"),
        (json!({"snapshots": {"size": 10_000_000_000_u64}}), "/snapshots/size"),
        (json!({"keda": {"lagThreshold": 1.5}}), "/keda/lagThreshold"),
        (json!({"keda": {"lagThreshold": "1e6"}}), "/keda/lagThreshold"),
        (json!({"replicas": "2"}), "/replicas"),
        (json!({"role": "both"}), "/role"),
        (json!({"networkPolicy": {"enabled": "false"}}), "/networkPolicy/enabled"),
        (json!({"networkPolicy": {"enabled": null}}), "enabled"),
        (json!({"networkPolicy": null}), "networkPolicy"),
        (json!({"networkPolicy": {"kafkaPorts": ["9092", 70_000]}}), "/networkPolicy/kafkaPorts"),
        (json!({"networkPolicy": {"metricsFrom": [{}]}}), "/networkPolicy/metricsFrom/0"),
        (json!({"networkpolicy": {"enabled": true}}), "'networkpolicy' not allowed"),
        (json!({"api": {"form": []}}), "'form' not allowed"),
    ] {
        let refused = rendered(&values).expect_err(&values.to_string());
        assert!(refused.contains(says), "{values}: {refused}");
    }
    let settings = json!({"image": {"tag": "1.10"}, "keda": {"enabled": true, "lagThreshold": 1_000_000},
                          "secretName": "123", "global": {"team": "crawl"}});
    let objects = rendered(&settings).expect("accepted");
    let container = &worker_spec(&objects)["containers"][0];
    assert_eq!(container["image"], "leitong:1.10");
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "123");
    let trigger = &of_kind(&objects, "ScaledObject")["spec"]["triggers"][0]["metadata"];
    assert_eq!(trigger["lagThreshold"], "1000000");
}

/// In a NetworkPolicy, a rule with an empty list of peers or ports allows all of them.
#[test]
fn an_emptied_list_closes_the_network_policy() {
    for nothing in [json!([]), Value::Null] {
        let lists = json!({"metricsFrom": nothing, "kafkaPorts": nothing, "collectorPorts": nothing});
        let values = json!({"networkPolicy": lists, "api": {"enabled": true, "from": nothing}});
        let closed = rendered(&values).expect("accepted");
        let policy = &of_kind(&closed, "NetworkPolicy")["spec"];
        assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
        assert_eq!(policy["ingress"], json!([]));
        let dns = json!([{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}]);
        assert_eq!(policy["egress"], dns);
        let one = json!({"networkPolicy": {"metricsFrom": nothing, "kafkaPorts": [9092]}, "api": {"enabled": true}});
        let objects = rendered(&one).expect("accepted");
        let policy = &of_kind(&objects, "NetworkPolicy")["spec"];
        assert_eq!(list(&policy["ingress"]).len(), 1);
        assert_eq!(policy["ingress"][0]["ports"][0]["port"], "api");
        assert_eq!(policy["egress"][1]["ports"], json!([{"port": 9092, "protocol": "TCP"}]));
    }
}

/// The schemas of one version of Kubernetes; unknown fields are errors.
struct Schemas {
    version: &'static str,
    definitions: serde_json::Map<String, Value>,
}

impl Schemas {
    fn load(version: &'static str) -> Self {
        let path = tools().join(format!("{version}.json"));
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}: `make all-tools` fetches it", path.display()));
        let mut all: Value = serde_json::from_str(&text).expect("JSON");
        let Value::Object(definitions) = all["$defs"].take() else { panic!("{version}: no definitions") };
        Self { version, definitions }
    }

    /// Returns the definitions that a schema refers to, directly or indirectly.
    fn with_all_that_it_needs(&self, name: &str) -> serde_json::Map<String, Value> {
        let mut found = serde_json::Map::new();
        let mut wanted = vec![name.to_owned()];
        while let Some(name) = wanted.pop() {
            let definition = &self.definitions[&name];
            let text = definition.to_string();
            wanted.extend(text.split("\"#/$defs/").skip(1).filter_map(|rest| {
                let name = rest.split('"').next().expect("a name");
                (!found.contains_key(name)).then(|| name.to_owned())
            }));
            found.insert(name, definition.clone());
        }
        found
    }

    /// Returns the errors of an object of one of Kubernetes' own kinds.
    fn faults(&self, object: &Value) -> Vec<String> {
        let (group, version) = object["apiVersion"]
            .as_str()
            .map(|named| named.split_once('/').unwrap_or(("", named)))
            .expect("an apiVersion");
        let named = json!({"group": group, "kind": object["kind"], "version": version});
        let found = self
            .definitions
            .iter()
            .find(|(_, definition)| list(&definition["x-kubernetes-group-version-kind"]).contains(&named));
        let Some((name, _)) = found else { return vec![format!("{} knows no {named}", self.version)] };
        let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.with_all_that_it_needs(name)});
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        validator.iter_errors(object).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

#[test]
fn kubernetes_accepts_each_object() {
    let all: Vec<Value> = [base(), everything(), example()].concat();
    for version in ["v1.30", "v1.37"] {
        let schemas = Schemas::load(version);
        let mut kinds = BTreeSet::new();
        for object in all.iter().filter(|object| object["kind"].as_str().is_some_and(of_kubernetes)) {
            kinds.insert(object["kind"].as_str().expect("a kind"));
            let name = &object["metadata"]["name"];
            assert!(!object.to_string().contains(":null"), "a value that is missing: {object}");
            assert_eq!(schemas.faults(object), [""; 0], "{version}: {} {name}", object["kind"]);
        }
        assert_eq!(kinds.len(), 6, "{kinds:?}");
        // The schema finds mistakes.
        let right = of_kind(&all, "StatefulSet");
        let faults_of = |pointer: &str, wrong: Value| {
            let mut object = right.clone();
            *object.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = wrong;
            schemas.faults(&object)
        };
        assert_ne!(faults_of("/spec/replicas", json!("two")), [""; 0]);
        assert_ne!(faults_of("/spec/selector", json!(["app"])), [""; 0]);
        assert_ne!(faults_of("/spec/template/spec", json!({"hostname": "leitong"})), [""; 0]);
        assert_ne!(faults_of("/spec/template/spec/securityContext", json!({"runAsNotRoot": true})), [""; 0]);
        assert_ne!(faults_of("/apiVersion", json!("apps/v1beta2")), [""; 0]);
    }
}

/// Checks an object of an operator, and prints its errors.
const CHECK: &str = r#"
import { readFileSync } from "node:fs";
const object = JSON.parse(readFileSync(0, "utf8"));
const packages = { "monitoring.coreos.com": "prometheus-operator", "keda.sh": "keda" };
const place = `${packages[object.apiVersion.split("/")[0]]}/${object.apiVersion}/${object.kind}`;
const { [object.kind]: Model } = await import(`@kubernetes-models/${place}`);
try {
    new Model(object).validate();
} catch (error) {
    console.log(error.message);
}
"#;

fn faults_of_operators_object(object: &Value) -> String {
    let node = Command::new("node")
        .args(["--input-type=module", "--eval", CHECK])
        .current_dir(Path::new(ROOT).join("target/tools/kubernetes-operators"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut node = node.unwrap_or_else(|error| {
        panic!("this test needs Node.js and models of the operators: `make all-tools`: {error}")
    });
    let mut input = node.stdin.take().expect("a pipe");
    input.write_all(object.to_string().as_bytes()).expect("it reads");
    drop(input);
    let run = node.wait_with_output().expect("it ends");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).expect("UTF-8")
}

#[test]
fn operators_accept_their_objects() {
    let objects = everything();
    for kind in OF_OPERATORS {
        assert_eq!(faults_of_operators_object(of_kind(&objects, kind)), "", "{kind}");
    }
    let faults_of = |kind: &str, pointer: &str, wrong: Value| {
        let mut object = of_kind(&objects, kind).clone();
        *object.pointer_mut(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}")) = wrong;
        faults_of_operators_object(&object)
    };
    assert_ne!(faults_of("ServiceMonitor", "/spec/endpoints/0/interval", json!("soon")), "");
    assert_ne!(faults_of("PrometheusRule", "/spec/groups/0/rules/0", json!({"alert": "NoQuery"})), "");
    assert_ne!(faults_of("ScaledObject", "/spec/triggers/0/metadata/lagThreshold", json!(5000)), "");
}

fn of_kubernetes(kind: &str) -> bool {
    !OF_OPERATORS.contains(&kind)
}

/// Returns true if all labels of a selector are among those of an object.
fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.as_object().expect("labels");
    !wanted.is_empty() && wanted.iter().all(|(name, value)| labels[name] == *value)
}

#[test]
fn selectors_find_their_pods() {
    for objects in [base(), everything(), example()] {
        let workers = of_kind(&objects, "StatefulSet");
        let [worker, topics] = pod_templates(&objects).map(|template| &template["metadata"]["labels"]);
        let service = workers_service(&objects);
        let spread = list(&worker_spec(&objects)["topologySpreadConstraints"]);
        assert_eq!(spread.len(), 2);
        let only_workers = spread.iter().map(|spread| &spread["labelSelector"]["matchLabels"]).chain([
            &workers["spec"]["selector"]["matchLabels"],
            &service["spec"]["selector"],
            &of_kind(&objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        ]);
        for selector in only_workers {
            assert!(selects(selector, worker) && !selects(selector, topics), "{selector}");
        }
        // Both need access to the brokers.
        let policy = &of_kind(&objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"];
        assert!(selects(policy, worker) && selects(policy, topics), "{policy}");
        for object in &objects {
            assert_eq!(object["metadata"]["namespace"], of_kind(&objects, "Job")["metadata"]["namespace"]);
        }
    }
    for objects in [everything(), example()] {
        let (monitor, service) = (of_kind(&objects, "ServiceMonitor"), workers_service(&objects));
        assert!(selects(&monitor["spec"]["selector"]["matchLabels"], &service["metadata"]["labels"]));
        // The alerts of deploy/alerts.yml select this job.
        let label = monitor["spec"]["jobLabel"].as_str().expect("a label");
        assert_eq!(service["metadata"]["labels"][label], "leitong");
        assert_eq!(of_kind(&objects, "PrometheusRule")["spec"], yaml("deploy/alerts.yml"));
        let scaled = &of_kind(&objects, "ScaledObject")["spec"]["scaleTargetRef"];
        let workers = of_kind(&objects, "StatefulSet");
        assert_eq!(scaled["name"], workers["metadata"]["name"]);
        assert_eq!(scaled["kind"], workers["kind"]);
        assert!(workers["spec"].get("replicas").is_none(), "two would set the number of workers");
    }
}

fn worker_spec(objects: &[Value]) -> &Value {
    &of_kind(objects, "StatefulSet")["spec"]["template"]["spec"]
}

/// Returns the configuration file of the volume mounted in a pod, with variables as the program sees them.
fn configuration<'a>(objects: &'a [Value], pod: &Value) -> &'a str {
    let volume = list(&pod["volumes"]).iter().find(|volume| volume["name"] == "config").expect("a volume");
    let name = &volume["configMap"]["name"];
    let map =
        objects.iter().find(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == *name);
    map.unwrap_or_else(|| panic!("no ConfigMap {name}"))["data"]["leitong.toml"].as_str().expect("a file")
}

/// Returns the parsed configuration of the workers.
fn config(objects: &[Value]) -> Config {
    let text = configuration(objects, worker_spec(objects));
    let folder = tempfile::tempdir().expect("a folder");
    let text = text.replace("${KAFKA_BOOTSTRAP}", "kafka:9092").replace("${HOSTNAME}", "leitong-0");
    assert!(!text.contains("${"), "a variable that nothing sets: {text}");
    leitong::Config::from_file(write(folder.path(), "leitong.toml", text)).expect("a configuration")
}

#[test]
fn probes_and_metrics_are_where_the_worker_serves_them() {
    let server = read("crates/http/src/admin/mod.rs");
    for objects in [base(), everything(), example()] {
        let pod = worker_spec(&objects);
        let container = &pod["containers"][0];
        let port = &container["ports"][0];
        assert_eq!(config(&objects).admin.address, format!("0.0.0.0:{}", port["containerPort"]));
        assert!(read("deploy/Dockerfile").contains(&format!("EXPOSE {}", port["containerPort"])));
        let mut paths = vec![];
        for (probe, path) in
            [("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")]
        {
            assert_eq!(container[probe]["httpGet"]["path"], path, "{probe}");
            assert_eq!(container[probe]["httpGet"]["port"], port["name"], "{probe}");
            paths.push(path);
        }
        let service = &workers_service(&objects)["spec"]["ports"][0];
        assert_eq!(service["targetPort"], port["name"]);
        assert_eq!(
            of_kind(&objects, "NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"],
            port["name"]
        );
        for monitor in objects.iter().filter(|object| object["kind"] == "ServiceMonitor") {
            let endpoint = &monitor["spec"]["endpoints"][0];
            assert_eq!(endpoint["port"], service["name"]);
            paths.push(endpoint["path"].as_str().expect("a path"));
        }
        for path in paths {
            assert!(server.contains(&format!("{path:?} => ")), "the worker does not serve {path}");
        }
    }
}

#[test]
fn look_ups_are_served_where_clients_find_them() {
    let text = "[api]";
    for objects in [base(), example()] {
        assert!(
            !configuration(&objects, worker_spec(&objects)).contains(text),
            "they are off unless asked for"
        );
        assert_eq!(list(&of_kind(&objects, "NetworkPolicy")["spec"]["ingress"]).len(), 1);
    }
    let objects = everything();
    let container = &worker_spec(&objects)["containers"][0];
    let port = list(&container["ports"]).iter().find(|port| port["name"] == "api").expect("a port");
    let api = config(&objects).api;
    assert_eq!(api.address, format!("0.0.0.0:{}", port["containerPort"]));
    assert!(api.token_env.is_some(), "every client that reaches the Service could send look-ups");
    let services = objects.iter().filter(|object| object["kind"] == "Service");
    let service = services.clone().find(|service| service["spec"]["ports"][0]["name"] == "api").expect("one");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    let [worker, topics] = pod_templates(&objects).map(|template| &template["metadata"]["labels"]);
    assert!(selects(&service["spec"]["selector"], worker) && !selects(&service["spec"]["selector"], topics));
    let monitored = &of_kind(&objects, "ServiceMonitor")["spec"]["selector"]["matchLabels"];
    assert!(!selects(monitored, &service["metadata"]["labels"]), "it has no metrics");
    let ingress = list(&of_kind(&objects, "NetworkPolicy")["spec"]["ingress"]);
    let rule = ingress.iter().find(|rule| rule["ports"][0]["port"] == "api").expect("a rule");
    assert_eq!(rule["from"][0]["namespaceSelector"]["matchLabels"]["team"], "index");
    // The topics' job reads a separate configuration, which does not need these settings.
    assert!(!configuration(&objects, pod_templates(&objects)[1].get("spec").expect("a pod")).contains(text));
}

#[test]
fn pods_are_sandboxed_and_given_time_to_stop() {
    let stop = read("crates/kafka/src/worker/stop.rs");
    let seconds = stop.split_once("STOP_TIMEOUT: Duration = Duration::from_secs(").expect("the constant").1;
    let seconds: u64 = seconds.split(')').next().expect("a number").parse().expect("a number");
    let user = read("deploy/Dockerfile");
    let user = user.lines().find_map(|line| line.strip_prefix("USER ")).expect("a user").to_owned();
    let page = read("docs/operations.md");
    for objects in [base(), everything(), example()] {
        let grace = worker_spec(&objects)["terminationGracePeriodSeconds"].as_u64().expect("seconds");
        assert!(grace > seconds, "the worker takes up to {seconds} s to stop");
        for pod in pod_templates(&objects).map(|template| &template["spec"]) {
            assert_eq!(pod["automountServiceAccountToken"], false);
            let security = &pod["securityContext"];
            assert_eq!(security["runAsNonRoot"], true);
            assert_eq!(format!("{}:{}", security["runAsUser"], security["runAsGroup"]), user);
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
            for container in list(&pod["containers"]) {
                let security = &container["securityContext"];
                assert_eq!(security["readOnlyRootFilesystem"], true);
                assert_eq!(security["allowPrivilegeEscalation"], false);
                assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}));
                let secret = container["envFrom"][0]["secretRef"]["name"].as_str().expect("a name");
                assert!(page.contains(&format!("secret generic {secret} ")), "docs/operations.md: {secret}");
            }
        }
    }
}

fn gibibytes(quantity: &Value) -> f64 {
    let quantity = quantity.as_str().expect("a quantity");
    quantity.strip_suffix("Gi").expect("Gi").parse().expect("a number")
}

/// The sums of docs/operations.md, computed from the settings.
#[test]
fn pods_have_the_resources_that_the_settings_need() {
    let objects = base();
    let config = config(&objects);
    let centroids = config.expiry.centroids_max as f64;
    let gib = f64::from(1 << 30);
    let mib = f64::from(1 << 20);
    let table = 370.0 * centroids * f64::from(config.kafka.create.log_partitions);
    let pages = config.pipeline.queue_bytes as f64 + f64::from(config.kafka.create.page_partitions) * mib;
    let memory = (350.0 * mib + 128.0 * mib + pages + table) / gib;
    let resources = &worker_spec(&objects)["containers"][0]["resources"];
    for amount in ["requests", "limits"] {
        let given = gibibytes(&resources[amount]["memory"]);
        assert!(given > memory && given < 1.25 * memory, "{amount}: {given} for {memory} GiB");
    }
    let claim = &of_kind(&objects, "StatefulSet")["spec"]["volumeClaimTemplates"][0];
    let disk = gibibytes(&claim["spec"]["resources"]["requests"]["storage"]);
    assert!(disk > 2.0 * 250.0 * centroids / gib, "{disk} Gi");
    // The configured folder is the persistent one.
    let mounts = list(&worker_spec(&objects)["containers"][0]["volumeMounts"]);
    let mount = mounts.iter().find(|mount| mount["name"] == claim["metadata"]["name"]).expect("a mount");
    assert_eq!(config.kafka.snapshots.dir.as_deref(), mount["mountPath"].as_str().map(Path::new));
}

#[test]
fn keda_watches_the_group_and_the_topic_of_the_workers() {
    for objects in [everything(), example()] {
        let config = config(&objects);
        let scaled = &of_kind(&objects, "ScaledObject")["spec"];
        let trigger = &scaled["triggers"][0]["metadata"];
        assert_eq!(
            trigger["consumerGroup"],
            format!("{}-fingerprint-{}", config.kafka.app, config.kafka.epoch)
        );
        assert_eq!(trigger["topic"], config.kafka.topics.pages);
        assert_eq!(scaled["maxReplicaCount"], config.kafka.create.page_partitions);
        let env = &worker_spec(&objects)["containers"][0]["env"][0];
        assert_eq!(trigger["bootstrapServers"], env["value"]);
        // KEDA reads all of these as text.
        assert!(trigger.as_object().expect("settings").values().all(Value::is_string), "{trigger}");
    }
}

/// Runs the containers' commands, with the files as they would be mounted.
#[test]
fn the_program_accepts_the_commands_of_pods() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut started, mut checked) = (Vec::new(), BTreeSet::new());
    for (which, objects) in [base(), everything()].iter().enumerate() {
        for (at, pod) in pod_templates(objects).map(|template| &template["spec"]).into_iter().enumerate() {
            let container = &pod["containers"][0];
            assert_eq!(container["command"], Value::Null, "the image's own");
            let mounted = list(&container["volumeMounts"]).iter().find(|mount| mount["name"] == "config");
            let place = mounted.expect("a mount")["mountPath"].as_str().expect("a path");
            let file = write(folder.path(), &format!("{which}-{at}.toml"), configuration(objects, pod));
            let file = file.to_str().expect("UTF-8");
            let arguments: Vec<&str> = list(&container["args"])
                .iter()
                .map(|argument| argument.as_str().expect("a string"))
                .map(|argument| if argument == format!("{place}/leitong.toml") { file } else { argument })
                .collect();
            let environment: BTreeMap<&str, &str> = list(&container["env"])
                .iter()
                .map(|variable| (variable["name"].as_str().expect("a name"), "127.0.0.1:1"))
                .chain([("HOSTNAME", "leitong-0")])
                .collect();
            assert_eq!(list(&container["env"])[0]["name"], "KAFKA_BOOTSTRAP");
            let start = |arguments: &[&str]| {
                let mut command = leitong();
                command.args(arguments).env_remove("KAFKA_BOOTSTRAP").env_remove("HOSTNAME");
                command.envs(&environment).stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().expect("it starts")
            };
            if checked.insert(configuration(objects, pod).to_owned()) {
                let check =
                    Run::from_output(start(&["config", "check", file]).wait_with_output().expect("it ends"));
                assert_eq!(check.status, 0, "{}{}", check.stdout, check.stderr);
            }
            let admin: &[&str] = if arguments[0] == "run" { &["--admin", "127.0.0.1:0"] } else { &[] };
            started.push((arguments.join(" "), start(&[&arguments, admin].concat())));
        }
    }
    for (what, child) in started {
        // Nobody listens on port 1. The program accepts its arguments and reports that.
        let run = Run::from_output(child.wait_with_output().expect("it ends"));
        assert_eq!(run.status, 1, "{what}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("no answer from kafka.bootstrap_servers"), "{what}: {}", run.stderr);
    }
}

//! `examples/connectors`: each file can be parsed, readers are `read_committed`, and every field of a verdict
//! or a page that a file uses exists. `tests/kafka/connectors` runs the connectors that can be installed.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::image::{ROOT, read};

const FOLDER: &str = "examples/connectors";

/// Returns the names and contents of all configurations.
fn files() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(Path::new(ROOT).join(FOLDER)).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    names
        .filter(|name| name != "README.md")
        .map(|name| (name.clone(), read(&format!("{FOLDER}/{name}"))))
        .collect()
}

/// Returns those of these paths (such as `metadata.publisher`) that no verdict has.
fn unknown<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let schema: Value = serde_json::from_str(&read("docs/verdict.schema.json")).expect("JSON");
    let is_known = |path: &str| {
        let mut at = &schema;
        path.split('.').all(|name| {
            at = &at["properties"][name];
            !at.is_null()
        })
    };
    paths.into_iter().filter(|path| !is_known(path)).collect()
}

/// Returns the paths of verdict fields in SQL: `verdict->'a'->>'b'` or `JSONExtract…(raw, 'a', 'b'`.
fn paths_of_sql(sql: &str) -> BTreeSet<String> {
    let quoted =
        |text: &str| -> Vec<String> { text.split('\'').skip(1).step_by(2).map(str::to_owned).collect() };
    let arrows = sql.split("verdict->").skip(1).map(|rest| {
        let end = rest.find([')', ' ', ',']).unwrap_or(rest.len());
        quoted(&rest[..end]).join(".")
    });
    let extracts = sql.split("(raw, ").skip(1).map(|rest| {
        let fields =
            quoted(&rest[..rest.find(") ").or(rest.find("))")).or(rest.find("),")).unwrap_or(rest.len())]);
        // The last argument may be the requested type.
        fields.into_iter().filter(|field| !field.starts_with("Nullable(")).collect::<Vec<_>>().join(".")
    });
    arrows.chain(extracts).collect()
}

/// Collects the paths of the fields in a mapping of an index.
fn paths_of_mapping(properties: &Value, before: &str, paths: &mut BTreeSet<String>) {
    for (name, field) in properties.as_object().expect("fields") {
        let path = format!("{before}{name}");
        if field["properties"].is_object() {
            paths_of_mapping(&field["properties"], &format!("{path}."), paths);
        }
        paths.insert(path);
    }
}

/// Returns the fields used by a sink of Kafka Connect; the table of PostgreSQL must have its columns.
fn fields_of_sink(name: &str, text: &str) -> BTreeSet<String> {
    let connector: Value = serde_json::from_str(text).expect("JSON");
    let config = &connector["config"];
    assert_eq!(config["consumer.override.isolation.level"], "read_committed", "{name}");
    let topic = config["topics"].as_str().expect("a topic");
    assert!(read("docs/asyncapi.yaml").contains(&format!("address: {topic}")), "{topic} is in no channel");
    assert!(config.as_object().expect("settings").values().all(Value::is_string), "{name}");
    let Some(key) = config["primary.key.fields"].as_str() else { return BTreeSet::new() };
    let table = read(&format!("{FOLDER}/postgresql.sql"));
    assert!(table.contains(&format!("    {key} text PRIMARY KEY")), "the table has no {key}");
    let column = config["transforms.value.field"].as_str().expect("a column");
    assert!(table.contains(&format!("    {column} jsonb")), "the table has no {column}");
    BTreeSet::from([key.to_owned()])
}

/// Counts the fields of a page that a pipeline of Redpanda Connect sets; each must exist.
fn fields_of_pipeline(config: &Value) -> usize {
    let openapi: Value = serde_saphyr::from_str(&read("docs/openapi.yaml")).expect("YAML");
    let page = &openapi["components"]["schemas"]["Page"]["properties"];
    let mapping = config["pipeline"]["processors"][0]["mapping"].as_str().expect("a mapping");
    let fields = mapping.split("root.").skip(1).map(|rest| rest.split(' ').next().expect("a field"));
    let topic = config["output"]["kafka_franz"]["topic"].as_str().expect("a topic");
    assert_eq!(topic, leitong::Config::default().kafka.topics.pages);
    fields.inspect(|field| assert!(!page[field].is_null(), "pages have no {field}")).count()
}

#[test]
fn connectors_name_only_fields_that_exist() {
    let readme = read(&format!("{FOLDER}/README.md"));
    let mut named = 0;
    let files = files();
    for (name, text) in &files {
        assert!(readme.contains(&format!("`{name}`")), "the README does not name {name}");
        let mut paths = BTreeSet::new();
        match &**name {
            "elasticsearch.json" | "opensearch.json" | "postgresql.json" => {
                paths = fields_of_sink(name, text);
            }
            "elasticsearch-index-template.json" => {
                let template: Value = serde_json::from_str(text).expect("JSON");
                paths_of_mapping(&template["template"]["mappings"]["properties"], "", &mut paths);
            }
            "postgresql.sql" => paths = paths_of_sql(text),
            "clickhouse.sql" => {
                assert!(text.contains("<isolation_level>read_committed<"), "{text}");
                paths = paths_of_sql(text);
                let columns = text.matches(") AS ").count();
                assert_eq!(paths.len(), columns, "{paths:?}: a column of the view is not checked");
            }
            "redis-streams.yaml" | "nats.yaml" | "rabbitmq.yaml" => {
                let config: Value = serde_saphyr::from_str(text).expect("YAML");
                assert_eq!(config["input"].as_object().map(serde_json::Map::len), Some(1), "{name}");
                if name == "redis-streams.yaml" {
                    named += fields_of_pipeline(&config);
                }
            }
            other => panic!("no test checks {FOLDER}/{other}"),
        }
        assert_eq!(unknown(paths.iter().map(String::as_str)), [""; 0], "in {name}");
        named += paths.len();
    }
    assert!(files.len() == 9 && named >= 45, "{named} fields in {} files", files.len());
}

#[test]
fn a_field_that_does_not_exist_is_found() {
    let paths = paths_of_sql(
        "(verdict->>'kindd'), (verdict->'metadata'->>'published'), JSONExtract(raw, 'metadata', 'publisher', 'Nullable(String)') AS \
         a, JSONExtractBool(raw, 'same_urls') AS b",
    );
    let found: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(found, ["kindd", "metadata.published", "metadata.publisher", "same_urls"]);
    assert_eq!(unknown(found), ["kindd", "metadata.published", "same_urls"]);
}

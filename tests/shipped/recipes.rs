//! `docs/recipes.md`: each file in it can be parsed, readers are `read_committed`, and what it names of
//! verdicts and pages exists. `tests/kafka/connectors` runs what can be had.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::fences;
use crate::image::read;

/// Which of these paths (`credits.publisher`) no verdict has.
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

/// The paths of verdicts that SQL takes fields by: `verdict->'a'->>'b'` or `JSONExtract…(raw, 'a', 'b'`.
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
        // The last one may be the type that is wanted.
        fields.into_iter().filter(|field| !field.starts_with("Nullable(")).collect::<Vec<_>>().join(".")
    });
    arrows.chain(extracts).collect()
}

/// The paths of the fields in a mapping of an index.
fn paths_of_mapping(properties: &Value, before: &str, paths: &mut BTreeSet<String>) {
    for (name, field) in properties.as_object().expect("fields") {
        let path = format!("{before}{name}");
        if field["properties"].is_object() {
            paths_of_mapping(&field["properties"], &format!("{path}."), paths);
        }
        paths.insert(path);
    }
}

#[test]
fn recipes_name_what_there_is() {
    let document = read("docs/recipes.md");
    let asyncapi = read("docs/asyncapi.yaml");
    let openapi: Value = serde_saphyr::from_str(&read("docs/openapi.yaml")).expect("YAML");
    let page = &openapi["components"]["schemas"]["Page"]["properties"];
    let (mut kinds, mut named) = (BTreeSet::new(), 0);
    for (kind, text) in fences(&document) {
        let mut paths = BTreeSet::new();
        match &*kind {
            "json connector" => {
                let connector: Value = serde_json::from_str(&text).expect("JSON");
                let config = &connector["config"];
                assert_eq!(config["consumer.override.isolation.level"], "read_committed", "{text}");
                let topic = config["topics"].as_str().expect("a topic");
                assert!(asyncapi.contains(&format!("address: {topic}")), "{topic} is in no channel");
                assert!(config.as_object().expect("settings").values().all(Value::is_string), "{text}");
                if let Some(key) = config["primary.key.fields"].as_str() {
                    paths.insert(key.to_owned());
                    assert!(
                        document.contains(&format!("    {key} text PRIMARY KEY")),
                        "the table has no {key}"
                    );
                    let hoisted = config["transforms.value.field"].as_str().expect("a column");
                    assert!(document.contains(&format!("    {hoisted} jsonb")), "the table has no {hoisted}");
                }
            }
            "json index-template" => {
                let template: Value = serde_json::from_str(&text).expect("JSON");
                paths_of_mapping(&template["template"]["mappings"]["properties"], "", &mut paths);
            }
            "sql postgresql" => paths = paths_of_sql(&text),
            "sql clickhouse" => {
                assert!(text.contains("<isolation_level>read_committed<"), "{text}");
                paths = paths_of_sql(&text);
                let columns = text.matches(") AS ").count();
                assert_eq!(paths.len(), columns, "{paths:?}: a column of the view is not looked at");
            }
            "yaml redpanda-connect" => {
                let config: Value = serde_saphyr::from_str(&text).expect("YAML");
                let mapping = config["pipeline"]["processors"][0]["mapping"].as_str().expect("a mapping");
                for field in
                    mapping.split("root.").skip(1).map(|rest| rest.split(' ').next().expect("a field"))
                {
                    assert!(!page[field].is_null(), "pages have no {field}");
                    named += 1;
                }
                let topic = config["output"]["kafka_franz"]["topic"].as_str().expect("a topic");
                assert_eq!(topic, leitong::Config::default().kafka.topics.pages);
            }
            "yaml redpanda-connect-input" => {
                let config: Value = serde_saphyr::from_str(&text).expect("YAML");
                assert_eq!(config["input"].as_object().map(serde_json::Map::len), Some(1), "{text}");
            }
            other => panic!("nobody checks a fence of kind {other:?}"),
        }
        assert_eq!(unknown(paths.iter().map(String::as_str)), [""; 0], "in {kind}");
        named += paths.len();
        kinds.insert(kind);
    }
    assert!(kinds.len() == 6 && named >= 45, "{named} fields in {kinds:?}");
}

#[test]
fn a_field_that_does_not_exist_is_found() {
    let paths = paths_of_sql(
        "(verdict->>'kindd'), (verdict->'credits'->>'published'), JSONExtract(raw, 'credits', 'publisher', 'Nullable(String)') AS \
         a, JSONExtractBool(raw, 'same_urls') AS b",
    );
    let found: Vec<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(found, ["credits.published", "credits.publisher", "kindd", "same_urls"]);
    assert_eq!(unknown(found), ["credits.published", "kindd", "same_urls"]);
}

//! Checks answers of a running server against `docs/openapi.yaml`, and records the parts of it that they
//! cover.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use super::serve::Answer;

pub(crate) const LOOK_UP: (&str, &str) = ("post", "/v1/lookup");
pub(crate) const STORE: (&str, &str) = ("post", "/v1/pages");
pub(crate) const PAGE: (&str, &str) = ("get", "/v1/pages/{id}");
pub(crate) const PAGE_OF_URL: (&str, &str) = ("get", "/v1/pages");
pub(crate) const OPERATIONS: [(&str, &str); 3] = [("get", "/livez"), ("get", "/readyz"), ("get", "/metrics")];
pub(crate) const CLUSTER: (&str, &str) = ("get", "/v1/clusters/{id}");

pub(crate) fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(path).expect("the document")
}

/// The document, and the parts of it that were seen in answers.
pub(crate) struct Api {
    document: Value,
    /// All schemas, as definitions that refer to each other.
    pub(crate) definitions: Value,
    pub(crate) seen: BTreeSet<(String, String, String)>,
    pub(crate) fields: BTreeSet<String>,
    pub(crate) problems: BTreeSet<String>,
}

impl Api {
    pub(crate) fn read() -> Self {
        let text = document("openapi.yaml").replace("#/components/schemas/", "#/$defs/");
        let document: Value = serde_saphyr::from_str(&text).expect("YAML");
        let mut definitions = document["components"]["schemas"].clone();
        definitions["Verdict"] =
            serde_json::from_str(&self::document("verdict.schema.json")).expect("the verdict's schema");
        Self {
            document,
            definitions,
            seen: BTreeSet::new(),
            fields: BTreeSet::new(),
            problems: BTreeSet::new(),
        }
    }

    pub(crate) fn validator(&self, schema: &Value) -> Validator {
        let mut schema = schema.clone();
        schema["$defs"] = self.definitions.clone();
        jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema")
    }

    /// Returns the schema of an operation's request in JSON.
    pub(crate) fn request_schema(&self, (method, path): (&str, &str)) -> Value {
        self.document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"].clone()
    }

    /// Checks that the operation has this status, and that the body fits its schema.
    #[track_caller]
    pub(crate) fn check(&mut self, operation: (&str, &str), status: u16, answer: &Answer) {
        let (method, path) = operation;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
        let responses = &self.document["paths"][path][method]["responses"];
        let mut response = &responses[status.to_string()];
        assert!(response.is_object(), "{method} {path} has no {status}");
        if let Some(reference) = response["$ref"].as_str() {
            response = self.document.pointer(&reference[1..]).expect("a reference that leads somewhere");
        }
        let (content_type, content) =
            response["content"].as_object().and_then(|content| content.iter().next()).expect("a body");
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains(&format!("content-type: {content_type}\r\n")), "{head}");
        let validator = self.validator(&content["schema"]);
        let errors: Vec<_> = validator.iter_errors(&answer.body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?}: {}", answer.body);
        let with: [(&[u16], &str); 3] =
            [(&[401], "www-authenticate"), (&[405], "allow"), (&[429, 503], "retry-after")];
        for (statuses, header) in with {
            assert_eq!(statuses.contains(&status), head.contains(&format!("\r\n{header}: ")), "{head}");
        }
        self.seen.insert((path.to_owned(), method.to_owned(), status.to_string()));
        self.problems.insert(answer.problem().to_owned());
        note_fields(&answer.body, &mut self.fields);
    }

    pub(crate) fn statuses(&self) -> BTreeSet<(String, String, String)> {
        let mut all = BTreeSet::new();
        for (path, methods) in self.document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                for status in operation["responses"].as_object().expect("responses").keys() {
                    all.insert((path.clone(), method.clone(), status.clone()));
                }
            }
        }
        all
    }

    /// Returns the names of all fields that answers may have.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (name, schema) in self.definitions.as_object().expect("schemas") {
            if !matches!(&**name, "Page" | "NamedPage") {
                note_names(schema, &mut names);
            }
        }
        names
    }
}

/// Records the names of the fields of `value` that are not null.
fn note_fields(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| note_fields(value, fields)),
        Value::Object(object) => {
            for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                fields.insert(name.clone());
                if !matches!(&**name, "evidence" | "passthrough") {
                    note_fields(value, fields);
                }
            }
        }
        _ => {}
    }
}

fn note_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Array(all) => all.iter().for_each(|schema| note_names(schema, names)),
        Value::Object(object) => {
            for (name, value) in object {
                if name == "properties" {
                    names.extend(value.as_object().expect("properties").keys().cloned());
                    value
                        .as_object()
                        .expect("properties")
                        .values()
                        .for_each(|value| note_names(value, names));
                } else if name == "items" || name == "oneOf" {
                    note_names(value, names);
                }
            }
        }
        _ => {}
    }
}

//! The message of a verdict on its topic: names and values of its headers. The value is the verdict itself.

pub mod cloud_events;
pub mod log_origin;
pub mod verdict_headers;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use leitong_base::proto::FORMAT_VERSION;
    use leitong_cluster::verdict::Kind;
    use serde_json::{Value, json};

    use super::{cloud_events, verdict_headers};

    fn names(object: &Value) -> BTreeSet<&str> {
        object.as_object().expect("an object").keys().map(String::as_str).collect()
    }

    #[test]
    fn the_asyncapi_document_describes_the_messages() {
        let document = std::fs::read_to_string("../../docs/asyncapi.yaml").expect("the document");
        let api: Value = serde_saphyr::from_str(&document).expect("YAML");
        let config = crate::config::Config::default().kafka;
        let channels = &api["channels"];
        assert_eq!(channels["verdicts"]["address"], config.topics.verdicts.as_str());
        assert_eq!(channels["deadLetters"]["address"], config.topics.dead_letters.as_str());
        let verdict = &api["components"]["messages"]["verdict"];
        let optional = cloud_events::NAMES;
        let all = verdict_headers::NAMES.into_iter().chain(optional).collect();
        assert_eq!(names(&verdict["headers"]["properties"]), all);
        assert_eq!(verdict["headers"]["properties"]["ce_type"]["enum"], json!([cloud_events::TYPE]));
        let required: BTreeSet<&str> = verdict["headers"]["required"]
            .as_array()
            .expect("names")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(required, verdict_headers::NAMES.into_iter().collect());
        let allowed_values = |name: &str| &verdict["headers"]["properties"][name]["enum"];
        assert_eq!(allowed_values(verdict_headers::KIND), &json!(Kind::ALL.map(Kind::as_str)));
        assert_eq!(allowed_values(verdict_headers::VERSION), &json!([FORMAT_VERSION.to_string()]));
        assert_eq!(verdict["payload"]["schema"]["$ref"], "verdict.schema.json");
        // Every reference within the document resolves.
        for pointer in document.split("\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(api.pointer(pointer).is_some(), "{pointer}");
        }
    }
}

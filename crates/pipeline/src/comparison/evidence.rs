//! Formats evidence, which is JSON, as text for people.

use serde_json::Value;

/// Maximum number of items of a list that are shown.
const ITEMS: usize = 8;

/// Formats a piece of evidence without JSON's brackets and quotes.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // The items of an inner list belong together, such as a term and its counts in both pages.
        Value::Array(items) => {
            let item = |item: &Value| match item {
                Value::Array(parts) => parts.iter().map(plain).collect::<Vec<_>>().join(" "),
                other => plain(other),
            };
            let more = items.len().saturating_sub(ITEMS);
            let mut shown: Vec<String> = items.iter().take(ITEMS).map(item).collect();
            shown.extend((more > 0).then(|| format!("{more} more")));
            if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{} {}", name.replace('_', " "), plain(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

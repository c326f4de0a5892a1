//! Checks the contents of a settings file against the schema of [`Config`](super::Config): unknown keys, types,
//! ranges, names of variants, and the settings that files of its kind hold.

use std::path::Path;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::env::substitute;
use super::redact;
use super::scope::File;

/// Limit on the characters of a message that quotes the file.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Returns the name that is most similar to `written`, if any is similar.
pub(super) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(written.len()) / 2)
        .map(|(_, name)| name)
}

/// A walk through the file and its schema side by side.
pub(super) struct Check<'a> {
    pub(super) text: &'a str,
    pub(super) path: &'a Path,
    /// Kind of the file; `None` if it may hold every setting.
    pub(super) file: Option<File>,
    pub(super) lookup: &'a dyn Fn(&str) -> Option<String>,
    /// Defaults of all settings.
    pub(super) defaults: Value,
    pub(super) faults: Vec<String>,
}

impl Check<'_> {
    /// Returns a value that was refused, for a message. Texts may be secrets in the wrong place, so only misspellings
    /// of `known` texts, and addresses without users and keys, are shown.
    fn shown(&self, value: &Spanned<DeValue>, known: &[&str]) -> String {
        match value.get_ref() {
            DeValue::String(text) if text.contains("://") => format!("{:?}", redact::address(text)),
            DeValue::String(text) => redact::name(text, known.iter().copied()),
            DeValue::Array(_) => "(a list, not shown)".to_owned(),
            DeValue::Table(_) => "(a table, not shown)".to_owned(),
            _ => self.text[value.span()].trim().to_owned(),
        }
    }

    fn fault(&mut self, at: usize, message: &str) {
        let line = line_of(self.text, at);
        self.faults.push(format!("{}: line {line}: {}", self.path.display(), excerpt(message)));
    }

    pub(super) fn table(&mut self, table: &DeTable, schema: &Value, prefix: &str) -> Map<String, Value> {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let mut checked = Map::new();
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            if is_free_table(schema) {
                if let Some(value) = self.free_value(value, &name) {
                    checked.insert(key.get_ref().to_string(), value);
                }
                continue;
            }
            match properties.get(key.get_ref().as_ref()) {
                Some(schema) if !self.holds(&name, schema) && !is_section(schema) => {
                    self.setting_of_another_file(value, schema, &name);
                }
                Some(schema) => {
                    if let Some(value) = self.value(value, schema, &name) {
                        checked.insert(key.get_ref().to_string(), value);
                    }
                }
                None => {
                    let held = properties
                        .iter()
                        .filter(|(key, schema)| self.holds(&format!("{prefix}{key}"), schema));
                    let held: Vec<&str> = held.map(|(key, _)| key.as_str()).collect();
                    let message = unknown_key(&name, key.get_ref(), prefix, &held);
                    self.fault(key.span().start, &message);
                }
            }
        }
        checked
    }

    /// Returns true if files of this kind hold the setting, or at least one setting of the section.
    fn holds(&self, name: &str, schema: &Value) -> bool {
        self.file.is_none_or(|file| holds(file, name, schema))
    }

    /// Refuses a setting that files of this kind do not hold.
    fn setting_of_another_file(&mut self, value: &Spanned<DeValue>, schema: &Value, name: &str) {
        let Some(file) = self.file else { return };
        let default = self.defaults.pointer(&format!("/{}", name.replace('.', "/")));
        let default = default.filter(|default| !default.is_null()).map(Value::to_string);
        let refusal = file.refusal(name, default.as_deref());
        // The values of a table whose keys users choose may be secrets.
        let shown = match is_free_table(schema) {
            true => String::new(),
            false => format!(" = {}", self.shown(value, &variants(schema))),
        };
        self.fault(value.span().start, &format!("{name}{shown}: {refusal}"));
    }

    /// Checks a value of a table whose keys users choose. It may be a secret, so no message shows it.
    fn free_value(&mut self, value: &Spanned<DeValue>, name: &str) -> Option<Value> {
        let text = match value.get_ref() {
            DeValue::String(text) => match substitute(text, self.lookup) {
                Ok(text) => text,
                Err(error) => {
                    self.fault(value.span().start, &format!("{name}: {error}"));
                    return None;
                }
            },
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Integer(integer) => integer.as_str().to_owned(),
            DeValue::Float(float) => float.as_str().to_owned(),
            _ => {
                self.fault(value.span().start, &format!("{name}: must be a string, a number, true or false"));
                return None;
            }
        };
        Some(Value::String(text))
    }

    fn value(&mut self, value: &Spanned<DeValue>, schema: &Value, name: &str) -> Option<Value> {
        let at = value.span().start;
        let shown = self.shown(value, &variants(schema));
        let types = schema_types(schema);
        let expected = |what: &str| format!("{name} = {shown}: must be {what}");
        let checked = match value.get_ref() {
            DeValue::Table(table) if types.contains(&"object") => {
                return Some(Value::Object(self.table(table, schema, &format!("{name}."))));
            }
            DeValue::Array(array) if types.contains(&"array") => {
                let items =
                    array.iter().map(|item| self.value(item, &schema["items"], name)).collect::<Vec<_>>();
                return items.into_iter().collect::<Option<Vec<_>>>().map(Value::Array);
            }
            DeValue::String(text) if types.contains(&"string") => match substitute(text, self.lookup) {
                Ok(text) => Some(Value::String(text)),
                Err(error) => {
                    self.fault(at, &format!("{name}: {error}"));
                    return None;
                }
            },
            DeValue::Boolean(value) if types.contains(&"boolean") => Some(Value::Bool(*value)),
            DeValue::Integer(integer) if types.contains(&"integer") || types.contains(&"number") => {
                i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Value::from)
            }
            DeValue::Float(float) if types.contains(&"number") => {
                float.as_str().parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
            }
            _ => None,
        };
        let message = match checked {
            None => expected(&describe_type(schema)),
            Some(value) => match out_of_range(&value, schema).or_else(|| not_a_variant(&value, schema)) {
                None => return Some(value),
                Some(remedy) => expected(&remedy),
            },
        };
        self.fault(at, &message);
        None
    }
}

/// Returns true if files of this kind hold the setting, or at least one setting of the section.
pub(super) fn holds(file: File, name: &str, schema: &Value) -> bool {
    match schema["properties"].as_object() {
        Some(properties) => {
            properties.iter().any(|(key, schema)| holds(file, &format!("{name}.{key}"), schema))
        }
        None => file.holds(name),
    }
}

/// Returns true for a table whose keys are settings.
pub(super) fn is_section(schema: &Value) -> bool {
    schema["type"] == "object" && !is_free_table(schema)
}

/// Returns true for a table whose keys users choose, each with a text.
pub(super) fn is_free_table(schema: &Value) -> bool {
    schema["additionalProperties"].is_object()
}

/// Returns the number, from 1, of the line that contains the byte `at`.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Limits a message to one line of bounded length, since it may quote the file.
pub(super) fn excerpt(message: &str) -> String {
    let shown: String = message.chars().take(MESSAGE_CHARS_MAX).flat_map(escaped).collect();
    if message.chars().nth(MESSAGE_CHARS_MAX).is_some() { shown + "…" } else { shown }
}

fn escaped(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) }
}

fn unknown_key(name: &str, key: &str, prefix: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(nearest) => format!("{name}: no such key; did you mean {prefix}{nearest}?"),
        None => format!("{name}: no such key; choose one of {}", known.join(", ")),
    }
}

/// Returns the type names of a schema: one or several.
fn schema_types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        // An enum with named variants.
        _ => vec!["string"],
    }
}

/// Returns the names of an enum's variants; empty for all other schemas.
pub(super) fn variants(schema: &Value) -> Vec<&str> {
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let described =
        schema["oneOf"].as_array().into_iter().flatten().filter_map(|variant| variant["const"].as_str());
    listed.chain(described).collect()
}

/// Describes the values that a schema allows.
pub(super) fn describe_type(schema: &Value) -> String {
    let variants = variants(schema);
    if !variants.is_empty() {
        return one_of(&variants);
    }
    let types = schema_types(schema);
    let has = |name: &str| types.contains(&name);
    let mut words = if has("boolean") {
        "true or false".to_owned()
    } else if has("integer") {
        "a whole number".to_owned()
    } else if has("number") {
        "a number".to_owned()
    } else if has("array") {
        "a list of strings".to_owned()
    } else if has("object") {
        "a table".to_owned()
    } else {
        "a string".to_owned()
    };
    if let (Some(min), Some(max)) = (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        words.push_str(&format!(" from {min} to {max}"));
    }
    words
}

fn one_of(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" or ")
}

fn out_of_range(value: &Value, schema: &Value) -> Option<String> {
    let number = value.as_f64()?;
    let outside = schema["minimum"].as_f64().is_some_and(|min| number < min)
        || schema["maximum"].as_f64().is_some_and(|max| number > max);
    outside.then(|| describe_type(schema))
}

fn not_a_variant(value: &Value, schema: &Value) -> Option<String> {
    let text = value.as_str()?;
    let variants = variants(schema);
    (!variants.is_empty() && !variants.contains(&text)).then(|| one_of(&variants))
}

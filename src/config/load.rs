//! Reads TOML text into a checked [`Config`], and reports all errors at once, with file, line, key, value and
//! remedy.
//!
//! The file is checked against the schema of the types in [`super`]: unknown keys, types, ranges and names of
//! variants. `${VAR}` is substituted in string values only, after parsing, so no variable's value can change
//! the file's structure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::env::substitute;
use super::{CanonicalConfig, Config, PipelineConfig};
use crate::config::detectors::DETECTORS;
use leitong_cluster::Preference;
use leitong_fingerprint::resources::{ConceptFile, ResourceError, Resources};
use leitong_fingerprint::secret::Secret;
use leitong_text::page::mapping::Mapping;
use leitong_text::segment::{Lexicons, SegmentError};

/// Limit on the characters of a message that quotes the file.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Reason why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{}: cannot read {what}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The file's purpose.
        what: &'static str,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}: line {line}: {problem}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        problem: String,
    },
    /// Keys or values are invalid.
    #[error("{}", faults.join("\n"))]
    Faults {
        /// Descriptions of the errors, one line each.
        faults: Vec<String>,
    },
    /// There is no detector of this name.
    #[error("detector = {0:?}: {hint}", hint = detectors_hint(.0))]
    UnknownDetector(String),
    /// The settings or files of segmentation cannot be used.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The secret is missing or cannot be used. The message shows at most the variable's name.
    #[error("fingerprint.secret_env = {variable}: {problem}")]
    Secret {
        /// The environment variable. It is not shown if it may be the secret itself, put in the wrong place.
        variable: String,
        /// Description of the error, and the remedy.
        problem: String,
    },
    /// A file of a detector cannot be used.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}

/// Reads and checks the configuration in `path`. Paths in it become relative to its folder.
///
/// # Errors
/// [`ConfigError`], with all errors of the file.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        what: "the configuration",
        error,
    })?;
    let mut config = parse(&text, path, |name| std::env::var(name).ok())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = [
        &mut config.segment.user_dictionary,
        &mut config.segment.stop_word_file,
        &mut config.kafka.snapshots.dir,
        &mut config.input.warc_dir,
        &mut config.idf.file,
        &mut config.paragraph.boilerplate_file,
        &mut config.api.token_file,
    ];
    for file in files.into_iter().flatten().chain(&mut config.concept_network.lexicon_files) {
        *file = folder.join(&*file);
    }
    Ok(config)
}

/// Reads the files that the segmentation settings name.
///
/// # Errors
/// [`ConfigError::Unreadable`].
pub fn lexicons(config: &Config) -> Result<Lexicons, ConfigError> {
    Ok(Lexicons {
        user_dictionary: read(config.segment.user_dictionary.as_deref(), "segment.user_dictionary")?,
        stop_words: read(config.segment.stop_word_file.as_deref(), "segment.stop_word_file")?,
    })
}

/// Reads the files and the secret that the detectors' settings name.
///
/// # Errors
/// [`ConfigError::Unreadable`], [`ConfigError::Secret`].
pub fn resources(config: &Config) -> Result<Resources, ConfigError> {
    Ok(Resources {
        idf: read(config.idf.file.as_deref(), "idf.file")?,
        boilerplate: read(config.paragraph.boilerplate_file.as_deref(), "paragraph.boilerplate_file")?,
        concepts: config
            .concept_network
            .lexicon_files
            .iter()
            .map(|path| concept_file(path))
            .collect::<Result<_, _>>()?,
        secret: secret(config.fingerprint.secret_env.as_deref(), |name| std::env::var_os(name))?,
    })
}

/// Reads the secret from the environment variable of this name; `None` if no variable is named.
fn secret(
    variable: Option<&str>,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Secret>, ConfigError> {
    let Some(variable) = variable else { return Ok(None) };
    let is_plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let may_be_secret = variable.len() > 60 || !variable.chars().all(is_plain);
    let wrong = |problem: String| ConfigError::Secret {
        variable: if may_be_secret { "(not shown)".to_owned() } else { format!("{variable:?}") },
        problem,
    };
    // No name contains `=` or NUL, and looking one up would panic.
    if variable.is_empty() || variable.contains(['=', '\0']) {
        return Err(wrong(
            "is not a name of an environment variable; use letters, digits and `_`".to_owned(),
        ));
    }
    let value = lookup(variable).ok_or_else(|| {
        wrong("is not set; set it to the secret, or remove fingerprint.secret_env".to_owned())
    })?;
    let value = value
        .to_str()
        .ok_or_else(|| wrong("is not UTF-8; make a new secret with: openssl rand -hex 32".to_owned()))?;
    Secret::new(value).map(Some).map_err(|error| wrong(error.to_string()))
}

fn concept_file(path: &Path) -> Result<ConceptFile, ConfigError> {
    let contents = std::fs::read(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        what: "concept-network.lexicon_files",
        error,
    })?;
    Ok(ConceptFile { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), contents })
}

/// Reads the file that a setting names; returns an empty text if the setting is unset.
fn read(path: Option<&Path>, what: &'static str) -> Result<String, ConfigError> {
    let Some(path) = path else { return Ok(String::new()) };
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), what, error };
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Parses and checks the text of a configuration. `path` is for messages, `lookup` returns environment
/// variables.
///
/// # Errors
/// [`ConfigError`], with all errors of the text.
pub fn parse(
    text: &str,
    path: &Path,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::NotToml {
        path: path.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem: excerpt(error.message()),
    })?;
    let schema = schema();
    let mut check = Check { text, path, lookup: &lookup, faults: Vec::new() };
    let value = check.table(table.get_ref(), schema.as_value(), "");
    if check.faults.is_empty() {
        let config: Config = serde_json::from_value(Value::Object(value))
            .map_err(|error| ConfigError::Faults { faults: vec![format!("{}: {error}", path.display())] })?;
        for fault in faults(&config) {
            let line =
                line_of_key(text, key_of(&fault)).map_or(String::new(), |line| format!("line {line}: "));
            check.faults.push(format!("{}: {line}{fault}", path.display()));
        }
        if check.faults.is_empty() {
            return Ok(config);
        }
    }
    Err(ConfigError::Faults { faults: check.faults })
}

/// Returns the schema of [`Config`], without references.
pub(super) fn schema() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<Config>()
}

/// Returns the errors that a schema cannot express.
fn faults(config: &Config) -> impl Iterator<Item = String> {
    let known = DETECTORS.iter().any(|(name, _)| *name == config.detector);
    let unknown_detector =
        (!known).then(|| ConfigError::UnknownDetector(config.detector.clone()).to_string());
    let PipelineConfig { queue_bytes, .. } = config.pipeline;
    let small_queue = (config.page.line_bytes_max > queue_bytes.saturating_mul(4)).then(|| {
        format!(
            "pipeline.queue_bytes = {queue_bytes}: must be at least a quarter of page.line_bytes_max = {}; raise the first or \
             lower the second",
            config.page.line_bytes_max
        )
    });
    let input = Mapping::new(&config.input).err().unwrap_or_default();
    let own = unknown_detector.into_iter().chain(input).chain(small_queue).chain(config.paragraph.faults());
    own.chain(config.kafka.faults())
        .chain(config.canonical.faults())
        .chain(canonical_fault(config))
        .chain(recrawls_fault(config))
        .chain(config.table.fault())
        .chain(config.admin.fault())
        .chain(config.traces.fault())
        .chain(config.api.fault())
}

/// Checks the rules for canonical pages against other settings.
fn canonical_fault(config: &Config) -> Option<String> {
    let CanonicalConfig { prefer, .. } = &config.canonical;
    let reads_credits =
        |preference: &&Preference| matches!(preference, Preference::CanonicalLink | Preference::Published);
    if config.table.on_disk && !prefer.is_empty() {
        return Some(
            "canonical.prefer: cannot be used with table.on_disk = true, where founders are always the canonical pages; set \
             table.on_disk = false, or remove canonical.prefer"
                .to_owned(),
        );
    }
    prefer.iter().find(reads_credits).filter(|_| !config.extract.credits).map(|preference| {
        format!(
            "canonical.prefer: \"{preference}\" needs the credits of pages; set extract.credits = true, or remove \
             \"{preference}\""
        )
    })
}

/// Checks the settings for recrawls against other settings.
fn recrawls_fault(config: &Config) -> Option<String> {
    (config.recrawls.enabled && config.table.on_disk).then(|| {
        "recrawls.enabled: cannot be used with table.on_disk = true, where no centroid leaves the table before it expires; \
         set one of them to false"
            .to_owned()
    })
}

/// Returns the key that a message is about, which is the message's beginning.
#[must_use]
pub fn key_of(fault: &str) -> &str {
    let end = [" = ", ": "].iter().filter_map(|end| fault.find(end)).min();
    &fault[..end.unwrap_or(fault.len())]
}

/// Returns the line, from 1, of a key or table in the text of a configuration, by its full name; `None` if it
/// is not there.
#[must_use]
pub fn line_of_key(text: &str, name: &str) -> Option<usize> {
    fn find(table: &DeTable, name: &str) -> Option<usize> {
        table.iter().find_map(|(key, value)| {
            let rest = name.strip_prefix(key.get_ref().as_ref())?;
            match (value.get_ref(), rest.strip_prefix('.')) {
                (_, None) => rest.is_empty().then(|| key.span().start),
                (DeValue::Table(inside), Some(rest)) => find(inside, rest),
                _ => None,
            }
        })
    }
    Some(line_of(text, find(DeTable::parse(text).ok()?.get_ref(), name)?))
}

/// Returns a message for an unknown detector: the most similar name, and all names.
#[must_use]
pub fn detectors_hint(name: &str) -> String {
    let names: Vec<&str> = DETECTORS.iter().map(|(name, _)| *name).collect();
    match nearest(name, names.iter().copied()) {
        Some(nearest) => {
            format!("no such detector; did you mean {nearest:?}? Choose one of {}", names.join(", "))
        }
        None => format!("no such detector; choose one of {}", names.join(", ")),
    }
}

/// Returns the name that is most similar to `written`, if any is similar.
fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(written.len()) / 2)
        .map(|(_, name)| name)
}

/// A walk through the file and its schema side by side.
struct Check<'a> {
    text: &'a str,
    path: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl Check<'_> {
    fn fault(&mut self, at: usize, message: &str) {
        let line = line_of(self.text, at);
        self.faults.push(format!("{}: line {line}: {}", self.path.display(), excerpt(message)));
    }

    fn table(&mut self, table: &DeTable, schema: &Value, prefix: &str) -> Map<String, Value> {
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
                Some(schema) => {
                    if let Some(value) = self.value(value, schema, &name) {
                        checked.insert(key.get_ref().to_string(), value);
                    }
                }
                None => {
                    let message = unknown_key(&name, key.get_ref(), prefix, properties);
                    self.fault(key.span().start, &message);
                }
            }
        }
        checked
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
        let shown = self.text[value.span()].trim();
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
                    self.fault(at, &format!("{name} = {shown}: {error}"));
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

/// Returns true for a table whose keys users choose, each with a text.
pub(super) fn is_free_table(schema: &Value) -> bool {
    schema["additionalProperties"].is_object()
}

/// Returns the number, from 1, of the line that contains the byte `at`.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Limits a message to one line of bounded length, since it may quote the file.
fn excerpt(message: &str) -> String {
    let shown: String = message.chars().take(MESSAGE_CHARS_MAX).flat_map(escaped).collect();
    if message.chars().nth(MESSAGE_CHARS_MAX).is_some() { shown + "…" } else { shown }
}

fn escaped(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) }
}

fn unknown_key(name: &str, key: &str, prefix: &str, known: &Map<String, Value>) -> String {
    match nearest(key, known.keys().map(String::as_str)) {
        Some(nearest) => format!("{name}: no such key; did you mean {prefix}{nearest}?"),
        None => {
            let known: Vec<_> = known.keys().map(String::as_str).collect();
            format!("{name}: no such key; choose one of {}", known.join(", "))
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Confirm, TermHash};

    fn parsed(text: &str) -> Result<Config, Vec<String>> {
        let lookup = |name: &str| (name == "WORDS").then(|| "mine\n.txt".to_owned());
        parse(text, Path::new("leitong.toml"), lookup)
            .map_err(|error| error.to_string().lines().map(str::to_owned).collect())
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(parsed(""), Ok(Config::default()));
    }

    #[test]
    fn keys_are_read() {
        let config = parsed(
            "[simhash]\nhash = \"sdbm\"\n[simhash.near]\nmax_distance = 3\nconfirm = \"none\"\n\
             [segment]\nuser_dictionary = \"${WORDS}\"\nstop_word_languages = [\"zh\", \"${X:-ja}\"]\n",
        )
        .expect("right");
        assert_eq!(config.simhash.hash, TermHash::Sdbm);
        assert_eq!((config.simhash.near.max_distance, config.simhash.near.confirm), (3, Confirm::None));
        assert_eq!(config.segment.user_dictionary.as_deref(), Some(Path::new("mine\n.txt")));
        assert_eq!(config.segment.stop_word_languages, ["zh", "ja"]);
    }

    #[test]
    fn every_error_names_file_line_key_value_and_remedy() {
        let text = "detektor = \"simhash\"\n\n[simhash.near]\nmax_distence = 3\nmax_distance = 40\n\
                    confirm = \"skech\"\nsketch_matches_near = \"many\"\n[page]\nbytes_max = 1.5\n\
                    [segment]\nhmm = 1\nuser_dictionary = \"${NOPE}/x\"\nstop_word_languages = \"zh\"\n\
                    [nonsense]\na = 1\n";
        let mut faults = parsed(text).expect_err("invalid");
        faults.sort_by_key(|fault| {
            fault.split(' ').nth(2).and_then(|n| n.trim_end_matches(':').parse::<u32>().ok())
        });
        assert_eq!(
            faults,
            [
                "leitong.toml: line 1: detektor: no such key; did you mean detector?",
                "leitong.toml: line 4: simhash.near.max_distence: no such key; did you mean simhash.near.max_distance?",
                "leitong.toml: line 5: simhash.near.max_distance = 40: must be a whole number from 0 to 20",
                "leitong.toml: line 6: simhash.near.confirm = \"skech\": must be \"sketch\" or \"none\"",
                "leitong.toml: line 7: simhash.near.sketch_matches_near = \"many\": must be a whole number from 0 to 64",
                "leitong.toml: line 9: page.bytes_max = 1.5: must be a whole number from 1024 to 1073741824",
                "leitong.toml: line 11: segment.hmm = 1: must be true or false",
                "leitong.toml: line 12: segment.user_dictionary = \"${NOPE}/x\": the environment variable NOPE \
                 is not set; set it, or write ${NOPE:-default}",
                "leitong.toml: line 13: segment.stop_word_languages = \"zh\": must be a list of strings",
                "leitong.toml: line 14: nonsense: no such key; choose one of detector, input, page, corpus, extract, segment, idf, fingerprint, simhash, paragraph, \
                 agglomerate-term, concept-network, word-network, shingle, i-match, tf-idf, punctuation, sentence-ends, \
                 expiry, canonical, recrawls, table, pipeline, kafka, admin, traces, api",
            ]
        );
    }

    #[test]
    fn tables_of_the_users_own_keys_are_read_and_never_shown() {
        let text =
            "[kafka.properties]\n\"sasl.password\" = \"${WORDS}\"\n\"linger.ms\" = 7\n\"a.b\" = true\n";
        let config = parsed(text).expect("right");
        let values: Vec<_> =
            config.kafka.properties.0.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(values, [("a.b", "true"), ("linger.ms", "7"), ("sasl.password", "mine\n.txt")]);
        let faults = parsed("[kafka.properties]\n\"sasl.password\" = [\"hunter2\"]\nb = \"x${hunter2\"\n");
        let faults = faults.expect_err("invalid").join("\n");
        assert!(faults.contains("line 2: kafka.properties.sasl.password: must be"), "{faults}");
        assert!(faults.contains("line 3: kafka.properties.b: ") && !faults.contains("hunter2"), "{faults}");
    }

    #[test]
    fn a_secret_in_the_wrong_place_is_not_shown() {
        let message = |variable: &str, value: Option<&str>| {
            secret(Some(variable), |_| value.map(OsString::from)).expect_err("wrong").to_string()
        };
        assert!(
            message("LEITONG_SECRET", None)
                .starts_with("fingerprint.secret_env = \"LEITONG_SECRET\": is not set")
        );
        assert!(!message("LEITONG_SECRET", Some("hunter2")).contains("hunter2"));
        for misplaced in ["hunter2", "hunter=2", "4711deadbeef4711", &"7".repeat(64)] {
            let message = message(misplaced, None);
            assert!(message.starts_with("fingerprint.secret_env = (not shown): is "), "{message}");
        }
        assert_eq!(secret(None, |_| None).expect("none is named"), None);
        let named = secret(Some("LEITONG_SECRET"), |_| Some("hunter2hunter2hunter2".into()));
        assert!(named.expect("long enough").is_some());
    }

    #[test]
    fn broken_toml_is_reported_with_its_line() {
        let message = parsed("detector = \n").expect_err("broken").join("\n");
        assert!(message.starts_with("leitong.toml: line 1: "), "{message}");
    }

    #[test]
    fn an_unknown_detector_is_refused() {
        let faults = parsed("detector = \"md5\"").expect_err("unknown");
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].starts_with(
                "leitong.toml: line 1: detector = \"md5\": no such detector; choose one of simhash, paragraph"
            ),
            "{faults:?}"
        );
        let faults = parsed("detector = \"simhsh\"").expect_err("unknown");
        assert!(
            faults[0].contains("no such detector; did you mean \"simhash\"? Choose one of simhash, "),
            "{faults:?}"
        );
    }
}

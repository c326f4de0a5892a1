//! Turns messages of crawlers into a [`Page`](crate::page::Page), using JSON pointers.
//!
//! ```text
//! value ─► literal? ─► framing undone ─► pointers, one pass ─► no page? ─► filter ─► Page
//!              └────────── skipped, with a reason ──────────────┴──────────┘
//! ```
//! In: the value of a message or a line, with its key. Out: a page, a reason to skip the message, or an error
//! that names the preset, the pointer and the value found. A [`Preset`] is a file of pointers, each of which
//! the configuration may change. Leitong's own JSON without changes takes a faster path through
//! [`json`](super::json). Cost: the message is read once, and the values found are parsed again. Memory:
//! the page's own text.

pub(crate) mod config;
pub(crate) mod detect;
mod filter;
mod guess;
pub(crate) mod pointer;
pub(crate) mod preset;
mod presets;
mod read;
pub(crate) mod survey;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;

use filter::Filter;
use pointer::{Pointer, Selector};
use preset::KEY;

pub use config::{FieldsConfig, InputConfig};
pub use detect::Recognizer;
pub use filter::Skip;
pub use pointer::{segments, to_field as pointer_to_field};
pub use preset::{Framing, Preset};
pub use read::{Message, MessageOutcome, Reading};
pub use survey::Survey;

use super::field::Field;

/// The field of Leitong's own JSON that withdraws a page.
pub const WITHDRAWN: &str = "withdrawn";

/// Maximum number of pointers in a mapping: the number of bits in a set of hits.
const POINTERS_MAX: usize = 64;

/// The way in which messages are read.
#[derive(Debug)]
pub struct Mapping {
    preset: &'static Preset,
    selector: Selector,
    /// The sources of each field, in order of preference.
    sources: Vec<(Field, Vec<Source>)>,
    /// The passthrough values, named by JSON strings with quotes.
    passthrough: Vec<(String, Slot)>,
    /// The value that is used unchanged as the passthrough.
    whole_passthrough: Option<Slot>,
    /// The value that withdraws a page.
    withdrawn: Option<Slot>,
    no_page: Vec<NoPage>,
    filter: Filter,
    skips_null: bool,
    /// True if this is Leitong's own JSON without changes.
    is_plain: bool,
}

/// A pointer and its number in the selector.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    number: usize,
    pointer: String,
}

/// A condition under which a message has no page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NoPage {
    /// The value exists and equals this truth value.
    Says(Slot, bool),
    /// None of these pointers, a set of bits, finds a value.
    NoneOf(u64),
}

/// A source of a field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Pointer(Slot),
    /// The message's key.
    Key,
}

impl Source {
    /// Returns the pointer, unless the source is the key.
    fn slot(&self) -> Option<&Slot> {
        match self {
            Self::Pointer(slot) => Some(slot),
            Self::Key => None,
        }
    }
}

impl Default for Mapping {
    /// Returns the mapping for Leitong's own JSON.
    fn default() -> Self {
        Self::new(&InputConfig::default()).unwrap_or_else(|faults| unreachable!("{faults:?}"))
    }
}

impl Mapping {
    /// Creates the mapping for a configuration.
    ///
    /// # Errors
    /// The errors in the configuration, each with the key that it concerns.
    pub fn new(config: &InputConfig) -> Result<Self, Vec<String>> {
        let preset = Preset::named(&config.preset).map_err(|hint| vec![format!("input.preset: {hint}")])?;
        let mut faults = Vec::new();
        let mut filter = filter(config, preset, &mut faults);
        let mut builder = Builder { selector: Selector::default(), pointers: 0, skips_null: false, faults };
        let sources = builder.fields(config, preset);
        let mut no_page = builder.no_page(&preset.input.filter.skip_if, &sources, &mut filter);
        no_page.extend(builder.no_page(&config.filter.skip_if, &sources, &mut filter));
        let passthrough = builder.passthrough(config, preset);
        let is_json = preset.name == "json";
        let whole_passthrough =
            builder.slot("/passthrough", "", false).filter(|_| is_json && passthrough.is_empty());
        let withdrawn = if is_json { builder.slot(&format!("/{WITHDRAWN}"), "", false) } else { None };
        if sources.iter().any(|(field, _)| *field == Field::WarcFile) && config.warc_dir.is_none() {
            builder.faults.push(
                "input.warc_dir: is not set, but the bodies are in WARC files; set it to their folder"
                    .to_owned(),
            );
        }
        if builder.pointers > POINTERS_MAX {
            builder.faults.push(format!(
                "input.fields: {} pointers including the preset's, but at most {POINTERS_MAX} are allowed; remove some",
                builder.pointers
            ));
        }
        let is_plain = is_json
            && config.fields == FieldsConfig::default()
            && no_page.is_empty()
            && passthrough.is_empty();
        let Builder { selector, faults, skips_null, .. } = builder;
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            preset,
            selector,
            sources,
            passthrough,
            whole_passthrough,
            withdrawn,
            no_page,
            filter,
            skips_null,
            is_plain,
        })
    }

    /// Returns true if a page should be skipped, judged by its status and content type before it is read.
    #[must_use]
    pub fn skips(&self, status: Option<i64>, content_type: Option<&str>) -> bool {
        self.filter.skip_page(status, content_type).is_some()
    }

    /// Returns the preset.
    #[must_use]
    pub fn preset(&self) -> &'static Preset {
        self.preset
    }

    /// Returns true if this is Leitong's own JSON without changes.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns true if the top-level field `name` withdraws a page.
    #[must_use]
    pub fn is_withdrawn(&self, name: &str) -> bool {
        self.withdrawn.is_some() && name == WITHDRAWN
    }

    /// Returns the format of message values.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.preset.framing
    }

    /// Returns the mapping without the faster path for Leitong's own JSON, which counts no hits.
    #[must_use]
    pub fn counting(self) -> Self {
        Self { is_plain: false, ..self }
    }

    /// Lists all pointers to fields and passthrough values: the name of the field, the pointer, and its
    /// position in a set of hits.
    #[must_use]
    pub fn slots(&self) -> Vec<(&'static str, String, usize)> {
        let fields = self.field_slots().map(|(field, slot)| (field.name(), slot));
        let passed = self.passthrough.iter().map(|(_, slot)| slot).chain(&self.whole_passthrough);
        let all = fields.chain(passed.map(|slot| ("passthrough", slot)));
        all.map(|(name, slot)| (name, slot.pointer.clone(), slot.number)).collect()
    }

    /// Returns the pointers of all fields of a page.
    fn field_slots(&self) -> impl Iterator<Item = (Field, &Slot)> {
        let lists = self.sources.iter();
        lists.flat_map(|(field, sources)| sources.iter().filter_map(|source| Some((*field, source.slot()?))))
    }

    /// Returns the names of all top-level fields of a message that pointers begin with, each once.
    pub fn first_names(&self) -> impl Iterator<Item = &str> {
        self.selector.first_names()
    }

    /// Returns the top-level fields of a message that a pointer names as a whole, each with the field of a
    /// page that it provides.
    pub fn top_fields(&self) -> impl Iterator<Item = (Field, String)> {
        self.field_slots().filter_map(|(field, slot)| Some((field, top_name(&slot.pointer)?)))
    }

    /// Returns the top-level fields of a message that pointers lead into, each with the field of a page that
    /// they provide, and the pointer.
    pub fn parent_fields(&self) -> impl Iterator<Item = (Field, String, &str)> {
        let inner = self.field_slots().filter(|(_, slot)| top_name(&slot.pointer).is_none());
        inner.filter_map(|(field, slot)| Some((field, first_name(&slot.pointer)?, slot.pointer.as_str())))
    }

    /// Lists the fields and passthrough values for which no pointer found a value. `hits` is the union of the
    /// hits of many messages.
    #[must_use]
    pub fn never_hit(&self, hits: u64) -> Vec<String> {
        let hit = |slot: &Slot| hits & (1 << slot.number) != 0;
        let mut missing = Vec::new();
        for (field, sources) in &self.sources {
            let slots = || sources.iter().filter_map(Source::slot);
            let has_key = sources.contains(&Source::Key);
            // If there are several bodies, one is enough.
            let is_body = |field: &Field| matches!(field, Field::Body(_));
            let others = self.sources.iter().filter(|(other, _)| is_body(field) && is_body(other));
            let other_hit = others.flat_map(|(_, sources)| sources).filter_map(Source::slot).any(hit);
            if !has_key && !other_hit && !slots().any(hit) {
                let pointers: Vec<_> = slots().map(|slot| slot.pointer.as_str()).collect();
                missing.push(format!("{} ({})", field.name(), pointers.join(", ")));
            }
        }
        let passed = self.passthrough.iter().filter(|(_, slot)| !hit(slot));
        missing.extend(passed.map(|(name, slot)| format!("passthrough {name} ({})", slot.pointer)));
        missing
    }
}

/// Returns the top-level name that `pointer` points to, or `None` if it leads further.
fn top_name(pointer: &str) -> Option<String> {
    let mut segments = pointer::segments(pointer);
    let name = segments.next()?;
    segments.next().is_none().then(|| name.into_owned())
}

/// Returns the top-level name that `pointer` begins with.
pub fn first_name(pointer: &str) -> Option<String> {
    pointer::segments(pointer).next().map(Cow::into_owned)
}

/// Returns the set of pointers that lead into the value of `pointer`.
fn below(pointer: &str, sources: &[(Field, Vec<Source>)]) -> u64 {
    let leads = |slot: &Slot| slot.pointer.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'));
    let slots = sources.iter().flat_map(|(_, sources)| sources).filter_map(Source::slot);
    slots.filter(|slot| leads(slot) && slot.number < POINTERS_MAX).fold(0, |set, slot| set | 1 << slot.number)
}

fn filter(config: &InputConfig, preset: &Preset, faults: &mut Vec<String>) -> Filter {
    let mut filter = Filter::default();
    for (number, status) in (1..).zip(&config.filter.statuses) {
        if !filter.add_status(status) {
            faults.push(format!(
                "input.filter.statuses: entry {number} of the list is not a status or a range; write \"200\" or \"200-299\""
            ));
        }
    }
    if config.filter.statuses.is_empty() {
        for status in &preset.input.filter.statuses {
            filter.add_status(status);
        }
    }
    for (number, content_type) in (1..).zip(&config.filter.content_types) {
        if !filter.add_content_type(content_type) {
            faults.push(format!(
                "input.filter.content_types: value {number} is not a content type; write \"text/html\" or \"text/*\""
            ));
        }
    }
    filter
}

/// A collector of the pointers of a mapping.
struct Builder {
    selector: Selector,
    pointers: usize,
    /// True if a message without a value is skipped.
    skips_null: bool,
    faults: Vec<String>,
}

impl Builder {
    fn slot(&mut self, pointer: &str, key: &str, is_text: bool) -> Option<Slot> {
        let Some(parsed) = Pointer::parse(pointer) else {
            self.faults.push(format!(
                "input.{key}: {pointer:?} is not a JSON pointer; write \"/field\" or \"/field/in/it\" (`~1` for a slash in a name)"
            ));
            return None;
        };
        self.pointers += 1;
        Some(Slot { number: self.selector.add(&parsed, is_text), pointer: pointer.to_owned() })
    }

    fn sources(&mut self, pointers: &[String], key: &str, field: Field) -> Vec<Source> {
        let is_text = matches!(field, Field::Body(_));
        let source = |pointer: &String| match pointer.as_str() {
            KEY => Some(Source::Key),
            pointer => self.slot(pointer, key, is_text).map(Source::Pointer),
        };
        pointers.iter().filter_map(source).collect()
    }

    /// Collects the sources of all fields: those in `config`, and those of `preset` for the other fields.
    fn fields(&mut self, config: &InputConfig, preset: &Preset) -> Vec<(Field, Vec<Source>)> {
        let own = config.fields.lists(false);
        let is_body = |field: Field| matches!(field, Field::Body(_) | Field::WarcFile | Field::WarcOffset);
        let replaced =
            |field: Field| own.iter().any(|(own, _)| *own == field || is_body(*own) && is_body(field));
        let mut sources = Vec::new();
        for (field, pointers) in &own {
            let key = format!("fields.{}", field.name());
            sources.push((*field, self.sources(pointers, &key, *field)));
        }
        for (field, pointers) in preset.input.fields.lists(preset.name == "json") {
            if !replaced(field) {
                sources.push((field, self.sources(pointers, "", field)));
            }
        }
        sources
    }

    /// Collects the conditions under which a message has no page. Those on the whole value go into `filter`.
    fn no_page(
        &mut self,
        conditions: &BTreeMap<String, String>,
        sources: &[(Field, Vec<Source>)],
        filter: &mut Filter,
    ) -> Vec<NoPage> {
        let mut found = Vec::new();
        for (pointer, condition) in conditions {
            match (pointer.as_str(), condition.as_str()) {
                ("", "null") => self.skips_null = true,
                ("", text) => filter.add_literal(text),
                (_, "true" | "false") => {
                    let slot = self.slot(pointer, "filter.skip_if", false);
                    found.extend(slot.map(|slot| NoPage::Says(slot, condition == "true")));
                }
                (_, "missing") => match below(pointer, sources) {
                    0 => self.faults.push(format!(
                        "input.filter.skip_if: no field is read from {pointer:?}; name a value that contains fields"
                    )),
                    slots => found.push(NoPage::NoneOf(slots)),
                },
                (_, _) => self.faults.push(format!(
                    "input.filter.skip_if: the condition for {pointer:?} must be true, false or missing"
                )),
            }
        }
        found
    }

    fn passthrough(&mut self, config: &InputConfig, preset: &Preset) -> Vec<(String, Slot)> {
        let own = &config.passthrough.0;
        let of_preset = preset.input.passthrough.0.iter().filter(|(name, _)| !own.contains_key(*name));
        let quoted = |name: &str| serde_json::Value::from(name).to_string();
        let slot = |(name, pointer): (&String, &String)| {
            Some((quoted(name), self.slot(pointer, &format!("passthrough.{name}"), false)?))
        };
        of_preset.chain(own).filter_map(slot).collect()
    }
}

//! Messages as crawlers write them → [`Page`](crate::page::Page), by JSON pointers.
//!
//! ```text
//! value ─► literal? ─► framing undone ─► pointers, one pass ─► no page? ─► filter ─► Page
//!              └────────── skipped, with a reason ──────────────┴──────────┘
//! ```
//! In: the value of a message, or a line, and what the message had beside it. Out: a page, a reason
//! to pass the message over, or an error that names preset, pointer and what was found. A
//! [`Preset`] is a table of pointers; the configuration may change each of them. Leitong's own
//! JSON, unchanged, takes the quicker way through [`json`](super::json). Cost: the message is read
//! once, and what is found once more. Memory: the page's own text.

pub mod config;
pub mod detect;
mod filter;
mod frontera;
mod pointer;
pub mod preset;
mod presets;
mod read;
pub mod survey;
mod value;

use config::{FieldsConfig, InputConfig};
use filter::Filter;
use pointer::{Pointer, Selector};
use preset::{Condition, Framing, KEY, Preset};

pub use filter::Skip;
pub use presets::PRESETS;
pub use read::{Message, Reading, Taken};

use super::body::Form;
use super::field::Field;

/// Pointers that a mapping may have: as many as a set of hits has bits.
const POINTERS_MAX: usize = 64;

/// How messages are read.
#[derive(Debug)]
pub struct Mapping {
    preset: &'static Preset,
    selector: Selector,
    /// In order of preference, field by field.
    sources: Vec<(Field, Vec<Source>)>,
    /// Names in JSON, with quotes.
    passthrough: Vec<(String, Slot)>,
    /// The value that is the passthrough as it stands.
    whole_passthrough: Option<Slot>,
    no_page: Vec<NoPage>,
    filter: Filter,
    /// Leitong's own JSON with nothing changed.
    is_plain: bool,
}

/// A pointer, and its number in the selector.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    number: usize,
    pointer: String,
}

/// What tells that a message has no page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NoPage {
    /// This value is there, and is the truth value.
    Says(Slot, bool),
    /// None of these pointers hits.
    NoneOf(u64),
}

/// Where a field may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Pointer(Slot),
    /// The message's key.
    Key,
}

impl Default for Mapping {
    /// Leitong's own JSON.
    fn default() -> Self {
        Self::new(&InputConfig::default()).unwrap_or_else(|faults| unreachable!("{faults:?}"))
    }
}

impl Mapping {
    /// The mapping that a configuration asks for.
    ///
    /// # Errors
    /// What is wrong with it, each with the key that it is about.
    pub fn new(config: &InputConfig) -> Result<Self, Vec<String>> {
        let preset = Preset::named(&config.preset)
            .map_err(|hint| vec![format!("input.preset = {:?}: {hint}", config.preset)])?;
        let mut faults = Vec::new();
        let filter = filter(config, preset, &mut faults);
        let mut builder = Builder { selector: Selector::default(), pointers: 0, faults };
        let sources = builder.fields(&config.fields, preset);
        let no_page = preset.no_page.iter().filter_map(|(pointer, condition)| match condition {
            Condition::True => Some(NoPage::Says(builder.slot(pointer, "", false)?, true)),
            Condition::False => Some(NoPage::Says(builder.slot(pointer, "", false)?, false)),
            Condition::Missing => {
                Some(NoPage::NoneOf(below(pointer, &sources))).filter(|none| *none != NoPage::NoneOf(0))
            }
        });
        let no_page = no_page.collect();
        let passthrough = builder.passthrough(config, preset);
        let is_json = preset.name == "json";
        let whole_passthrough =
            builder.slot("/passthrough", "", false).filter(|_| is_json && passthrough.is_empty());
        if preset.fields.iter().any(|(field, _)| *field == Field::WarcFile) && config.warc_dir.is_none() {
            builder.faults.push(format!(
                "input.warc_dir: is not set; preset {:?} needs the folder that its WARC files stand in",
                preset.name
            ));
        }
        if builder.pointers > POINTERS_MAX {
            builder.faults.push(format!(
                "input.fields: {} pointers with the preset's; at most {POINTERS_MAX} may be",
                builder.pointers
            ));
        }
        let is_plain = is_json && config.fields == FieldsConfig::default() && passthrough.is_empty();
        let Builder { selector, faults, .. } = builder;
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { preset, selector, sources, passthrough, whole_passthrough, no_page, filter, is_plain })
    }

    /// Whether a page is none to be read, where its status and content type are known before it is.
    #[must_use]
    pub fn passes_over(&self, status: Option<i64>, content_type: Option<&str>) -> bool {
        self.filter.of_page(status, content_type).is_some()
    }

    /// The preset.
    #[must_use]
    pub fn preset(&self) -> &'static Preset {
        self.preset
    }

    /// Whether Leitong's own JSON is read, with nothing changed.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// What a message's value is.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.preset.framing
    }

    /// The same with the hits of pointers counted whatever the preset.
    #[must_use]
    pub fn counting(self) -> Self {
        Self { is_plain: false, ..self }
    }

    /// All pointers to fields and passed values, each with
    /// the field's name and its place in a set of hits.
    #[must_use]
    pub fn slots(&self) -> Vec<(&'static str, String, usize)> {
        let fields = self.sources.iter().flat_map(|(field, sources)| {
            sources.iter().filter_map(|source| match source {
                Source::Pointer(slot) => Some((field.name(), slot.pointer.clone(), slot.number)),
                Source::Key => None,
            })
        });
        let passed = self.passthrough.iter().map(|(_, slot)| slot).chain(&self.whole_passthrough);
        fields.chain(passed.map(|slot| ("passthrough", slot.pointer.clone(), slot.number))).collect()
    }

    /// The names of all fields at the top of a message that are looked at, each once.
    pub fn first_names(&self) -> impl Iterator<Item = &str> {
        self.selector.first_names()
    }

    /// The fields at the top of a message that a pointer names as a whole, and what each is read as.
    pub fn top_fields(&self) -> impl Iterator<Item = (Field, String)> {
        let sources = self.sources.iter().flat_map(|(field, sources)| sources.iter().map(|s| (*field, s)));
        sources.filter_map(|(field, source)| match source {
            Source::Pointer(slot) => Some((field, top_name(&slot.pointer)?)),
            Source::Key => None,
        })
    }

    /// Names of fields at the top of a message that pointers lead into, and what each pointer is read as.
    pub fn led_into(&self) -> impl Iterator<Item = (Field, String)> {
        let sources = self.sources.iter().flat_map(|(field, sources)| sources.iter().map(|s| (*field, s)));
        sources.filter_map(|(field, source)| match source {
            Source::Pointer(slot) if top_name(&slot.pointer).is_none() => {
                Some((field, first_name(&slot.pointer)?))
            }
            Source::Pointer(_) | Source::Key => None,
        })
    }

    /// The fields, or passed values, of which no pointer
    /// hit: `hits` is the union of those of many messages.
    #[must_use]
    pub fn never_hit(&self, hits: u64) -> Vec<String> {
        let hit = |slot: &Slot| hits & (1 << slot.number) != 0;
        let mut missing = Vec::new();
        for (field, sources) in &self.sources {
            let slots = || {
                sources.iter().filter_map(|source| match source {
                    Source::Pointer(slot) => Some(slot),
                    Source::Key => None,
                })
            };
            let has_key = sources.contains(&Source::Key);
            // Of several bodies one is enough.
            let is_body = |field: &Field| matches!(field, Field::Body(_));
            let others = self.sources.iter().filter(|(other, _)| is_body(field) && is_body(other));
            let other_hit = others.flat_map(|(_, sources)| sources).any(|source| match source {
                Source::Pointer(slot) => hit(slot),
                Source::Key => false,
            });
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

/// The name at the top of a message that `pointer` points to; none where it leads further.
fn top_name(pointer: &str) -> Option<String> {
    let name = pointer.strip_prefix('/').filter(|name| !name.contains('/'))?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// The name at the top of a message that `pointer` begins with.
pub fn first_name(pointer: &str) -> Option<String> {
    let name = pointer.split('/').nth(1)?;
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// The pointers that lead into what `pointer` points to.
fn below(pointer: &str, sources: &[(Field, Vec<Source>)]) -> u64 {
    let leads = |slot: &Slot| slot.pointer.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'));
    let slots = sources.iter().flat_map(|(_, sources)| sources).filter_map(|source| match source {
        Source::Pointer(slot) => Some(slot),
        Source::Key => None,
    });
    slots.filter(|slot| leads(slot) && slot.number < POINTERS_MAX).fold(0, |set, slot| set | 1 << slot.number)
}

fn filter(config: &InputConfig, preset: &Preset, faults: &mut Vec<String>) -> Filter {
    let mut filter = Filter::default();
    for status in &config.filter.statuses {
        if !filter.add_status(status) {
            faults.push(format!(
                "input.filter.statuses: {status:?} is no status; write \"200\" or \"200-299\""
            ));
        }
    }
    if config.filter.statuses.is_empty() {
        for status in preset.statuses {
            filter.add_status(status);
        }
    }
    for content_type in &config.filter.content_types {
        if !filter.add_content_type(content_type) {
            faults.push(format!(
                "input.filter.content_types: {content_type:?} is no content type; write \"text/html\" or \"text/*\""
            ));
        }
    }
    let own = config.filter.literals.iter().map(String::as_str);
    own.chain(preset.literals.iter().copied()).for_each(|literal| filter.add_literal(literal));
    filter
}

/// Gathers pointers.
struct Builder {
    selector: Selector,
    pointers: usize,
    faults: Vec<String>,
}

impl Builder {
    fn slot(&mut self, pointer: &str, key: &str, is_text: bool) -> Option<Slot> {
        let Some(parsed) = Pointer::parse(pointer) else {
            self.faults.push(format!(
                "input.{key}: {pointer:?} is no JSON pointer; write \"/field\" or \"/field/in/it\" (`~1` for a slash in a name)"
            ));
            return None;
        };
        self.pointers += 1;
        Some(Slot { number: self.selector.add(&parsed, is_text), pointer: pointer.to_owned() })
    }

    fn sources<'p>(
        &mut self,
        pointers: impl IntoIterator<Item = &'p str>,
        key: &str,
        field: Field,
    ) -> Vec<Source> {
        let is_text = matches!(field, Field::Body(_));
        let source = |pointer| match pointer {
            KEY => Some(Source::Key),
            pointer => self.slot(pointer, key, is_text).map(Source::Pointer),
        };
        pointers.into_iter().filter_map(source).collect()
    }

    /// The fields of `preset`, but where `config` names others.
    fn fields(&mut self, config: &FieldsConfig, preset: &Preset) -> Vec<(Field, Vec<Source>)> {
        let own = [
            (Field::Id, &config.id),
            (Field::Url, &config.url),
            (Field::Body(Form::Text), &config.text),
            (Field::Body(Form::Html), &config.html),
            (Field::Body(Form::Base64), &config.html_b64),
            (Field::Body(Form::Mixed), &config.body),
            (Field::Body(Form::Content), &config.content),
            (Field::Title, &config.title),
            (Field::Charset, &config.charset),
            (Field::ContentType, &config.content_type),
            (Field::Status, &config.status),
            (Field::FetchedAt, &config.fetched_at),
        ];
        let own = || own.iter().filter(|(_, pointers)| !pointers.is_empty());
        let is_body = |field: Field| matches!(field, Field::Body(_) | Field::WarcFile | Field::WarcOffset);
        let replaced = |field: Field| own().any(|(own, _)| *own == field || is_body(*own) && is_body(field));
        let mut sources = Vec::new();
        for (field, pointers) in own() {
            let key = format!("fields.{}", field.name());
            sources.push((*field, self.sources(pointers.iter().map(String::as_str), &key, *field)));
        }
        for (field, pointers) in preset.fields.iter().filter(|(field, _)| !replaced(*field)) {
            sources.push((*field, self.sources(pointers.iter().copied(), "", *field)));
        }
        sources
    }

    fn passthrough(&mut self, config: &InputConfig, preset: &Preset) -> Vec<(String, Slot)> {
        let of_preset = preset.passthrough.iter().map(|(name, pointer)| (*name, *pointer));
        let own = config.passthrough.0.iter().map(|(name, pointer)| (name.as_str(), pointer.as_str()));
        let of_preset = of_preset.filter(|(name, _)| !config.passthrough.0.contains_key(*name));
        let all: Vec<_> = of_preset.chain(own).collect();
        let quoted = |name: &str| serde_json::Value::from(name).to_string();
        let slot = |(name, pointer): (&str, &str)| {
            Some((quoted(name), self.slot(pointer, &format!("passthrough.{name}"), false)?))
        };
        all.into_iter().filter_map(slot).collect()
    }
}

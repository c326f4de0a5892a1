//! The presets for crawlers and data sets, each a file that says in `[input]` what a user may say as well.
//!
//! If a crawler provides a page in several forms, HTML comes before text derived from it, so pages from
//! all crawlers go through the same extraction. The requested url comes before the final url after redirects,
//! because crawlers identify their records by the requested one.

use std::sync::LazyLock;

use super::preset::Preset;

/// The files by name, the default first.
const FILES: [(&str, &str); 18] = [
    ("json", include_str!("presets/json.toml")),
    ("scrapy-cluster", include_str!("presets/scrapy-cluster.toml")),
    ("nutch", include_str!("presets/nutch.toml")),
    ("norconex", include_str!("presets/norconex.toml")),
    ("os-scrapy", include_str!("presets/os-scrapy.toml")),
    ("heritrix-log", include_str!("presets/heritrix-log.toml")),
    ("cdr3", include_str!("presets/cdr3.toml")),
    ("katana", include_str!("presets/katana.toml")),
    ("crawl4ai", include_str!("presets/crawl4ai.toml")),
    ("apify", include_str!("presets/apify.toml")),
    ("spider", include_str!("presets/spider.toml")),
    ("fineweb", include_str!("presets/fineweb.toml")),
    ("dolma", include_str!("presets/dolma.toml")),
    ("datatrove", include_str!("presets/datatrove.toml")),
    ("oscar", include_str!("presets/oscar.toml")),
    ("the-pile", include_str!("presets/the-pile.toml")),
    ("warc-record", include_str!("presets/warc-record.toml")),
    ("raw-body", include_str!("presets/raw-body.toml")),
];

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let preset = |(name, text)| {
        let preset = toml::from_str(text).unwrap_or_else(|error| unreachable!("{name}: {error}"));
        Preset { name, text, ..preset }
    };
    FILES.into_iter().map(preset).collect()
});

/// Returns all presets, the default first. The first call reads their files.
pub(super) fn all() -> &'static [Preset] {
    LazyLock::force(&PRESETS).as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::mapping::pointer::Pointer;
    use crate::page::mapping::{InputConfig, Mapping};

    /// The preset `json` has its own list of names. The list must contain all names that the parser for Leitong's own
    /// format accepts.
    #[test]
    fn the_json_preset_knows_all_alternative_names() {
        let lists = PRESETS[0].input.fields.lists(true);
        for (field, names) in crate::page::aliases::ALIASES {
            let (_, known) = lists.iter().find(|(known, _)| *known == field).expect("each field is listed");
            for name in names {
                assert!(known.iter().any(|pointer| pointer[1..] == **name), "{name}");
            }
        }
    }

    /// A user who copies the file of a preset gets the same mapping, except for what the preset `json` adds.
    #[test]
    fn each_preset_can_be_copied_and_its_pointers_are_valid() {
        for preset in PRESETS.iter() {
            for pointer in preset.signature.iter().flatten() {
                assert!(Pointer::parse(pointer).is_some(), "{}: {pointer}", preset.name);
            }
            let warc_dir = Some(".".into());
            let copied = Mapping::new(&InputConfig { warc_dir: warc_dir.clone(), ..preset.input.clone() });
            let copied = copied.unwrap_or_else(|faults| panic!("{}: {faults:?}", preset.name));
            let named = InputConfig { preset: preset.name.to_owned(), warc_dir, ..InputConfig::default() };
            for slot in Mapping::new(&named).expect("a mapping").slots() {
                let has =
                    |(field, pointer, _): &(&str, String, usize)| (*field, pointer) == (slot.0, &slot.1);
                assert!(copied.slots().iter().any(has), "{}: {slot:?}", preset.name);
            }
        }
    }
}

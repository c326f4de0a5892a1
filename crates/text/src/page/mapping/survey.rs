//! Examines sample messages: finds the preset that fits most of them, or guesses their fields, and reports which values
//! are read and which are ignored.
//!
//! In: values. Out: a [`Survey`], for people. Memory: the names of the samples' fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::InputConfig;
use super::detect::Recognizer;
use super::guess::{Looks, guess, pointers};
use super::preset::Preset;
use super::{Mapping, Message, MessageOutcome, Skip};
use crate::page::json::PageRules;
use crate::page::{Body, Page};

/// Maximum number of errors that are shown.
const ERRORS_MAX: usize = 3;

/// A sample message: key and value.
type Sample = (Option<Vec<u8>>, Vec<u8>);

/// The result of examining samples.
#[derive(Debug, Default)]
pub struct Survey {
    /// Number of samples.
    pub samples: u64,
    /// Presets that samples look like, and the number of samples for each. Most common first.
    pub presets: Vec<(&'static str, u64)>,
    /// For each kind of field, the pointers that probably lead to it, most likely first. Empty if a preset
    /// fits.
    pub guesses: Vec<(Looks, Vec<String>)>,
    /// Field, pointer, and number of samples in which the pointer finds a value, with the most common preset.
    pub found: Vec<(&'static str, String, u64)>,
    /// Pointers to values that are not read, and the number of samples that have them.
    pub left: Vec<(String, u64)>,
    /// Number of samples that become pages with a body, and pages without one.
    pub pages: (u64, u64),
    /// Number of samples that are skipped, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// Number of samples that become dead letters, and the messages of the first ones.
    pub dead: (u64, Vec<String>),
}

impl Survey {
    /// Examines messages of a topic, which need a url each.
    #[must_use]
    pub fn of_topic(samples: &[Sample]) -> Self {
        Self::of_samples(samples, None)
    }

    /// Examines documents of a file. Those without a url get a generated address.
    #[must_use]
    pub fn of_file(samples: &[Sample]) -> Self {
        Self::of_samples(samples, Some(&Page::made_up_url("FILE", 1)))
    }

    /// Examines `samples`. Those without a url get `made_up_url`, if there is one.
    fn of_samples(samples: &[Sample], made_up_url: Option<&str>) -> Self {
        let mut survey = Self { samples: samples.len() as u64, ..Self::default() };
        let recognizer = Recognizer::default();
        let mut presets: BTreeMap<&'static str, u64> = BTreeMap::new();
        for preset in samples.iter().filter_map(|(_, value)| recognizer.preset(value)) {
            *presets.entry(preset.name).or_default() += 1;
        }
        survey.presets = presets.into_iter().collect();
        survey.presets.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        match survey.presets.first().and_then(|(name, _)| Preset::named(name).ok()) {
            Some(preset) => {
                survey.read_with(preset, samples, made_up_url);
                survey
            }
            None => {
                // A file may have texts without urls, which no preset looks for.
                let own = made_up_url.and_then(|_| survey.read_plainly(samples, made_up_url));
                own.unwrap_or_else(|| {
                    survey.guess(samples);
                    survey
                })
            }
        }
    }

    /// Reads documents of a file without a preset. Returns `None` if none of them has a body.
    fn read_plainly(&self, samples: &[Sample], made_up_url: Option<&str>) -> Option<Self> {
        let preset = Preset::named(&InputConfig::default().preset).ok()?;
        let mut own = Self { samples: self.samples, ..Self::default() };
        own.read_with(preset, samples, made_up_url);
        own.presets.push((preset.name, own.pages.0));
        (own.pages.0 > 0).then_some(own)
    }

    fn read_with(&mut self, preset: &'static Preset, samples: &[Sample], made_up_url: Option<&str>) {
        // No WARC file is read here, but the setting is required.
        let config = InputConfig {
            preset: preset.name.to_owned(),
            warc_dir: Some(".".into()),
            ..InputConfig::default()
        };
        // The fast path for Leitong's own JSON would count no hits.
        let Ok(mapping) = Mapping::new(&config).map(Mapping::counting) else { return };
        let rules = PageRules { page_bytes_max: usize::MAX, url_required: true };
        let slots = mapping.slots();
        let mut hits = vec![0; slots.len()];
        let mut left: BTreeMap<String, u64> = BTreeMap::new();
        for (key, value) in samples {
            let message = Message { key: key.as_deref(), made_up_url, ..Message::line(value) };
            let reading = mapping.read(&message, rules);
            for (hit, (_, _, number)) in hits.iter_mut().zip(&slots) {
                *hit += reading.hits >> number & 1;
            }
            match reading.outcome {
                Ok(MessageOutcome::Page(page)) if page.body == Body::Missing => self.pages.1 += 1,
                Ok(MessageOutcome::Page(_)) => self.pages.0 += 1,
                Ok(MessageOutcome::Skipped(why)) => *self.skipped.entry(why).or_default() += 1,
                Err(error) => {
                    self.dead.0 += 1;
                    if self.dead.1.len() < ERRORS_MAX {
                        self.dead.1.push(error.to_string());
                    }
                }
            }
            let message: Value = serde_json::from_slice(value).unwrap_or_default();
            let is_read = |pointer: &String| {
                slots.iter().any(|(_, known, _)| {
                    pointer
                        .strip_prefix(known.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            };
            for pointer in pointers(&message).into_iter().filter(|at| !at.is_empty() && !is_read(at)) {
                *left.entry(pointer).or_default() += 1;
            }
        }
        let found = slots.into_iter().zip(hits).map(|((field, pointer, _), hits)| (field, pointer, hits));
        self.found = found.collect();
        self.left = left.into_iter().collect();
        self.left.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    }

    fn guess(&mut self, samples: &[Sample]) {
        let mut weights: BTreeMap<(Looks, String), usize> = BTreeMap::new();
        for (_, value) in samples {
            let message: Value = serde_json::from_slice(value).unwrap_or_default();
            for (pointer, looks, weight) in guess(&message) {
                *weights.entry((looks, pointer)).or_default() += weight;
            }
        }
        let mut ranked: Vec<_> = weights.into_iter().collect();
        ranked.sort_by_key(|((looks, _), weight)| (*looks, std::cmp::Reverse(*weight)));
        for ((looks, pointer), _) in ranked {
            match self.guesses.last_mut() {
                Some((known, pointers)) if *known == looks => pointers.push(pointer),
                _ => self.guesses.push((looks, vec![pointer])),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(lines: &[&str]) -> Vec<Sample> {
        lines.iter().map(|line| (None, line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_preset_of_a_crawlers_messages_is_found() {
        let page =
            r#"{"appid":"x","crawlid":"y","url":"http://a/","body":"<p>","links":["z"],"extra":{"a":1}}"#;
        let bodiless = r#"{"appid":"x","crawlid":"y","url":"http://a/"}"#;
        let survey = Survey::of_topic(&samples(&[page, page, bodiless, "json failed to parse", "{"]));
        assert_eq!((survey.samples, &survey.presets[..]), (5, &[("scrapy-cluster", 4)][..]));
        assert_eq!((survey.pages, survey.dead.0), ((2, 1), 1));
        assert_eq!(survey.skipped[&Skip::Literal], 1);
        assert!(survey.found.contains(&("url", "/url".to_owned(), 3)), "{:?}", survey.found);
        assert!(survey.found.contains(&("charset", "/encoding".to_owned(), 0)), "{:?}", survey.found);
        assert_eq!(survey.left, [("/extra/a".to_owned(), 2), ("/links".to_owned(), 2)]);
        let own = Survey::of_topic(&samples(&[r#"{"url":"http://a/","html":"<p>"}"#]));
        assert_eq!((own.presets[0].0, own.pages), ("json", (1, 0)));
        assert!(own.found.contains(&("html", "/html".to_owned(), 1)), "{:?}", own.found);
    }

    #[test]
    fn fields_are_guessed_if_no_preset_fits() {
        let page = serde_json::json!({ "doc": { "href": "https://a.example/1", "src": format!("<html>{}", "x".repeat(99)) } });
        let survey = Survey::of_topic(&samples(&[&page.to_string()]));
        assert_eq!(
            survey.guesses,
            [(Looks::Url, vec!["/doc/href".to_owned()]), (Looks::Body, vec!["/doc/src".to_owned()])]
        );
        assert!(Survey::of_topic(&samples(&["", "[]", "\"x\""])).guesses.is_empty());
    }
}

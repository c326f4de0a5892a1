//! Finds the text that a page's linked data repeats: that of an article, and the ingredients and steps of recipes and
//! instructions.
//!
//! In: a script of linked data. Out: JSON strings with their escapes, in order. Cost: linear in the script.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::extract::main_text::json::Json;

/// Minimum length in bytes of an article's text in linked data that counts as a text.
const BODY_BYTES_MIN: usize = 100;

/// Returns the texts that are named as those of an article.
pub(super) fn article_bodies<'a>(json: &Json<'a>) -> impl Iterator<Item = &'a str> {
    json.values.iter().filter(|value| value.name == "articleBody").map(|value| value.text)
}

/// Returns the text of the article, if it is long enough.
pub(super) fn article_body<'a>(json: &Json<'a>) -> Option<&'a str> {
    article_bodies(json).find(|body| body.len() >= BODY_BYTES_MIN)
}

/// Fields of a recipe or of instructions whose values are text, and not objects with a type of their own.
const STEP_FIELDS: [&str; 7] =
    ["recipeIngredient", "ingredients", "recipeInstructions", "step", "steps", "supply", "tool"];

/// Returns the ingredients and steps of the recipes and instructions in linked data, in order. A step without a text is
/// its name.
pub(super) fn steps<'a>(json: &Json<'a>) -> Vec<&'a str> {
    let mut types: HashMap<usize, &str> = HashMap::new();
    let mut whole: Vec<Range<usize>> = Vec::new();
    for value in json.values.iter().filter(|value| value.name == "@type") {
        let kind = value.text.rsplit(['/', ':']).next().unwrap_or_default();
        types.insert(value.object, kind);
        if matches!(kind, "Recipe" | "HowTo") {
            whole.push(json.objects[value.object].values.clone());
        }
    }
    let texts = json.values.iter().filter(|value| value.name == "text").map(|value| value.object);
    let with_text: HashSet<usize> = texts.collect();
    let (mut found, mut from) = (Vec::new(), 0);
    for range in whole {
        // A recipe within another one is part of it.
        for value in &json.values[range.start.max(from)..range.end.max(from)] {
            let kind = types.get(&value.object).copied().unwrap_or_default();
            let is_step = kind.starts_with("HowTo") && kind != "HowTo";
            let is_text = match value.name {
                "text" => is_step || kind.is_empty(),
                "name" => is_step && !with_text.contains(&value.object),
                name => !is_step && STEP_FIELDS.contains(&name),
            };
            found.extend(is_text.then_some(value.text));
        }
        from = from.max(range.end);
    }
    found
}

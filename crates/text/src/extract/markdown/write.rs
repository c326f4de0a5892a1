//! The outline → lines of Markdown.
//!
//! Blank lines are between parts, but not within tight lists, whose items are one paragraph each, perhaps with
//! another list below. Two lists one after the other have different markers; with the same one, they would be one list.

use crate::extract::markdown::code;
use crate::extract::markdown::escape::push_line;
use crate::extract::markdown::outline::Part;

/// Largest number of a list item in CommonMark.
const NUMBER_MAX: u32 = 999_999_999;

/// Returns the Markdown of `parts`, without a line feed at its end.
pub(super) fn write(parts: &[Part]) -> String {
    lines(parts, false).join("\n")
}

/// Returns the lines of `parts`. In a tight list, there are no blank lines between them.
fn lines(parts: &[Part], is_tight: bool) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut lists = 0;
    for (at, part) in parts.iter().enumerate() {
        if at > 0 && !is_tight {
            all.push(String::new());
        }
        let follows_list = at > 0 && matches!(parts[at - 1], Part::List(_));
        lists = if follows_list { lists + 1 } else { 0 };
        match part {
            Part::Paragraph(lines) => paragraph(lines, &mut all),
            Part::Heading(level, text) => all.push(heading(*level, text)),
            Part::Code { text, language } => all.extend(code::block(text, language.as_deref())),
            Part::Quote(parts) => {
                all.extend(lines(parts, false).into_iter().map(|line| prefixed(">", " ", &line)));
            }
            Part::List(items) => list(items, lists % 2 == 1, &mut all),
            Part::Table(grid) => all.extend(grid.lines()),
        }
    }
    all
}

fn paragraph(lines: &[String], all: &mut Vec<String>) {
    for (at, line) in lines.iter().enumerate() {
        let mut written = String::with_capacity(line.len() + 2);
        push_line(line, &mut written);
        if at + 1 < lines.len() {
            written.push('\\');
        }
        all.push(written);
    }
}

fn heading(level: u8, text: &str) -> String {
    let hashes = "#".repeat(usize::from(level));
    match text.strip_suffix('#') {
        // Number signs at the end of a heading would close it.
        Some(start) if !start.ends_with('\\') => format!("{hashes} {start}\\#"),
        _ => format!("{hashes} {text}"),
    }
}

fn list(items: &[(Option<u32>, Vec<Part>)], is_other: bool, all: &mut Vec<String>) {
    let is_tight = items.iter().all(|(_, parts)| is_tight(parts));
    for (at, (number, parts)) in items.iter().enumerate() {
        if at > 0 && !is_tight {
            all.push(String::new());
        }
        let marker = match (number, is_other) {
            (Some(number), false) => format!("{}.", number.min(&NUMBER_MAX)),
            (Some(number), true) => format!("{})", number.min(&NUMBER_MAX)),
            (None, false) => "-".to_owned(),
            (None, true) => "*".to_owned(),
        };
        let indent = " ".repeat(marker.len() + 1);
        for (at, line) in lines(parts, is_tight).iter().enumerate() {
            all.push(if at == 0 { prefixed(&marker, " ", line) } else { prefixed("", &indent, line) });
        }
    }
}

/// Returns true for the parts of an item that need no blank line: a paragraph, perhaps with a list below.
fn is_tight(parts: &[Part]) -> bool {
    match parts {
        [Part::Paragraph(_)] | [Part::List(_)] => true,
        // In CommonMark, a list that begins with another number cannot follow a paragraph directly.
        [Part::Paragraph(_), Part::List(items)] => {
            items.first().is_none_or(|(number, _)| number.is_none_or(|number| number == 1))
        }
        _ => false,
    }
}

/// Returns `line` after a prefix. A blank line gets no space at its end.
fn prefixed(marker: &str, space: &str, line: &str) -> String {
    match line.is_empty() {
        true => marker.to_owned(),
        false => format!("{marker}{space}{line}"),
    }
}

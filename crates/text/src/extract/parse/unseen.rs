//! Recognises elements that are in the markup but not visible, or not part of the text around them.
//!
//! In: a tag and its attributes. Out: how its content is hidden, if it is. Cost: linear in its names and style.

use memchr::memmem;

use crate::extract::parse::entities;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::Tag;

/// The way in which an element is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Unseen {
    /// Closed, until a reader or a script opens it: `hidden`, `display: none`, a closed dialog; or a button.
    Closed,
    /// Without height, like a collapsed section.
    Flat,
    /// Transparent or invisible, like a page until its script has run.
    Faint,
    /// Outside of the screen, clipped, or in letters without size. A reader never sees it.
    Away,
}

/// Pixels outside of the screen from which an element is out of sight.
const FAR_PIXELS_MIN: u32 = 500;
/// The same in other units, such as `em` and `vw`, but not `%`: menus and slides move by their own width.
const FAR_UNITS_MIN: u32 = 100;

/// Width of an element, in pixels, from which it is the row of a carousel.
const ROW_WIDTH_MIN: u32 = 1_000;

/// Maximum bytes of the tags before a text that are searched for the size of its letters.
const LETTER_TAGS_BYTES_MAX: usize = 1024;

/// Returns how the element is hidden; `None` if it is visible. `source` is the page from the element's start tag on.
pub(in crate::extract) fn unseen(tag: Tag, attributes: &Attributes<'_>, source: &[u8]) -> Option<Unseen> {
    // React sends parts of a page as `<div hidden id="S:0">`, and a script shows them.
    if attributes.hidden && !attributes.id.starts_with(b"S:") || tag == Tag::Dialog && !attributes.open {
        return Some(Unseen::Closed);
    }
    if attributes.style.len() < "clip:rect".len() || !may_hide(attributes.style) {
        return None;
    }
    let style = Style::read(&plain_style(attributes.style));
    // Letters without size may only close the gaps between boxes whose text has a size again.
    let is_small = || is_up_to(style.value("font-size"), 0) && begins_small(source);
    style.unseen().or_else(|| is_small().then_some(Unseen::Away))
}

/// Returns true if a style attribute, as written in the markup, may hide its element. Most styles need not be parsed.
fn may_hide(style: &[u8]) -> bool {
    let begins = |at: usize, word: &[u8]| {
        style.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    style.iter().enumerate().any(|(at, byte)| match byte | 0x20 {
        // Escapes and references could spell anything.
        b'|' | b'&' => matches!(byte, b'\\' | b'&'),
        b'n' => begins(at, b"none"),
        b'h' => begins(at, b"hidden"),
        b'c' => begins(at, b"clip") || begins(at, b"collapse"),
        b'o' => begins(at, b"opacity"),
        b'f' => begins(at, b"font-size"),
        b's' => begins(at, b"scale"),
        b'-' => style[at + 1..].iter().take(3).filter(|byte| byte.is_ascii_digit()).count() == 3,
        _ => false,
    })
}

/// Returns true if no tag between the start of `source`, a start tag, and the next text sets the size of letters, as
/// far as its attributes tell.
fn begins_small(source: &[u8]) -> bool {
    let mut rest = &source[..source.len().min(LETTER_TAGS_BYTES_MAX)];
    let mut is_first = true;
    while let Some(end) = memchr::memchr(b'>', rest).filter(|_| rest.starts_with(b"<")) {
        let tag = &rest[..end];
        if !is_first
            && ["class=", "font-size", "size="]
                .iter()
                .any(|name| memmem::find(tag, name.as_bytes()).is_some())
        {
            return false;
        }
        is_first = false;
        rest = rest[end + 1..].trim_ascii_start();
    }
    !rest.is_empty()
}

/// The declarations of a style attribute in lower case: property, value, and whether it is `!important`.
struct Style(Vec<(String, String, bool)>);

impl Style {
    fn read(plain: &str) -> Self {
        let declarations = declarations(plain).filter_map(|declaration| {
            let (name, value) = declaration.split_once(':')?;
            let (value, important) = match value.split_once('!') {
                Some((value, rest)) => (value, rest.trim().eq_ignore_ascii_case("important")),
                None => (value, false),
            };
            Some((name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase(), important))
        });
        Self(declarations.collect())
    }

    /// Returns the value of a property, or `""`. By the rules of CSS, the last declaration counts unless an earlier one
    /// is `!important`.
    fn value(&self, property: &str) -> &str {
        let named = || self.0.iter().rev().filter(|(name, _, _)| name == property);
        let found = named().find(|(_, _, important)| *important).or_else(|| named().next());
        found.map_or("", |(_, value, _)| value)
    }

    fn is_one_of(&self, property: &str, values: &[&str]) -> bool {
        values.contains(&self.value(property))
    }

    fn unseen(&self) -> Option<Unseen> {
        if self.value("display") == "none" {
            return Some(Unseen::Closed);
        }
        let is_apart = self.is_one_of("position", &["absolute", "fixed"]);
        let is_moved = is_apart || self.value("position") == "relative";
        // The row of a carousel is wider than the screen, and moves.
        let is_row = || numbers(self.value("width")).any(|(_, number, _)| number >= ROW_WIDTH_MIN);
        let is_far =
            |properties: &[&str]| properties.iter().any(|name| is_far(self.value(name))) && !is_row();
        let is_up_to =
            |names: [&str; 2], most: u32| names.iter().any(|name| is_up_to(self.value(name), most));
        // A picture or colour stands for the words.
        let has_picture = self.0.iter().any(|(name, _, _)| name.starts_with("background"));
        // A box of no height with padding has the shape of its picture.
        let has_padding = ["padding", "padding-top", "padding-bottom"]
            .iter()
            .any(|name| numbers(self.value(name)).any(|(_, number, _)| number > 1));
        let cuts = ["overflow", "overflow-x", "overflow-y"];
        let cuts = cuts.iter().any(|name| self.is_one_of(name, &["hidden", "clip"])) && !has_padding;
        let is_flat = cuts && is_up_to(["height", "max-height"], 0);
        let opacity = self.value("opacity");
        let is_transparent = (is_up_to(["opacity"; 2], 0) || opacity.starts_with("0.0") || opacity.starts_with(".0"))
                // What moves while it appears is an animation.
                && ["transform", "transition", "animation", "will-change"].iter().all(|name| self.value(name).is_empty());
        let is_away = is_moved && is_far(&["left", "right", "top", "bottom"])
            || is_far(&["margin", "margin-left", "margin-top", "transform"])
            || is_far(&["text-indent"]) && !has_picture
            || is_apart && is_clipped(self.value("clip"))
            || is_clipped(self.value("clip-path"))
            || cuts && is_up_to(["width"; 2], 1)
            || cuts && is_up_to(["height", "max-height"], 1) && (is_apart || !is_flat)
            || is_transparent && (is_apart || self.value("z-index").starts_with('-'))
            || self.value("transform").starts_with("scale(0)");
        if is_away {
            Some(Unseen::Away)
        } else if is_flat {
            Some(Unseen::Flat)
        } else if is_transparent || self.is_one_of("visibility", &["hidden", "collapse"]) {
            Some(Unseen::Faint)
        } else {
            None
        }
    }
}

/// Returns true if the value is one number of at most `most`, in any unit.
fn is_up_to(value: &str, most: u32) -> bool {
    let digits =
        value.trim_start_matches('+').trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let whole = digits.trim_end_matches('0').trim_end_matches('.');
    !digits.is_empty()
        && (if digits.contains('.') { whole } else { digits })
            .parse()
            .map_or(whole.is_empty(), |number: u32| number <= most)
}

/// Returns true if one of the value's lengths is far below zero.
fn is_far(value: &str) -> bool {
    numbers(value).any(|(sign, number, unit)| {
        sign && match unit {
            "%" => false,
            "px" => number >= FAR_PIXELS_MIN,
            _ => number >= FAR_UNITS_MIN,
        }
    })
}

/// Returns true if a value of `clip` or `clip-path` leaves nothing to see.
fn is_clipped(value: &str) -> bool {
    let Some((shape, sides)) = value.split_once('(') else { return false };
    let mut sides = numbers(sides).peekable();
    match shape.trim() {
        "inset" => sides.next().is_some_and(|(_, number, unit)| unit == "%" && number >= 50),
        "circle" | "ellipse" => sides.next().is_some_and(|(_, number, _)| number == 0),
        "rect" | "polygon" => sides.peek().is_some() && sides.all(|(_, number, _)| number <= 1),
        _ => false,
    }
}

/// Returns the numbers of a value: whether each is negative, its whole part, and its unit.
fn numbers(value: &str) -> impl Iterator<Item = (bool, u32, &str)> {
    let words = value.split(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '(' | ')'));
    words.filter_map(|word| {
        let digits = word.trim_start_matches(['-', '+']);
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let whole = digits[..end].split('.').next().unwrap_or_default();
        let number = if whole.is_empty() && end > 0 { 0 } else { whole.parse().ok()? };
        Some((word.starts_with('-'), number, &digits[end..]))
    })
}

/// Returns the style with its character references and escapes decoded, and its comments replaced by spaces.
fn plain_style(style: &[u8]) -> String {
    let decoded = entities::decoded(&String::from_utf8_lossy(style));
    let mut plain = String::with_capacity(decoded.len());
    let mut rest = decoded.as_str();
    while let Some(at) = memchr::memchr2(b'/', b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("/*") {
            plain.push(' ');
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if let Some(escape) = rest.strip_prefix('\\') {
            let digits = escape.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
            let code = u32::from_str_radix(&escape[..digits], 16).ok().and_then(char::from_u32);
            // A backslash before any other character is dropped.
            plain.extend(code);
            rest = &escape[digits..];
            rest = if digits > 0 { rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest) } else { rest };
        } else {
            plain.push('/');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Splits a style into its declarations, at semicolons outside of quotes and brackets (`url(data:a;b)`).
fn declarations(style: &str) -> impl Iterator<Item = &str> {
    let (mut quote, mut depth) = (None, 0_u32);
    style.split(move |c: char| {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) => return c == ';' && depth == 0,
        }
        false
    })
}

/// Class names of elements that programs insert into a line, but that are not part of its text: links from a heading to
/// itself, "edit" links of wikis, words for screen readers, noise of forums.
const MARKS: [&[u8]; 10] = [
    b"headerlink",
    b"hash-link",
    b"anchorjs-link",
    b"header-anchor",
    b"mw-editsection",
    b"sr-only",
    b"visually-hidden",
    b"screen-reader-text",
    // Letters against copying, new at each request, and notes on the last edit.
    b"jammer",
    b"pstatus",
];

/// Returns true if a program has inserted the element into a line, and it is not part of the text.
pub(in crate::extract) fn is_mark(tag: Tag, class: &[u8]) -> bool {
    matches!(tag, Tag::A | Tag::Span | Tag::Font | Tag::I)
        && class.len() >= "jammer".len()
        && class.split(u8::is_ascii_whitespace).any(|name| MARKS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(style: &str) -> Option<Unseen> {
        unseen(
            Tag::Div,
            &Attributes { style: style.as_bytes(), ..Attributes::default() },
            b"<div><p class=a>",
        )
    }

    #[test]
    fn display_none_is_found_however_it_is_written() {
        #[rustfmt::skip]
        const HIDDEN: [&str; 16] = [
            "display:none", "display: none !important", "display : none", "DISPLAY:NONE",
            "Display:None ! Important;", "color:red;display:none;", "-webkit-box-display:x;display:none",
            "display/* a */:/* b */none/* c */", "display:block;display:none",
            "display:none !important;display:block", "d\\69splay:none", "display:\\6e one",
            "display&colon;none", "background:url(data:x;y);display:none", "content:\"a;b\";display:none",
            "display:\nnone",
        ];
        for style in HIDDEN {
            assert_eq!(seen(style), Some(Unseen::Closed), "{style}");
        }
    }

    #[test]
    fn styles_that_put_text_out_of_sight_are_found() {
        for (unseen, styles) in [
            (
                Unseen::Away,
                &[
                    "position:absolute; left:-9999px; top:-9999px;",
                    "position:fixed;top:-100vh",
                    "POSITION: Absolute; RIGHT: -5000PX",
                    "margin-left:-10000px",
                    "margin:0 0 0 -2000px",
                    "text-indent:-9999px",
                    "transform:translateX(-9999px)",
                    "position:absolute;clip:rect(0px, 0px, 0px, 0px)",
                    "clip:rect(1px 1px 1px 1px);position:absolute",
                    "clip-path:inset(50%)",
                    "clip-path: circle(0)",
                    "clip-path:polygon(0 0, 0 0, 0 0)",
                    "width:1px;height:1px;overflow:hidden",
                    "height:0;overflow:hidden;position:absolute",
                    "opacity:0;position:absolute;z-index:-1",
                    "opacity:0.0;z-index:-9",
                    "transform:scale(0)",
                ][..],
            ),
            (
                Unseen::Flat,
                &[
                    "height:0;overflow:hidden",
                    "max-height:0px; overflow: hidden",
                    "overflow-y:clip;height:0.0em",
                ],
            ),
            (Unseen::Faint, &["visibility:hidden", "opacity:0", "opacity:0.00;color:red", "opacity: 0%"]),
        ] {
            for style in styles {
                assert_eq!(seen(style), Some(unseen), "{style}");
            }
        }
    }

    /// Boxes without space between them have letters of no size, and the text within them has one again.
    #[test]
    fn letters_without_size_are_unseen_unless_a_tag_within_sets_their_size() {
        for (source, expected) in [
            ("<div style='font-size:0'><p>spam", Some(Unseen::Away)),
            ("<div style='font-size:0'>\n<p>\n<b>spam", Some(Unseen::Away)),
            ("<div style='font-size:0'>spam<p style='font-size:16px'>", Some(Unseen::Away)),
            ("<div style='font-size:0'><p style='font-size:16px'>text", None),
            ("<div style='font-size:0'><ul><li class=item>text", None),
            ("<div style='font-size:0'><font size=3>text", None),
        ] {
            let attributes = Attributes { style: b"font-size:0", ..Attributes::default() };
            assert_eq!(unseen(Tag::Div, &attributes, source.as_bytes()), expected, "{source}");
        }
    }

    #[test]
    fn visible_elements_are_not_hidden() {
        #[rustfmt::skip]
        const SHOWN: [&str; 32] = [
            "", "display:block", "display:none;display:block",
            "display:block !important;display:none", "/* display:none */color:red",
            "display:nonesuch", "border:none;display:block", "-x-display:none",
            "background:url(;display:none;)", "content:';display:none;'",
            "opacity:0;transform:translateY(20px)", "opacity:0;transition:opacity 1s", "opacity:.5",
            "left:-9999px", "position:absolute;left:-12px;right:-100%",
            "position:absolute;left:9999px;top:12000px", "height:0", "height:100px;overflow:hidden",
            "text-indent:-2em", "clip-path:inset(10% 60% 10% 10%)",
            "position:absolute;clip:rect(0,100px,100px,0)", "font-size:0.9em", "font-size:0",
            "width:5000px;transform:translate3d(-1200px,0,0)",
            "height:0;overflow:hidden;padding-bottom:56%", "max-width:0;overflow:hidden",
            "text-indent:-9999px;background:url(logo.png)", "display", "display:", "/*", "\\", "d\\",
        ];
        for style in SHOWN {
            assert_eq!(seen(style), None, "{style}");
        }
    }
}

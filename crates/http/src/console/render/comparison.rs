//! Renders the comparison of two pages: the verdict, figures, texts, and the comparison by each detector.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::language::Language;
use super::layout::{quoted, shown};
use super::texts;
use leitong_base::record::Outcome;
use leitong_fingerprint::relation::Relation;
use leitong_pipeline::comparison::plain;
use leitong_pipeline::comparison::{Comparison, Opinion, PairVerdict, Related, Side};
use leitong_text::extract::NoContent;

/// Maximum length of a page's name in a title, in characters.
const TITLE_CHARS: usize = 60;
/// Letters by which the pages are called.
pub(super) const LETTERS: [&str; 2] = ["A", "B"];

/// Returns the title of the page.
pub(crate) fn title(comparison: &Comparison, language: Language) -> String {
    let name = |side: &Side| {
        let name = side.title.as_deref().unwrap_or(&side.name);
        name.chars().take(TITLE_CHARS).collect::<String>()
    };
    let [a, b] = &comparison.sides;
    format!("{}: {} · {}", wording(comparison.verdict, language).0, name(a), name(b))
}

/// Renders the whole comparison.
pub(crate) fn body(comparison: &Comparison, language: Language) -> Markup {
    html! {
        (conclusion(comparison, language))
        (figures(comparison, language))
        (texts::side_by_side(comparison, language))
        (opinions(comparison, language))
    }
}

/// Returns the verdict in two words and in a sentence, and the CSS class for its colour.
fn wording(verdict: PairVerdict, language: Language) -> (&'static str, &'static str, &'static str) {
    match verdict {
        PairVerdict::Exact => (
            language.say("The same text", "文本相同"),
            language.say(
                "The texts differ only in white space: B is an EXACT_DUPLICATE of A.",
                "除空白外文本完全相同：B 是 A 的 EXACT_DUPLICATE。",
            ),
            "good",
        ),
        PairVerdict::Near => (
            language.say("Near-duplicates", "近似重复"),
            language.say(
                "If A came first, B would join its cluster as a NEAR_DUPLICATE.",
                "若 A 先到，B 将作为 NEAR_DUPLICATE 归入 A 的簇。",
            ),
            "good",
        ),
        PairVerdict::Related => (
            language.say("Related, not duplicates", "相关，但不重复"),
            language.say(
                "B would be UNIQUE, and its verdict would name A as a related page.",
                "B 将判为 UNIQUE，其判定会把 A 列为相关页面。",
            ),
            "fair",
        ),
        PairVerdict::Unique => (
            language.say("Two different texts", "两篇不同的文本"),
            language.say("B would be UNIQUE: it is not near A.", "B 将判为 UNIQUE：与 A 不相近。"),
            "apart",
        ),
        PairVerdict::OtherCorpora => (
            language.say("In different corpora", "属于不同语料库"),
            language.say(
                "B would be UNIQUE: pages in different corpora are never compared.",
                "B 将判为 UNIQUE：不同语料库的页面互不比较。",
            ),
            "apart",
        ),
        PairVerdict::Undecidable => (
            language.say("Nothing to compare", "无可比较"),
            language.say(
                "A page without a fingerprint is UNDECIDABLE, and cannot be compared.",
                "没有指纹的页面判为 UNDECIDABLE，不与任何页面比较。",
            ),
            "apart",
        ),
    }
}

fn conclusion(comparison: &Comparison, language: Language) -> Markup {
    let (words, sentence, class) = wording(comparison.verdict, language);
    html! {
        section.verdict.(class) aria-labelledby="verdict" {
            h1 #verdict { (words) }
            p.lead { (sentence) }
            @if let Some(related) = comparison.related { p { (relation(related, language)) } }
            @if comparison.sides.iter().all(|side| side.paragraphs() > 0) {
                p { (in_both(comparison, language)) }
            }
        }
    }
}

fn in_both(comparison: &Comparison, language: Language) -> String {
    let shared = percent(comparison.shared);
    match comparison.cut {
        false => language.say(
            format!("Compared word by word, both pages have {shared} of their main texts in the same order."),
            format!("逐词比较，两篇正文有 {shared} 按相同顺序见于双方。"),
        ),
        true => language.say(
            format!("Compared word by word, the beginnings of the two main texts have {shared} in common."),
            format!("逐词比较，两篇正文的开头部分有 {shared} 见于双方。"),
        ),
    }
}

fn relation(related: Related, language: Language) -> String {
    let Related { relation, shares } = related;
    let says = match relation {
        Relation::Same => language.say("Both pages have the same content", "两页内容相同"),
        Relation::Excerpt => language.say("B is an excerpt of A", "B 是 A 的节选"),
        Relation::Extends => language.say("B contains A and has more text", "B 包含 A 并有补充"),
        Relation::Overlaps => {
            language.say("Each page has much text that the other lacks", "两页各有对方没有的内容")
        }
        Relation::Alike => language.say("Two texts of one template", "同一模板的两篇文本"),
        Relation::Part => language.say("Two pages of one article", "同一文章的两个分页"),
    };
    let [of_b, of_a] = [shares.of_a, shares.of_b].map(|share| percent(f64::from(share) / 10_000.0));
    let name = relation.as_str();
    language.say(
        format!(
            "{says} ({name}): by their fingerprints, A contains {of_b} of B, and B contains {of_a} of A."
        ),
        format!("{says}（{name}）：据指纹估计，B 的 {of_b} 见于 A，A 的 {of_a} 见于 B。"),
    )
}

fn figures(comparison: &Comparison, language: Language) -> Markup {
    let none = || html! { "–" };
    let of_each = |of: &dyn Fn(&Side) -> Markup| comparison.sides.iter().map(of).collect::<Vec<_>>();
    let rows = [
        (language.say("name", "名称"), of_each(&|side| quoted(&side.name))),
        (language.say("title", "标题"), of_each(&|side| side.title.as_deref().map_or_else(none, quoted))),
        (
            language.say("charset", "字符集"),
            of_each(&|side| match &side.charset {
                Some(charset) if charset.malformed > 0 => {
                    html! { (charset.name) ", " (charset.malformed) " " (language.say("malformed", "处损坏")) }
                }
                Some(charset) => html! { (charset.name) },
                None => html! { (language.say("already decoded", "已解码")) },
            }),
        ),
        (language.say("main text", "正文"), of_each(&|side| main_text(side, language))),
        (language.say("fingerprint", "指纹"), of_each(&|side| fingerprint(side, comparison, language))),
    ];
    html! {
        section aria-labelledby="pages" {
            h2 #pages { (language.say("The two pages", "两个页面")) }
            div.scroll tabindex="0" role="region" aria-labelledby="pages" {
                table.facts {
                    thead {
                        tr {
                            td {}
                            @for letter in LETTERS { th scope="col" { (letter) } }
                        }
                    }
                    tbody {
                        @for (what, cells) in rows {
                            tr {
                                th scope="row" { (what) }
                                @for cell in cells { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn main_text(side: &Side, language: Language) -> Markup {
    let page_kind = side.page_kind.map(NoContent::as_str);
    let paragraphs = side.paragraphs();
    let dropped = side.blocks.len() - paragraphs;
    html! {
        @match (&side.refusal, side.record.text.map_or(0, |text| text.chars)) {
            (Some(refusal), _) => (quoted(refusal)),
            (None, chars) => {
                (language.say(
                    format!("{chars} characters; paragraphs kept: {paragraphs}, blocks dropped: {dropped}"),
                    format!("{chars} 字；保留 {paragraphs} 段，舍弃 {dropped} 块"),
                ))
            }
        }
        @if let Some(page_kind) = page_kind { (language.say(" · page kind: ", " · 页面类型：")) (page_kind) }
    }
}

fn fingerprint(side: &Side, comparison: &Comparison, language: Language) -> Markup {
    match &side.record.outcome {
        Outcome::Fingerprint(fingerprint) => beginning_of(fingerprint, comparison.detector, language),
        Outcome::Undecidable(reason) => html! { "– (" (reason.as_str()) ")" },
    }
}

/// Renders the first bytes of a fingerprint, the name of its detector and its size.
pub(super) fn beginning_of(fingerprint: &[u8], detector: &str, language: Language) -> Markup {
    let hex: String = fingerprint.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    html! { code { (hex) } " (" (shown(detector)) ", " (fingerprint.len()) (language.say("\u{a0}bytes", "\u{a0}字节")) ")" }
}

/// Renders evidence, folded up.
pub(super) fn evidence(evidence: &Map<String, Value>, language: Language) -> Markup {
    html! {
        details {
            summary { (language.say("evidence", "证据")) }
            dl {
                @for (name, value) in evidence {
                    dt { (shown(&name.replace('_', " "))) }
                    dd { (quoted(&plain(value))) }
                }
            }
        }
    }
}

fn opinions(comparison: &Comparison, language: Language) -> Markup {
    html! {
        section aria-labelledby="opinions" {
            h2 #opinions { (language.say("Comparison by every detector", "各检测器的意见")) }
            ul.opinions {
                @for opinion in &comparison.opinions {
                    (self::opinion(opinion, opinion.name == comparison.detector, language))
                }
            }
        }
    }
}

fn opinion(Opinion { name, compared }: &Opinion, decides: bool, language: Language) -> Markup {
    let near = compared.as_ref().map(|compared| compared.near);
    let (chip, class) = match near {
        Some(true) => (language.say("near", "相近"), "near"),
        Some(false) => (language.say("not near", "不相近"), "not-near"),
        None => (language.say("no result", "无意见"), "none"),
    };
    html! {
        li.decides[decides] {
            h3 { code { (name) } " " span.chip.(class) { (chip) } }
            @if decides { p.note { (language.say("the configured detector", "由它判定")) } }
            @match compared {
                Some(compared) => {
                    p { (language.say("similarity", "相似度")) " " (percent(compared.similarity)) }
                    (evidence(&compared.evidence, language))
                }
                None => p { (language.say("There is too little text for this detector.", "文本太少，无法判断。")) },
            }
        }
    }
}

/// Formats `0.9062` as `90.6 %`.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}\u{a0}%", text.strip_suffix(".0").unwrap_or(&text))
}

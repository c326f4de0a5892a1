//! Renders the form for two pages, and error pages.

use maud::{Markup, html};

use super::comparison::LETTERS;
use super::language::Language;
use super::layout::quoted;

/// Optional features of the form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offers {
    /// True if pages can be named by id or url.
    pub ids: bool,
    /// Limit on the bytes of a page.
    pub page_bytes_max: usize,
}

/// Renders the form.
pub(crate) fn compare_form(action: &str, offers: Offers, language: Language) -> Markup {
    html! {
        h1 { (language.say("Compare two pages", "比较两个页面")) }
        p.lead {
            (language.say(
                "See what Leitong keeps of each page, what the pages share, and whether the second would be a duplicate of the first.",
                "雷同保留了各页的哪些内容？两页有哪些相同之处？第二页会被判为第一页的重复吗？",
            ))
        }
        form method="post" action=(action) enctype="multipart/form-data" {
            input type="hidden" name="lang" value=(language.name());
            div.columns {
                @for letter in LETTERS { (side(letter, offers, language)) }
            }
            p.actions {
                button type="submit" { (language.say("Compare", "比较")) }
                span.note {
                    (language.say(
                        "Nothing is stored, and nothing leaves this machine.",
                        "不保存任何内容，也不会发往其他机器。",
                    ))
                }
            }
        }
    }
}

fn side(letter: &str, offers: Offers, language: Language) -> Markup {
    let field = |name: &str| format!("{}_{name}", letter.to_lowercase());
    let mebibytes = offers.page_bytes_max >> 20;
    html! {
        fieldset.panel {
            legend {
                span.letter { (letter) } " "
                (match letter {
                    "A" => language.say("the first page", "第一页"),
                    _ => language.say("the second page", "第二页"),
                })
            }
            label for=(field("text")) { (language.say("HTML source or plain text", "HTML 源码或纯文本")) }
            textarea #(field("text")) name=(field("text")) rows="9" spellcheck="false" {}
            label for=(field("file")) {
                (language.say(
                    format!("or a file, up to {mebibytes} MiB"),
                    format!("或上传文件，至多 {mebibytes} MiB"),
                ))
            }
            input #(field("file")) type="file" name=(field("file"));
            @if offers.ids {
                label for=(field("id")) { (language.say("or the id or url of a page", "或页面的 id 或网址")) }
                input #(field("id")) type="text" name=(field("id")) autocomplete="off" spellcheck="false";
            }
            label for=(field("url")) {
                (language.say("its url, if it matters (optional)", "网址（可选，会影响判定）"))
            }
            input #(field("url")) type="text" name=(field("url")) inputmode="url" autocomplete="off" spellcheck="false";
        }
    }
}

/// Renders an error page.
pub(crate) fn problem(title: &str, detail: &str, back: &str, language: Language) -> Markup {
    html! {
        section.verdict.bad aria-labelledby="problem" {
            h1 #problem { (title) }
            p.lead { (quoted(detail)) }
            p { a href=(back) { (language.say("Back", "返回")) } }
        }
    }
}

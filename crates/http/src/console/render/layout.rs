//! The parts that all pages of the console have: head, header, main, footer.
//!
//! A page never has resources from other servers, nor inline scripts, except our own in a review. A served page links
//! to its style sheet. A page in a file contains the style, and a policy that allows only what it contains.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::language::Language;

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("style.css");
/// The script of a [review](super::review).
const REVIEW: &str = include_str!("review.js");
/// Icon of two overlapping sheets, as a data address that needs no request.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Crect x='1' y='1' width='9' height='11' rx='1.5' fill='%230b6e69'/%3E\
%3Crect x='6' y='4' width='9' height='11' rx='1.5' fill='%235bb5ad' fill-opacity='.85'/%3E%3C/svg%3E";

/// The way in which a page is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery<'a> {
    /// The page is a file that contains everything it needs.
    File,
    /// The page is a file with the script that takes answers.
    Review,
    /// The page comes from a server whose other files are under this path, which ends in `/`.
    Served(&'a str),
}

/// The surroundings of a page's content: title, links, language.
pub(crate) struct Frame<'a> {
    /// Language of the page, except for text from crawled pages.
    pub language: Language,
    /// Title, which may contain text from crawled pages.
    pub title: &'a str,
    /// Way of delivery.
    pub delivery: Delivery<'a>,
    /// Links of the header: address, text, and true for the current page.
    pub links: Vec<(String, &'static str, bool)>,
    /// Address of the same page in the other language; `None` for files.
    pub other_language: Option<&'a str>,
}

/// Renders a whole page around `body`.
pub(crate) fn page(frame: &Frame<'_>, body: &Markup) -> String {
    let language = frame.language;
    let served = match frame.delivery {
        Delivery::File | Delivery::Review => None,
        Delivery::Served(base) => Some(base),
    };
    let page = html! {
        (DOCTYPE)
        html lang=(language.tag()) {
            head {
                meta charset="utf-8";
                @if served.is_none() {
                    meta http-equiv="Content-Security-Policy" content=(file_policy(frame.delivery));
                    meta name="referrer" content="no-referrer";
                }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown(frame.title)) " · Leitong" }
                link rel="icon" href=(ICON);
                @match served {
                    Some(base) => link rel="stylesheet" href={ (base) "style.css" };,
                    None => style { (PreEscaped(STYLE)) },
                }
            }
            body {
                a.skip href="#main" { (language.say("Skip to the content", "跳到内容")) }
                (header(frame))
                main #main tabindex="-1" { (body) }
                footer.foot {
                    (language.say(
                        "Leitong finds near-duplicate web pages. This page is read-only.",
                        "雷同（Leitong）：判定抓取网页是否近似重复。此页面只读，不改变任何数据。",
                    ))
                }
                @if frame.delivery == Delivery::Review { script { (PreEscaped(REVIEW)) } }
            }
        }
    };
    page.into_string() + "\n"
}

fn header(frame: &Frame<'_>) -> Markup {
    let language = frame.language;
    html! {
        header.top {
            p.brand { b { "Leitong" } " " span lang="zh-CN" { "雷同" } }
            @if !frame.links.is_empty() {
                nav aria-label=(language.say("Console", "控制台")) {
                    ul {
                        @for (address, text, is_this) in &frame.links {
                            li { a href=(address) aria-current=[is_this.then_some("page")] { (text) } }
                        }
                    }
                }
            }
            @if let Some(address) = frame.other_language {
                @let other = language.other();
                p.language { a href=(address) lang=(other.tag()) hreflang=(other.tag()) { (other.own_name()) } }
            }
        }
    }
}

/// Escapes characters in text from pages, urls and ids that could reorder or control the text around it.
pub(crate) fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    leitong_base::terminal::escape_lines(text)
}

/// Renders text from a page, isolated from the direction of the text around it.
pub(crate) fn quoted(text: &str) -> Markup {
    html! { bdi { (shown(text)) } }
}

/// Returns the policy of a file: it allows only the file's own style and script.
fn file_policy(delivery: Delivery) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    let script = if delivery == Delivery::Review { hash(REVIEW) } else { "'none'".to_owned() };
    let style = hash(STYLE);
    format!(
        "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

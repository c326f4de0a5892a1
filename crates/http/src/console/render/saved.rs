//! Renders a page of a saved table: its verdict, its cluster, the canonical page, and the evidence of the
//! members.

use maud::{Markup, html};
use serde_json::Value;
use url::form_urlencoded;

use super::comparison::{self, percent};
use super::language::Language;
use super::layout::{quoted, shown};
use crate::console::saved::{Canonical, Found};
use leitong_pipeline::comparison::plain;

/// Builder of links to pages of the console.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    /// Language of the linked pages.
    pub language: Language,
    /// True if pages can be compared by their ids.
    pub compare: bool,
}

impl Links {
    fn to(self, path: &str, parameters: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(parameters).append_pair("lang", self.language.name());
        format!("{path}?{}", query.finish())
    }

    fn page(self, id: &str) -> Markup {
        html! { a href=(self.to("/page", &[("q", id)])) { (quoted(id)) } }
    }
}

/// Renders the search field for ids and urls.
pub(crate) fn search(query: &str, language: Language) -> Markup {
    html! {
        h1 { (language.say("Look up a page", "查找页面")) }
        form role="search" method="get" action="/page" {
            input type="hidden" name="lang" value=(language.name());
            label for="q" { (language.say("Id or url of a page, or id of a cluster", "页面的 id 或网址，或簇的 id")) }
            div.search {
                input #q type="search" name="q" value=(shown(query)) autocomplete="off" spellcheck="false";
                button type="submit" { (language.say("Look up", "查找")) }
            }
        }
    }
}

/// Renders the result of a search.
pub(crate) fn found(query: &str, found: &Found, links: Links) -> Markup {
    let language = links.language;
    html! {
        (search(query, language))
        @if found.cluster_id.is_none() && found.verdict.is_none() {
            p.panel role="status" {
                (language.say(
                    "The table has no such page, or the page's verdict is no longer kept.",
                    "表中没有这个页面，或其判定已不再保留。",
                ))
            }
        }
        @if let Some(verdict) = &found.verdict { (verdict_on(verdict, links)) }
        @if let Some(id) = &found.cluster_id { (cluster(id, found, links)) }
        (as_of(found, language))
    }
}

fn text<'a>(verdict: &'a Value, name: &str) -> &'a str {
    verdict[name].as_str().unwrap_or_default()
}

fn verdict_on(verdict: &Value, links: Links) -> Markup {
    let language = links.language;
    let kind = text(verdict, "kind");
    let class = match kind {
        "EXACT_DUPLICATE" | "NEAR_DUPLICATE" => "good",
        "UNIQUE" => "fair",
        _ => "apart",
    };
    let (page_id, canonical_id) = (text(verdict, "page_id"), text(verdict, "canonical_page_id"));
    html! {
        section.verdict.(class) aria-labelledby="verdict" {
            h2 #verdict { (shown(kind)) }
            p.lead { (quoted(page_id)) " · " (quoted(text(verdict, "url"))) }
            p { (figures(verdict, language)) }
            @if links.compare && !canonical_id.is_empty() && canonical_id != page_id {
                p {
                    a href=(links.to("/compare", &[("a", canonical_id), ("b", page_id)])) {
                        (language.say("Side by side with the canonical page", "与代表页面并排对照"))
                    }
                }
            }
            (evidence(verdict, language))
        }
    }
}

/// Formats the figures of a verdict as one line.
fn figures(verdict: &Value, language: Language) -> String {
    let mut figures = Vec::new();
    if let Some(reason) = verdict["reason"].as_str() {
        figures.push(language.say(format!("reason {reason}"), format!("原因 {reason}")));
    }
    if let Some(replaced) = verdict["replaces_page_id"].as_str() {
        figures.push(language.say(
            format!("replaces {replaced} as the canonical page"),
            format!("取代 {replaced} 成为代表页面"),
        ));
    }
    if let Some(outcome) = verdict["recrawl"]["outcome"].as_str() {
        figures.push(language.say(format!("crawled again: {outcome}"), format!("再次抓取：{outcome}")));
    }
    if let Some(relation) = verdict["relation"].as_str() {
        figures.push(relation.to_owned());
    }
    if let Some(similarity) = verdict["similarity"].as_f64() {
        let (distance, similarity) = (plain(&verdict["distance"]), percent(similarity));
        figures.push(language.say(
            format!("distance {distance}, similarity {similarity}"),
            format!("距离 {distance}，相似度 {similarity}"),
        ));
    }
    if let (Some(share), Some(canonical)) = (verdict["share"].as_f64(), verdict["canonical_share"].as_f64()) {
        let (share, canonical) = (percent(share), percent(canonical));
        figures.push(language.say(
            format!(
                "{share} of this page is in the other page, and {canonical} of the other page is in this page"
            ),
            format!("其 {share} 见于对方，对方的 {canonical} 见于此页"),
        ));
    }
    if let Some(at) = verdict["decided_at"].as_str() {
        figures.push(language.say(format!("decided at {at}"), format!("判定于 {at}")));
    }
    shown(&figures.join(language.say("; ", "；"))).into_owned()
}

fn evidence(verdict: &Value, language: Language) -> Markup {
    let evidence = verdict["evidence"].as_object().filter(|evidence| !evidence.is_empty());
    html! { @if let Some(evidence) = evidence { (comparison::evidence(evidence, language)) } }
}

fn cluster(id: &str, found: &Found, links: Links) -> Markup {
    let language = links.language;
    html! {
        section aria-labelledby="cluster" {
            h2 #cluster { (language.say("Its cluster", "所属的簇")) " " code.note { (shown(id)) } }
            @match &found.canonical {
                Some(canonical) => (canonical_page(canonical, links)),
                None => p.panel {
                    (language.say(
                        "Its canonical page is not in the saved table: it has expired, or is newer than the \
                         table.",
                        "代表页面不在已保存的表中：已过期，或在保存之后才到。",
                    ))
                },
            }
            (members(found, links))
        }
    }
}

fn canonical_page(canonical: &Canonical, links: Links) -> Markup {
    let language = links.language;
    let Canonical { page_id, url, founder, corpus, founded_at, detector, fingerprint, .. } = canonical;
    html! {
        dl.panel.canonical {
            dt { (language.say("canonical page", "代表页面")) }
            dd { (links.page(page_id)) }
            dt { (language.say("url", "网址")) }
            dd { (quoted(url)) }
            @if let Some(founder) = founder {
                dt { (language.say("founded by", "建立者")) }
                dd { (links.page(founder)) }
            }
            dt { (language.say("corpus", "语料库")) }
            dd { (quoted(corpus)) }
            dt { (language.say("founded at", "建立于")) }
            dd { (founded_at.map_or("–".to_owned(), |time| time.to_string())) }
            dt { (language.say("fingerprint", "指纹")) }
            dd { (comparison::beginning_of(fingerprint, detector, language)) }
        }
    }
}

fn members(found: &Found, links: Links) -> Markup {
    let language = links.language;
    let (known, given) = (found.members_known, found.members.len());
    html! {
        h3 {
            (language.say(format!("Known duplicates: {known}"), format!("已知的重复页面：{known}")))
            @if given < known {
                (language.say(format!(", the last {given} below"), format!("，以下为最近 {given} 个")))
            }
        }
        ul.opinions {
            @for member in &found.members {
                li {
                    h4 { (links.page(text(member, "page_id"))) " " span.chip.near { (shown(text(member, "kind"))) } }
                    p.note { (quoted(text(member, "url"))) }
                    p { (figures(member, language)) }
                    (evidence(member, language))
                }
            }
        }
    }
}

/// Renders when the table was saved, and which newer pages it lacks.
fn as_of(found: &Found, language: Language) -> Markup {
    let at = found.saved_at.map_or("–".to_owned(), |time| time.to_string());
    let (centroids, kibibytes) = (found.centroids, found.journal_bytes.div_ceil(1024));
    html! {
        p.note {
            (language.say(
                format!("The table as saved at {at}, with {centroids} canonical pages."),
                format!("表的保存时间：{at}，含 {centroids} 个代表页面。"),
            ))
            @if kibibytes > 0 {
                " "
                (language.say(
                    format!("There is also a journal of {kibibytes} KiB; its newer pages are not shown."),
                    format!("另有 {kibibytes} KiB 的日志，其中较新的页面未显示。"),
                ))
            }
        }
    }
}

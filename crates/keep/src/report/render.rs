//! Writes the report as text, or as a single HTML page without scripts.
//!
//! Both show the same tables ([`ReportTable`]), so a new one is added to [`Report::tables`] alone. Rules:
//!
//! * Urls, names and passages come from pages, so no cell is trusted: control characters and marks that reorder text
//!   are escaped in both, and markup in HTML.
//! * A column whose name begins with a capital holds text, and is on the left; others hold numbers, on the right.
//! * Columns of the text are as wide as a terminal shows them: an ideograph takes two places.
//! * No table is cut here: [`Report::collect`] bounds their rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::{ClusterLine, DocumentLine, Report, SizeClass, TEMPLATE_PAGES_MIN, Verified};
use crate::accounts::AccountsReport;
use crate::passages::benchmark::SharedPassage;
use crate::sink::Language;
use crate::verify::Check;
use leitong_base::markup::escape;
use leitong_base::terminal;
use leitong_text::page::Page;

const STYLE: &str = "
:root { color-scheme: light dark; font: 15px/1.5 system-ui, 'Noto Sans', sans-serif; }
body { max-width: 1100px; margin: 0 auto; padding: 24px 16px 60px; } h2 { margin-top: 36px; font-size: 19px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid #8884; vertical-align: top; }
th.words, td.words { text-align: left; overflow-wrap: anywhere; min-width: 12em; }
";

/// A table of the report.
struct ReportTable {
    title: &'static str,
    /// A remark about the table. May be empty.
    note: Cow<'static, str>,
    /// The names of the columns.
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Report {
    /// Formats the report as text, for a terminal or a file.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for ReportTable { title, note, head, mut rows } in self.tables() {
            rows.iter_mut().flatten().for_each(|cell| *cell = terminal::escape(cell).into_owned());
            let width = |column: usize| {
                rows.iter().map(|row| row[column].width()).chain([head[column].width()]).max()
            };
            let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
            let _ = writeln!(out, "{title}{}{note}", if note.is_empty() { "" } else { ": " });
            let names: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
            for row in [&names].into_iter().chain(&rows) {
                let mut line = String::from("  ");
                for ((cell, width), name) in row.iter().zip(&widths).zip(head) {
                    let padding = " ".repeat(width - cell.width());
                    let _ = match is_words(name) {
                        true => write!(line, "{cell}{padding}  "),
                        false => write!(line, "{padding}{cell}  "),
                    };
                }
                let _ = writeln!(out, "{}", line.trim_end());
            }
            out.push('\n');
        }
        out
    }

    /// Formats the report as HTML, for a browser.
    pub(super) fn html(&self) -> String {
        let mut out = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>Leitong: documents and copies</title>\
             <style>{STYLE}</style></head><body><h1>Documents and copies</h1>"
        );
        for ReportTable { title, note, head, rows } in self.tables() {
            let _ = write!(out, "<h2>{title}</h2><p>{note}</p><div class=\"scroll\"><table><tr>");
            let class = |name: &str| if is_words(name) { " class=\"words\"" } else { "" };
            for name in head {
                let _ = write!(out, "<th scope=\"col\"{}>{name}</th>", class(name));
            }
            out.push_str("</tr>");
            for row in rows {
                out.push_str("<tr>");
                for (cell, name) in row.iter().zip(head) {
                    let _ = write!(out, "<td{}>{}</td>", class(name), escape(&terminal::escape(cell)));
                }
                out.push_str("</tr>");
            }
            out.push_str("</table></div>");
        }
        out.push_str("</body></html>\n");
        out
    }

    fn tables(&self) -> Vec<ReportTable> {
        let number = |n: u64| n.to_string();
        let mut kinds: Vec<Vec<String>> =
            self.kinds.iter().map(|(kind, count)| vec![(*kind).to_owned(), number(*count)]).collect();
        kinds.push(vec!["all documents".to_owned(), number(self.documents)]);
        kinds.push(vec!["clusters".to_owned(), number(self.clusters)]);
        if let Some(copied) = self.copied {
            kinds.push(vec!["documents kept".to_owned(), number(copied.kept)]);
            if self.verified.is_some() {
                kinds.push(vec!["kept only because of --verify".to_owned(), number(copied.kept_by_verify)]);
            }
            kinds.push(vec!["documents dropped".to_owned(), number(copied.dropped)]);
            if self.benchmarks.is_some() {
                kinds.push(vec!["dropped because of a benchmark".to_owned(), number(copied.benchmark)]);
            }
            kinds.push(vec!["bytes dropped".to_owned(), number(copied.dropped_bytes)]);
        }
        let size = |class: &SizeClass| match class.to {
            Some(to) if to == class.from => to.to_string(),
            Some(to) => format!("{} to {to}", class.from),
            None => format!("{} and more", class.from),
        };
        let sizes = self.sizes.iter();
        let sizes = sizes.map(|class| vec![size(class), number(class.clusters), number(class.documents)]);
        let hosts = self.hosts.iter().map(|host| {
            #[expect(clippy::cast_precision_loss, reason = "for display")]
            let share = 100.0 * host.duplicates as f64 / host.documents.max(1) as f64;
            vec![host.host.clone(), number(host.documents), number(host.duplicates), format!("{share:.1} %")]
        });
        let mut tables = vec![
            ReportTable { title: "Verdicts", note: "".into(), head: &["Kind", "documents"], rows: kinds },
            ReportTable {
                title: "Clusters by size",
                note: "".into(),
                head: &["Pages", "clusters", "documents"],
                rows: sizes.collect(),
            },
            clusters("Largest clusters", "", &self.largest),
        ];
        if !self.suspicious.is_empty() {
            tables.push(clusters(
                "Clusters that look like a template",
                format!(
                    "each has {TEMPLATE_PAGES_MIN} or more pages of one host, nearly all slightly different. They may \
                     be different articles in one page layout: compare two of them with `leitong compare`, or list the \
                     paragraphs that they share with `leitong boilerplate build --pages-min 2`"
                ),
                &self.suspicious,
            ));
        }
        tables.push(ReportTable {
            title: "Hosts with the most documents",
            note: "".into(),
            head: &["Host", "documents", "duplicates", "share"],
            rows: hosts.collect(),
        });
        self.verified.iter().for_each(|verified| tables.extend(checks(verified)));
        tables.extend(self.benchmarks.as_deref().filter(|lines| !lines.is_empty()).map(benchmarks));
        self.languages.iter().for_each(|counts| tables.push(languages(counts)));
        self.accounts.iter().for_each(|accounts| tables.extend(by_source(accounts)));
        tables
    }
}

/// Returns the tables about verification.
fn checks(Verified { counts, losses, kept }: &Verified) -> Vec<ReportTable> {
    let counted = [
        ("dropped: a kept document has the text", counts.dropped),
        ("kept: text would be lost", counts.text_lost),
        ("kept: facts differ", counts.facts_differ),
        ("kept: could not be compared", counts.not_verified),
    ];
    let row = |line: &DocumentLine<Check>| {
        let share = format!("{:.1} %", 100.0 * line.what.lost_share);
        let letters = line.what.lost_letters.to_string();
        let shown = line.what.differs.as_ref().unwrap_or(&line.what.lost_passage);
        vec![share, letters, named(&line.page_id, &line.url), shown.clone()]
    };
    let lines = |title, note: &'static str, lines: &[DocumentLine<Check>]| ReportTable {
        title,
        note: note.into(),
        head: &["lost", "letters", "Document", "Longest passage, or the facts"],
        rows: lines.iter().map(row).collect(),
    };
    let mut tables = vec![ReportTable {
        title: "Verification",
        note: "".into(),
        head: &["Result", "documents"],
        rows: counted.iter().map(|(result, count)| vec![(*result).to_owned(), count.to_string()]).collect(),
    }];
    if !losses.is_empty() {
        tables.push(lines("Text that is lost with dropped documents", "the longest passages", losses));
    }
    if !kept.is_empty() {
        tables.push(lines("Documents kept by verification", "those with the longest passages", kept));
    }
    tables
}

/// Returns the table of documents that contain a passage of a benchmark.
fn benchmarks(lines: &[DocumentLine<SharedPassage>]) -> ReportTable {
    let row = |line: &DocumentLine<SharedPassage>| {
        let SharedPassage { benchmark, passage, letters } = &line.what;
        vec![letters.to_string(), named(&line.page_id, &line.url), benchmark.clone(), passage.clone()]
    };
    ReportTable {
        title: "Documents with a passage of a benchmark",
        note: "the first ones; --drop writes all".into(),
        head: &["letters", "Document", "Benchmark", "Passage"],
        rows: lines.iter().map(row).collect(),
    }
}

/// Returns the table of languages.
fn languages(counts: &BTreeMap<&'static str, Language>) -> ReportTable {
    let row = |(code, Language { used, skipped }): (&&str, &Language)| {
        vec![(*code).to_owned(), used.to_string(), skipped.to_string()]
    };
    ReportTable {
        title: "Languages",
        note: "documents that --language skips are in no output".into(),
        head: &["Language", "documents", "skipped"],
        rows: counts.iter().map(row).collect(),
    }
}

/// Returns the tables about sources.
fn by_source(accounts: &AccountsReport) -> Vec<ReportTable> {
    let name = |source: &Option<String>| source.clone().unwrap_or_default();
    let sources = accounts.sources.iter().map(|line| {
        let totals = &line.totals;
        let share = 100.0 * totals.dropped as f64 / totals.documents.max(1) as f64;
        let counts = [totals.documents, totals.bytes, totals.kept, totals.kept_bytes, totals.dropped];
        let counts = counts.into_iter().map(|count| count.to_string());
        [name(&line.source)].into_iter().chain(counts).chain([format!("{share:.1} %")]).collect()
    });
    let overlaps = accounts.overlaps.iter();
    let overlaps = overlaps
        .map(|overlap| vec![name(&overlap.source), name(&overlap.with), overlap.documents.to_string()])
        .collect::<Vec<_>>();
    let mut tables = vec![ReportTable {
        title: "Sources with the most documents",
        note: "documents without a value of the field have no name here".into(),
        head: &["Source", "documents", "bytes", "kept", "kept bytes", "dropped", "share"],
        rows: sources.collect(),
    }];
    if !overlaps.is_empty() {
        tables.push(ReportTable {
            title: "Overlap between sources",
            note: "documents of a source that have a copy in the other one".into(),
            head: &["Source", "Other source", "documents"],
            rows: overlaps,
        });
    }
    tables
}

fn clusters(title: &'static str, note: impl Into<Cow<'static, str>>, lines: &[ClusterLine]) -> ReportTable {
    let row = |line: &ClusterLine| {
        let hosts = if line.one_host { "one" } else { "several" };
        vec![
            line.size.to_string(),
            line.near.to_string(),
            hosts.to_owned(),
            named(&line.canonical_page_id, &line.canonical_url),
            named(&line.example_page_id, &line.example_url),
        ]
    };
    let head = &["pages", "near", "Hosts", "First page", "Last page"];
    ReportTable { title, note: note.into(), head, rows: lines.iter().map(row).collect() }
}

/// Names a document by the id that the user gave it, and its url.
fn named(page_id: &str, url: &str) -> String {
    match page_id == Page::id_for_url(url) {
        true => url.to_owned(),
        false if Page::is_made_up_url(url) => page_id.to_owned(),
        false => format!("{page_id} {url}"),
    }
}

fn is_words(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a report whose only cluster begins with this page.
    fn report(first_page: &str) -> Report {
        let cluster = ClusterLine {
            cluster_id: "1".to_owned(),
            size: 12,
            near: 3,
            one_host: true,
            canonical_page_id: Page::id_for_url(first_page),
            canonical_url: first_page.to_owned(),
            example_page_id: Page::id_for_url("http://b.example/"),
            example_url: "http://b.example/".to_owned(),
        };
        Report {
            documents: 12,
            kinds: Vec::new(),
            copied: None,
            clusters: 1,
            sizes: Vec::new(),
            largest: vec![cluster],
            suspicious: Vec::new(),
            hosts: Vec::new(),
            host_count: 0,
            verified: None,
            benchmarks: None,
            accounts: None,
            languages: None,
        }
    }

    #[test]
    fn names_cannot_control_a_terminal_or_reorder_a_line() {
        let report = report("http://a.example/\u{1b}[2J\u{202e}lmth");
        for shown in [report.text(), report.html()] {
            assert!(!shown.chars().any(|c| terminal::is_control(c) && c != '\n'), "{shown}");
            assert!(shown.contains(r"http://a.example/\u{1b}[2J\u{202e}lmth"), "{shown}");
        }
    }

    #[test]
    fn urls_with_markup_are_text_in_html() {
        let html = report("http://a.example/<script>alert('&')</script>").html();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("http://a.example/&lt;script&gt;"), "{html}");
    }

    #[test]
    fn columns_after_chinese_text_are_aligned() {
        let text = report("http://新闻.example/渡船").text();
        let column = |needle: &str| {
            let line = text.lines().find(|line| line.contains(needle)).expect("a line with it");
            line[..line.find(needle).unwrap_or_default()].width()
        };
        assert_eq!(column("Last page"), column("http://b.example/"), "{text}");
    }
}

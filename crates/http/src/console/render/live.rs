//! Renders the current state of a worker: health, throughput, lag, tables, and the origins of its pages.

use std::fmt::Write;

use maud::{Markup, html};

use super::comparison::percent;
use super::language::Language;
use super::layout::{quoted, shown};
use crate::state::live::{Count, Live, MOMENT_S, Named};
use leitong_pipeline::templates::{Alarm, command};

/// Width and height of the chart, in its own units.
const CHART: (f64, f64) = (720.0, 120.0);

/// Renders the whole state. The script refreshes everything inside `#live`.
pub(crate) fn body(live: &Live, language: Language) -> Markup {
    html! {
        div #live {
            (state(live, language))
            (figures(live, language))
            (throughput(live, language))
            div.columns {
                (lag(live, language))
                (kinds(live, language))
            }
            (tables(live, language))
            div.columns {
                (dead_letters(live, language))
                (undecidable(live, language))
            }
            div.columns {
                (named("corpora", language.say("Duplicates by corpus", "各语料库的重复率"), &live.corpora, language))
                (named("hosts", language.say("Duplicates by host", "各站点的重复率"), &live.hosts, language))
            }
            (clusters(live, language))
            (templates(live, language))
            p.note {
                (language.say(
                    "Counted since this instance started. Small corpora, hosts and clusters may be missing \
                     or counted too low.",
                    "自本实例启动起计数。语料库、站点与簇只保留最大的一部分，较小者可能缺失或偏低。",
                ))
            }
        }
    }
}

fn state(live: &Live, language: Language) -> Markup {
    let (words, class) = match live {
        Live { dead, .. } if !dead.is_empty() => (language.say("Not alive", "无响应"), "bad"),
        Live { not_ready, .. } if !not_ready.is_empty() => (language.say("Not ready", "未就绪"), "fair"),
        _ => (language.say("Working", "运行正常"), "good"),
    };
    let reasons = live.dead.iter().chain(&live.not_ready);
    let owned: Vec<String> = live.owned.iter().map(|(stage, count)| format!("{stage} {count}")).collect();
    let (up, owned) = (duration(live.up_seconds), owned.join(", "));
    html! {
        section.verdict.(class) aria-labelledby="state" {
            h1 #state { (words) }
            @for reason in reasons { p.lead { (quoted(reason)) } }
            @if live.paused {
                p { (language.say("Reading of the page topic is paused because the queue is full.", "队列已满，页面主题暂停读取。")) }
            }
            p.note {
                (language.say(format!("Up for {up}"), format!("已运行 {up}")))
                @if !owned.is_empty() {
                    (language.say(format!("; partitions owned: {owned}"), format!("；拥有分区：{owned}")))
                }
            }
        }
    }
}

fn figures(live: &Live, language: Language) -> Markup {
    let verdicts: u64 = live.verdicts.iter().map(|(_, count)| count).sum();
    let duplicates = live.verdicts_of_kind("EXACT_DUPLICATE") + live.verdicts_of_kind("NEAR_DUPLICATE");
    let dead_letters: u64 = live.dead_letters.iter().map(|(_, count)| count).sum();
    let delay = live.delay_seconds.map_or("–".to_owned(), |seconds| format!("{seconds:.2}\u{a0}s"));
    let figures = [
        (language.say("pages per second", "页/秒"), rate(live.pages_per_second)),
        (language.say("verdicts per second", "判定/秒"), rate(live.verdicts_per_second)),
        (language.say("duplicates", "重复率"), share(duplicates, verdicts)),
        (language.say("waiting records", "待处理记录"), grouped(live.lag_records())),
        (language.say("mean delay", "平均延迟"), delay),
        (language.say("dead letters", "死信"), grouped(dead_letters)),
    ];
    html! {
        dl.figures {
            @for (what, figure) in figures {
                div { dt { (what) } dd { (figure) } }
            }
        }
    }
}

fn throughput(live: &Live, language: Language) -> Markup {
    let top = live.verdicts_series.iter().copied().fold(0.0, f64::max);
    let minutes = live.verdicts_series.len() * MOMENT_S as usize / 60;
    let says = language.say(
        format!("Verdicts per second over the last {minutes} minutes, at most {}.", rate(top)),
        format!("最近 {minutes} 分钟的每秒判定数，最高 {}。", rate(top)),
    );
    html! {
        section aria-labelledby="throughput" {
            h2 #throughput { (language.say("Throughput", "吞吐量")) }
            figure.panel {
                @if live.verdicts_series.len() > 1 {
                    svg.chart viewBox={ "0 0 " (CHART.0) " " (CHART.1) } preserveAspectRatio="none" role="img" aria-label=(says) {
                        path.area d=(path(&live.verdicts_series, top, true)) {}
                        path.curve d=(path(&live.verdicts_series, top, false)) {}
                    }
                }
                figcaption.note { (says) }
            }
        }
    }
}

/// Returns the path of a curve. With `closed`, it encloses the area below.
fn path(series: &[f64], top: f64, closed: bool) -> String {
    let (width, height) = CHART;
    let step = width / (series.len().max(2) - 1) as f64;
    let mut path = String::new();
    for (at, value) in series.iter().enumerate() {
        let y = height - value / top.max(1e-9) * (height - 6.0) - 2.0;
        let _ = write!(path, "{}{:.1} {y:.1} ", if at == 0 { 'M' } else { 'L' }, at as f64 * step);
    }
    if closed {
        let _ = write!(path, "L{width} {height} L0 {height} Z");
    }
    path
}

/// Renders a table, which scrolls sideways if it is too wide.
fn table(id: &str, title: &str, head: &[&str], rows: &[Vec<Markup>], none: &str) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 #(id) { (title) }
            @if rows.is_empty() { p.panel.note { (none) } } @else {
                div.scroll tabindex="0" role="region" aria-labelledby=(id) #{ (id) "-rows" } {
                    table {
                        thead {
                            tr {
                                @for (at, what) in head.iter().enumerate() {
                                    th.number[at > 0] scope="col" { (what) }
                                }
                            }
                        }
                        tbody {
                            @for row in rows {
                                tr {
                                    @for (at, cell) in row.iter().enumerate() {
                                        @if at == 0 { th scope="row" { (cell) } } @else { td.number { (cell) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn lag(live: &Live, language: Language) -> Markup {
    let row = |lag: &crate::state::live::Lag| {
        let name = html! { (quoted(&lag.topic)) " " (shown(&lag.partition)) };
        vec![name, html! { (grouped(lag.records)) }]
    };
    let rows: Vec<_> = live.lag.iter().map(row).collect();
    table(
        "lag",
        language.say("Lag by partition", "各分区的积压"),
        &[language.say("topic and partition", "主题与分区"), language.say("records", "记录数")],
        &rows,
        language.say("This instance reads no partition.", "本实例未读取任何分区。"),
    )
}

fn kinds(live: &Live, language: Language) -> Markup {
    let all: u64 = live.verdicts.iter().map(|(_, count)| count).sum();
    let row = |(kind, count): &Count| {
        vec![html! { (shown(kind)) }, html! { (grouped(*count)) }, html! { (share(*count, all)) }]
    };
    let rows: Vec<_> = live.verdicts.iter().map(row).collect();
    table(
        "kinds",
        language.say("Verdicts by kind", "判定（按类别）"),
        &[language.say("kind", "类别"), language.say("verdicts", "判定数"), language.say("share", "占比")],
        &rows,
        language.say("No verdicts so far.", "尚无判定。"),
    )
}

fn tables(live: &Live, language: Language) -> Markup {
    let count = |count: Option<u64>| html! { (count.map_or("–".to_owned(), grouped)) };
    let time = |seconds: Option<f64>| html! { (seconds.map_or("–".to_owned(), duration)) };
    let row = |table: &crate::state::live::Table| {
        let state = match table {
            table if table.halted => html! { span.chip.bad { (language.say("halted", "已停止")) } },
            table if table.standby_centroids.is_some_and(|count| count > 0) => {
                html! { span.chip { (language.say("standby", "热备")) } }
            }
            table if table.centroids.is_some() => {
                html! { span.chip.good { (language.say("serving", "服务中")) } }
            }
            _ => html! { span.chip { (language.say("restoring", "恢复中")) } },
        };
        vec![
            html! { (shown(&table.partition)) },
            state,
            count(table.centroids),
            count(table.standby_centroids),
            count(table.restored_centroids),
            time(table.restore_seconds),
            time(table.snapshot_age_seconds),
        ]
    };
    let rows: Vec<_> = live.tables.iter().map(row).collect();
    let head = [
        language.say("log partition", "日志分区"),
        language.say("state", "状态"),
        language.say("centroids", "质心"),
        language.say("standby centroids", "热备质心"),
        language.say("restored", "已恢复"),
        language.say("restore time", "恢复用时"),
        language.say("snapshot age", "快照时龄"),
    ];
    let none = language.say("This instance holds no table.", "本实例没有质心表。");
    table("tables", language.say("Tables: restore and standby", "质心表：恢复与热备"), &head, &rows, none)
}

fn dead_letters(live: &Live, language: Language) -> Markup {
    table(
        "dead-letters",
        language.say("Dead letters by cause", "死信（按原因）"),
        &[language.say("cause", "原因"), language.say("records", "记录数")],
        &rows(&live.dead_letters),
        language.say("None so far.", "尚无。"),
    )
}

fn undecidable(live: &Live, language: Language) -> Markup {
    table(
        "undecidable",
        language.say("Undecidable pages by reason", "无法判定的页面（按原因）"),
        &[language.say("reason", "原因"), language.say("pages", "页面")],
        &rows(&live.undecidable),
        language.say("None so far.", "尚无。"),
    )
}

fn rows(counts: &[Count]) -> Vec<Vec<Markup>> {
    let row = |(name, count): &Count| vec![html! { (shown(name)) }, html! { (grouped(*count)) }];
    counts.iter().map(row).collect()
}

fn named(id: &str, title: &str, names: &[Named], language: Language) -> Markup {
    let row = |named: &Named| {
        vec![
            quoted(&named.name),
            html! { (grouped(named.verdicts)) },
            html! { (share(named.duplicates, named.verdicts)) },
        ]
    };
    let rows: Vec<_> = names.iter().map(row).collect();
    let head =
        [language.say("name", "名称"), language.say("pages", "页面"), language.say("duplicates", "重复率")];
    table(id, title, &head, &rows, language.say("No verdicts so far.", "尚无判定。"))
}

fn clusters(live: &Live, language: Language) -> Markup {
    let row = |named: &Named| {
        let name = html! { (quoted(&named.note)) " " code.note { (shown(&named.name)) } };
        vec![name, html! { (grouped(named.duplicates)) }]
    };
    let rows: Vec<_> = live.clusters.iter().map(row).collect();
    table(
        "clusters",
        language.say("Largest clusters", "最大的簇"),
        &[language.say("canonical page", "代表页面"), language.say("duplicates", "重复页数")],
        &rows,
        language.say("No duplicates so far.", "尚无重复页面。"),
    )
}

/// Renders the template alarms; nothing if there are none.
fn templates(live: &Live, language: Language) -> Markup {
    let row = |alarm: &Alarm| match alarm {
        Alarm::Cluster { site, pages, canonical_url, url, .. } => {
            let said = language.say(
                format!("{pages} pages of one cluster, all of this site and slightly different"),
                format!("同一簇中有 {pages} 个页面，全部来自本站，且彼此只差几处"),
            );
            let urls =
                html! { (quoted(canonical_url)) br; (quoted(url)) br; code { (quoted(&command(site))) } };
            vec![quoted(site), html! { (said) }, urls]
        }
        Alarm::Site { site, percent, percent_before, url, .. } => {
            let said = language.say(
                format!("{percent} % of its pages are duplicates, up from {percent_before} %"),
                format!("重复率由 {percent_before} % 升至 {percent} %"),
            );
            vec![
                quoted(site),
                html! { (said) },
                html! { (quoted(url)) br; code { (quoted(&command(site))) } },
            ]
        }
    };
    let rows: Vec<_> = live.templates.iter().rev().map(row).collect();
    html! {
        @if !rows.is_empty() {
            (table(
                "templates",
                language.say("Possible templates", "疑似模板"),
                &[language.say("site", "站点"), language.say("reason", "原因"), language.say("example", "示例")],
                &rows,
                "",
            ))
            p.note {
                (language.say(
                    "Compare two of the pages: text that both have outside the article is boilerplate. The \
                     command lists such paragraphs. See docs/operations.md#leitongtemplate.",
                    "请比较其中两个页面：双方共有而不属于正文的段落就是样板文字。上列命令会列出该站页面共有的段落。处理办法见 \
                     docs/operations.md#leitongtemplate。",
                ))
            }
        }
    }
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { "–".to_owned() } else { percent(part as f64 / all as f64) }
}

fn rate(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { grouped(rate.round() as u64) }
}

/// Formats `1234567` as `1,234,567`.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a time as `3 d 4 h`, `4 h 5 min`, `5 min 6 s` or `6.5 s`.
fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds:.1}\u{a0}s"),
        (0, 0, minutes) => format!("{minutes}\u{a0}min {}\u{a0}s", whole % 60),
        (0, hours, minutes) => format!("{hours}\u{a0}h {minutes}\u{a0}min"),
        (days, hours, _) => format!("{days}\u{a0}d {hours}\u{a0}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.04, 9.94, 1234.6].map(rate), ["0.0", "9.9", "1,235"]);
        let times = [6.54, 306.0, 14_700.0, 273_600.0].map(duration);
        assert_eq!(times, ["6.5\u{a0}s", "5\u{a0}min 6\u{a0}s", "4\u{a0}h 5\u{a0}min", "3\u{a0}d 4\u{a0}h"]);
        assert_eq!((share(1, 3).as_str(), share(0, 0).as_str()), ("33.3\u{a0}%", "–"));
    }
}

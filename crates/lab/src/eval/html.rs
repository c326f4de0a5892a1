//! Formats the report as one HTML page with plots, without scripts or external resources.

use std::fmt::Write;

use super::interval::Estimate;
use super::report::{DetectorReport, Report, best_threshold, recommended};
use super::svg::{self, Axes, Line};
use crate::perturb::Family;
use leitong_base::markup::escape;

/// Colours that people with colour blindness can distinguish (Okabe & Ito). From the ninth line on, lines
/// also differ by their dashes.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#8c6d00"];

const STYLE: &str = "
:root { color-scheme: light; font: 15px/1.5 system-ui, 'Noto Sans', sans-serif; color: #1c2530; background: #f5f6f8; }
body { max-width: 1360px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 40px 0 6px; }
p { margin: 4px 0 12px; max-width: 900px; color: #45505d; }
.card { background: #fff; border: 1px solid #dfe3e8; border-radius: 8px; padding: 14px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; border-bottom: 1px solid #edf0f3; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; } th { color: #5a6675; font-weight: 600; white-space: normal; vertical-align: bottom; }
tr:last-child td { border-bottom: 0; } small { color: #7a8592; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(380px, 1fr)); gap: 14px; }
svg { width: 100%; height: auto; display: block; }
.title { font-size: 13px; font-weight: 600; fill: #1c2530; } .label { font-size: 11px; fill: #5a6675; }
.tick { font-size: 10.5px; fill: #7a8592; } .grid { stroke: #e8ebef; }
.related { fill: #0072b2; fill-opacity: .65; } .unrelated { fill: #d55e00; fill-opacity: .45; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 0 0 12px; font-size: 13px; }
.legend svg { width: 30px; height: 10px; display: inline-block; vertical-align: middle; margin-right: 6px; }
.swatch { display: inline-block; width: 12px; height: 12px; margin-right: 6px; vertical-align: -1px; }
";

impl Report {
    /// Formats the report as one HTML page with plots.
    #[must_use]
    pub(crate) fn html(&self) -> String {
        let mut out = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Leitong: evaluation</title><style>{STYLE}</style></head><body><h1>Evaluation of near-duplicate detectors</h1>\
         <p>{} pages of {}; seed {}. The figures and their meaning are those of <code>leitong-lab eval</code>.</p>",
            self.pages,
            escape(&self.inputs.join(", ")),
            self.seed
        );
        let _ =
            write!(out, "<h2>{}</h2><div class=\"card\"><ul>", escape(&recommended(&self.recommendation)));
        for why in &self.recommendation.why {
            let _ = write!(out, "<li>{}</li>", escape(why));
        }
        out.push_str("</ul></div>");
        stream(self, &mut out);
        cost(self, &mut out);
        recall(self, &mut out);
        false_matches(self, &mut out);
        thresholds(self, &mut out);
        histograms(self, &mut out);
        out.push_str("</body></html>\n");
        out
    }
}

fn line_style(number: usize) -> (&'static str, &'static str) {
    (COLOURS[number % COLOURS.len()], ["", "6 3", "2 3"][number / COLOURS.len() % 3])
}

fn legend(report: &Report) -> String {
    let item = |(number, detector): (usize, &DetectorReport)| {
        let (colour, dashes) = line_style(number);
        format!(
            "<span><svg viewBox=\"0 0 30 10\"><line x1=\"0\" x2=\"30\" y1=\"5\" y2=\"5\" stroke=\"{colour}\" stroke-width=\"3\" \
             stroke-dasharray=\"{dashes}\"/></svg>{}</span>",
            escape(&detector.name)
        )
    };
    format!(
        "<div class=\"legend\">{}</div>",
        report.detectors.iter().enumerate().map(item).collect::<String>()
    )
}

fn table(out: &mut String, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    out.push_str("<div class=\"card\"><table><tr>");
    head.iter().for_each(|cell| _ = write!(out, "<th>{cell}</th>"));
    out.push_str("</tr>");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| _ = write!(out, "<td>{cell}</td>"));
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
}

fn estimate(estimate: &Estimate) -> String {
    format!("{:.4} <small>{:.3}–{:.3}</small>", estimate.value, estimate.low, estimate.high)
}

fn stream(report: &Report, out: &mut String) {
    if !report.labelled {
        return;
    }
    out.push_str(
        "<h2>The labelled stream</h2><p>Pages in their order through Single-Pass clustering. A duplicate verdict is right if its \
         centroid is in the page's own cluster. Small figures: 95 % intervals by bootstrap over clusters.</p>",
    );
    let rows = report.detectors.iter().filter_map(|detector| {
        let score = detector.stream.as_ref()?;
        let counts = [score.wrong, score.missed, score.undecidable].map(|count| count.to_string());
        let mut row = vec![escape(&detector.name)];
        row.extend([&score.precision, &score.recall, &score.f1].map(estimate));
        row.extend(counts);
        row.push(score.centroids.to_string());
        Some(row)
    });
    table(
        out,
        &["detector", "precision", "recall", "F1", "wrong", "missed", "undecidable", "centroids"],
        rows,
    );
}

fn cost(report: &Report, out: &mut String) {
    out.push_str(
        "<h2>Cost of a fingerprint</h2><p>One core, after segmentation, the shortest of three runs; mean bytes over pages that \
         have a fingerprint.</p>",
    );
    let rows = report.detectors.iter().map(|detector| {
        vec![
            escape(&detector.name),
            format!("{:.1}", detector.micros_per_6_kb),
            format!("{:.0}", detector.bytes),
            format!("{:.1} %", detector.judged * 100.0),
        ]
    });
    table(out, &["detector", "µs per 6 KB of text", "bytes", "pages with a fingerprint"], rows);
}

fn recall(report: &Report, out: &mut String) {
    let Some(first) = report.detectors.first().filter(|first| !first.recall.is_empty()) else { return };
    let _ = write!(
        out,
        "<h2>Recognised after a change</h2><p>Share of {} texts that a detector calls near to their changed version.</p>{}<div \
         class=\"charts\">",
        report.texts,
        legend(report)
    );
    let mut families: Vec<Family> = first.recall.iter().map(|recall| recall.condition.family).collect();
    families.dedup();
    let levels = |family: Family| first.recall.iter().filter(move |recall| recall.condition.family == family);
    let (curves, single): (Vec<Family>, Vec<Family>) =
        families.into_iter().partition(|family| levels(*family).count() > 2);
    for family in curves {
        let lines: Vec<Line> = report
            .detectors
            .iter()
            .enumerate()
            .map(|(number, detector)| {
                let of_family = detector.recall.iter().filter(|recall| recall.condition.family == family);
                let (colour, dashes) = line_style(number);
                let points = of_family.map(|recall| (recall.condition.level, recall.recall.value)).collect();
                Line { name: &detector.name, colour, dashes, points }
            })
            .collect();
        let x_max = levels(family).map(|recall| recall.condition.level).fold(0.0, f64::max);
        let axes =
            Axes { title: family.title(), x: "share of the text", y: "recognised", x_max, percent: true };
        let _ = write!(out, "<div class=\"card\">{}</div>", svg::lines(&axes, &lines));
    }
    out.push_str("</div><p></p>");
    let columns: Vec<usize> =
        (0..first.recall.len()).filter(|at| single.contains(&first.recall[*at].condition.family)).collect();
    let titles: Vec<String> = columns.iter().map(|at| first.recall[*at].condition.to_string()).collect();
    let head: Vec<&str> = std::iter::once("detector").chain(titles.iter().map(String::as_str)).collect();
    let rows = report.detectors.iter().map(|detector| {
        let cells = columns.iter().map(|at| format!("{:.1} %", detector.recall[*at].recall.value * 100.0));
        std::iter::once(escape(&detector.name)).chain(cells).collect()
    });
    table(out, &head, rows);
}

fn false_matches(report: &Report, out: &mut String) {
    out.push_str(
        "<h2>Unrelated pairs called near</h2><p>All pairs of pages of different origin. A new page is falsely called a duplicate \
         among <i>n</i> centroids with probability 1 − exp(−rate·<i>n</i>). Without an error, the rate is the bound of 95 % \
         confidence, 3 ÷ pairs; –: too few pairs to say. Pairs that share a passage of 20 letters are counted separately.</p>",
    );
    let rows = report.detectors.iter().map(|detector| {
        let found = &detector.false_matches;
        let bound = if found.is_bound { "&lt; " } else { "" };
        let mut row = vec![
            escape(&detector.name),
            format!("{:.2e}", found.pairs),
            found.wrong.to_string(),
            found.sharing_a_passage.to_string(),
            format!("{bound}{:.1e}", found.per_pair),
        ];
        row.extend(found.at_millions().map(|share| escape(&share)));
        row
    });
    table(
        out,
        &["detector", "pairs", "wrong", "sharing a passage", "per pair", "1 M centroids", "10 M", "100 M"],
        rows,
    );
    let lines: Vec<Line> = report
        .detectors
        .iter()
        .enumerate()
        .map(|(number, detector)| {
            let (colour, dashes) = line_style(number);
            let rate = detector.false_matches.per_pair;
            let points = (0..=40).map(|step| f64::from(step) / 40.0 * 8.0);
            let points = points.map(|power| (power, 1.0 - (-rate * 10_f64.powf(power)).exp())).collect();
            Line { name: &detector.name, colour, dashes, points }
        })
        .collect();
    let axes = Axes {
        title: "false duplicates by size of the table",
        x: "centroids, as a power of ten",
        y: "share of new pages (or its bound)",
        x_max: 8.0,
        percent: false,
    };
    let _ = write!(
        out,
        "<p></p>{}<div class=\"charts\"><div class=\"card\">{}</div></div>",
        legend(report),
        svg::lines(&axes, &lines)
    );
}

fn thresholds(report: &Report, out: &mut String) {
    let _ = write!(
        out,
        "<h2>Precision and recall by distance</h2><p>Precision and recall if only the distance decided, for as many unrelated as related pairs. Related \
         pairs: {}.</p><div class=\"legend\"><span><i class=\"swatch related\" style=\"background:#0072b2\"></i>precision</span>\
         <span><i class=\"swatch\" style=\"background:#d55e00\"></i>recall</span></div><div class=\"charts\">",
        escape(&report.related_pairs)
    );
    for detector in &report.detectors {
        let curve = |pick: fn(&super::pairs::Threshold) -> f64| {
            detector
                .distances
                .thresholds
                .iter()
                .map(|threshold| (threshold.distance, pick(threshold)))
                .collect()
        };
        let lines = [
            Line {
                name: "precision",
                colour: "#0072b2",
                dashes: "",
                points: curve(|threshold| threshold.precision),
            },
            Line {
                name: "recall",
                colour: "#d55e00",
                dashes: "5 3",
                points: curve(|threshold| threshold.recall),
            },
        ];
        let x_max = detector.distances.thresholds.last().map_or(1.0, |threshold| threshold.distance);
        let best = best_threshold(&detector.distances);
        let x = format!("distance; best F1 up to {:.3}", best.distance);
        let axes = Axes { title: &detector.name, x: &x, y: "share", x_max, percent: false };
        let _ = write!(out, "<div class=\"card\">{}</div>", svg::lines(&axes, &lines));
    }
    out.push_str("</div>");
}

fn histograms(report: &Report, out: &mut String) {
    out.push_str(
        "<h2>Distances of related and unrelated pairs</h2><p>Each colour is scaled to its own highest bar.</p><div \
         class=\"legend\"><span><i class=\"swatch\" style=\"background:#0072b2\"></i>related</span><span><i class=\"swatch\" \
         style=\"background:#d55e00\"></i>unrelated</span></div><div class=\"charts\">",
    );
    for detector in &report.detectors {
        let x_max = detector.distances.thresholds.last().map_or(1.0, |threshold| threshold.distance);
        let axes = Axes {
            title: &detector.name,
            x: "distance",
            y: "share of the highest bar",
            x_max,
            percent: false,
        };
        let _ =
            write!(out, "<div class=\"card\">{}</div>", svg::histogram(&axes, &detector.distances.histogram));
    }
    out.push_str("</div>");
}

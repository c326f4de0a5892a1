//! Draws charts as SVG text, without scripts or external resources.

use std::fmt::Write;

use leitong_base::markup::escape;

/// A line of a chart.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) colour: &'a str,
    /// Dash pattern, which distinguishes lines without colours.
    pub(super) dashes: &'a str,
    pub(super) points: Vec<(f64, f64)>,
}

/// Titles and range of a chart's axes.
pub(super) struct Axes<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Largest value of x.
    pub(super) x_max: f64,
    /// True to label the x axis in percent.
    pub(super) percent: bool,
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 28.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 20.0;
const PLOT_HEIGHT: f64 = HEIGHT - TOP - 42.0;

/// Draws a chart of lines. y ranges from 0 to 1.
pub(super) fn lines(axes: &Axes, lines: &[Line]) -> String {
    let mut svg = frame(axes);
    // The first line is drawn last, on top.
    for line in lines.iter().rev() {
        let at = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", x_at(*x, axes), y_at(*y));
        let points: Vec<String> = line.points.iter().map(at).collect();
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-dasharray=\"{}\" points=\"{}\"><title>{}</title></polyline>",
            line.colour,
            line.dashes,
            points.join(" "),
            escape(line.name)
        );
        if line.points.len() < 12 {
            for (x, y) in &line.points {
                let _ = write!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{}\"><title>{}: {:.3}</title></circle>",
                    x_at(*x, axes),
                    y_at(*y),
                    line.colour,
                    escape(line.name),
                    y
                );
            }
        }
    }
    svg + "</svg>"
}

/// Draws two histograms over each other. Heights are relative to the highest bar of each.
pub(super) fn histogram(axes: &Axes, bars: &[(f64, f64, f64)]) -> String {
    let mut svg = frame(axes);
    let width = PLOT_WIDTH / bars.len().max(1) as f64;
    let largest = |pick: fn(&(f64, f64, f64)) -> f64| bars.iter().map(pick).fold(1e-9, f64::max);
    let (related_max, unrelated_max) = (largest(|bar| bar.1), largest(|bar| bar.2));
    for (from, related, unrelated) in bars {
        let x = x_at(*from, axes);
        for (class, share, height) in
            [("unrelated", unrelated, unrelated / unrelated_max), ("related", related, related / related_max)]
        {
            let y = y_at(height);
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{class} from {from:.3}: {:.2} %</title></rect>",
                (width - 0.6).max(0.5),
                TOP + PLOT_HEIGHT - y,
                share * 100.0
            );
        }
    }
    svg + "</svg>"
}

fn frame(axes: &Axes) -> String {
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text class=\"title\" x=\"{LEFT}\" y=\"16\">{0}</text>",
        escape(axes.title)
    );
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let y = y_at(share);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{share}</text>",
            LEFT + PLOT_WIDTH,
            LEFT - 6.0,
            y + 4.0
        );
        let x = axes.x_max * share;
        let label = match (axes.percent, axes.x_max >= 8.0) {
            (true, _) => format!("{:.0} %", x * 100.0),
            (false, true) => format!("{x:.0}"),
            _ => format!("{x:.2}"),
        };
        let _ = write!(
            svg,
            "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            x_at(x, axes),
            TOP + PLOT_HEIGHT + 16.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"label\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text><text class=\"label\" text-anchor=\"middle\" transform=\"translate(12 {:.1}) rotate(-90)\">{}</text>",
        LEFT + PLOT_WIDTH / 2.0,
        HEIGHT - 8.0,
        escape(axes.x),
        TOP + PLOT_HEIGHT / 2.0,
        escape(axes.y)
    );
    svg
}

fn x_at(x: f64, axes: &Axes) -> f64 {
    LEFT + PLOT_WIDTH * x / axes.x_max.max(1e-9)
}

fn y_at(share: f64) -> f64 {
    TOP + PLOT_HEIGHT * (1.0 - share.clamp(0.0, 1.0))
}

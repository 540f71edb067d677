//! Plots as inline SVG that CSS colours.

use std::{fmt::Display, mem::take};

use askama::filters::{Html, Safe, escape};

use knowledgepulse_calibrate::calibration::{BandPoint, Interval};

use crate::text::score;

/// The size of a plot, and the edges within which values are drawn.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 244.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = HEIGHT - 40.0;

/// SVG, which templates insert unchanged. Its text has been escaped.
pub(crate) type Markup = Safe<String>;

/// An axis.
pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The places of the ticks, and their labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl<'a> Axis<'a> {
    /// Returns an axis from 0 to 1 with ticks at quarters.
    pub(crate) fn unit(label: &'a str) -> Self {
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, at.to_string()));
        Self { label, from: 0.0, to: 1.0, ticks: ticks.into() }
    }

    /// Returns an axis from 0 to `to` with ticks at 0, the middle and the end, in per cent.
    pub(crate) fn share(label: &'a str, to: f64) -> Self {
        let decimals = if to < 0.1 { 1 } else { 0 };
        let ticks = [0.0, to / 2.0, to].map(|at| (at, format!("{:.decimals$} %", at * 100.0)));
        Self { label, from: 0.0, to, ticks: ticks.into() }
    }

    /// Returns an axis of whole numbers with ticks at both ends and in the middle.
    pub(crate) fn numbers(label: &'a str, from: f64, to: f64) -> Self {
        let mut ticks: Vec<_> =
            [from, (to / 2.0).round(), to].map(|at| (at, format!("{at:.0}"))).into();
        ticks.dedup();
        Self { label, from, to, ticks }
    }

    /// Returns the place of a value, in \[0, 1\] of the axis.
    fn place(&self, value: f64) -> f64 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// A plot under construction.
pub(crate) struct Plot<'a> {
    x: Axis<'a>,
    y: Axis<'a>,
    svg: String,
}

impl<'a> Plot<'a> {
    /// Begins a plot. Screen readers read `name` and `description`.
    pub(crate) fn new(name: &str, description: &str, mut x: Axis<'a>, mut y: Axis<'a>) -> Self {
        let (x_ticks, y_ticks) = (take(&mut x.ticks), take(&mut y.ticks));
        let svg = format!(
            r#"<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}. {}">"#,
            escaped(name),
            escaped(description)
        );
        let mut plot = Self { x, y, svg };
        for (at, name) in y_ticks {
            let y = plot.y(at);
            plot.path("grid", format_args!("M{LEFT} {y:.1}H{RIGHT}"));
            plot.text("end", LEFT - 6.0, y + 3.5, &name);
        }
        for (at, name) in x_ticks {
            let x = plot.x(at);
            plot.path("axis", format_args!("M{x:.1} {BOTTOM}v4"));
            plot.text("middle", x, BOTTOM + 16.0, &name);
        }
        plot.path("axis", format_args!("M{LEFT} {BOTTOM}H{RIGHT}"));
        plot.text("middle label", f64::midpoint(LEFT, RIGHT), HEIGHT - 6.0, plot.x.label);
        let label = escaped(plot.y.label);
        plot.svg += &format!(r#"<text class="label" x="2" y="10">{label}</text>"#);
        plot
    }

    fn path(&mut self, class: &str, path: impl Display) {
        self.svg += &format!(r#"<path class="{class}" d="{path}"/>"#);
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.svg += &format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#);
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }

    /// Draws a bar from 0 to `height`, with a tooltip.
    pub(crate) fn bar(&mut self, from: f64, to: f64, height: f64, title: &str) {
        let (x, y) = (self.x(from) + 0.5, self.y(height));
        let (width, height) = (self.x(to) - self.x(from) - 1.0, self.y(0.0) - y);
        if height > 0.0 {
            let title = escaped(title);
            self.svg += &format!(
                r#"<rect class="bar" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{title}</title></rect>"#
            );
        }
    }

    /// Shades a range of the horizontal axis.
    pub(crate) fn shade(&mut self, from: f64, to: f64) {
        let (from, to) = (self.x(from), self.x(to));
        self.path("shade", format_args!("M{from:.1} {TOP}H{to:.1}V{BOTTOM:.1}H{from:.1}z"));
    }

    fn through(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (x, y) in points {
            let command = if path.is_empty() { 'M' } else { 'L' };
            path += &format!("{command}{:.1} {:.1}", self.x(x), self.y(y));
        }
        path
    }

    /// Draws a line through points.
    pub(crate) fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let path = self.through(points);
        self.path(class, path);
    }

    /// Fills the area between the ends of intervals.
    pub(crate) fn band(&mut self, points: &[BandPoint]) {
        let low = points.iter().map(|point| (point.at, point.low));
        let high = points.iter().rev().map(|point| (point.at, point.high));
        let path = self.through(low.chain(high));
        self.path("band", format_args!("{path}z"));
    }

    /// Draws a vertical line at the threshold, if there is one, and its value above it.
    pub(crate) fn vertical_threshold(&mut self, threshold: Option<f64>) {
        let Some(at) = threshold else { return };
        let x = self.x(at);
        for class in ["casing", "threshold"] {
            self.path(class, format_args!("M{x:.1} {TOP}V{BOTTOM}"));
        }
        // The text stays within the plot.
        let text = x.clamp(LEFT + 42.0, RIGHT - 42.0);
        self.text("mark middle", text, TOP - 5.0, &format!("threshold {}", score(at)));
    }

    /// Draws a horizontal line, with its name above its right end.
    pub(crate) fn horizontal(&mut self, class: &str, at: f64, name: &str) {
        let (y, name) = (self.y(at), escaped(name));
        let kind = if class == "threshold" { "mark end" } else { "end" };
        self.path(class, format_args!("M{LEFT} {y:.1}H{RIGHT}"));
        let above = y - 4.0;
        self.svg += &format!(r#"<text class="{kind}" x="{RIGHT}" y="{above:.1}">{name}</text>"#);
    }

    /// Draws a point with its name below it, on the side with more room.
    pub(crate) fn point(&mut self, class: &str, (at, value): (f64, f64), name: &str) {
        let (x, y) = (self.x(at), self.y(value));
        self.svg += &format!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4.5"/>"#);
        let (class, text) =
            if at > 0.5 { ("end strong", x - 8.0) } else { ("start strong", x + 8.0) };
        self.text(class, text, y + 16.0, name);
    }

    /// Draws a value with its interval and a tooltip.
    pub(crate) fn interval(&mut self, at: f64, value: f64, interval: Interval, title: &str) {
        let (x, y) = (self.x(at), self.y(value));
        let (low, high) = (self.y(interval.low), self.y(interval.high));
        let (left, title) = (x - 4.0, escaped(title));
        self.svg += &format!(
            r#"<g><title>{title}</title><path class="whisker" d="M{x:.1} {low:.1}V{high:.1}m-4 0h8M{left:.1} {low:.1}h8"/><circle class="dot" cx="{x:.1}" cy="{y:.1}" r="4"/></g>"#
        );
    }

    /// Returns the complete plot.
    pub(crate) fn finish(mut self) -> Markup {
        self.svg.push_str("</svg>");
        Safe(self.svg)
    }
}

/// Returns a histogram of the size of a word, for a table cell, with a tick at the threshold.
pub(crate) fn spark(name: &str, bins: &[usize], threshold: Option<f64>) -> Markup {
    let most = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = 100.0 / bins.len().max(1) as f64;
    let mut path = String::new();
    for (index, n) in bins.iter().enumerate().filter(|(_, n)| **n > 0) {
        let height = (*n as f64 / most * 30.0).max(1.0);
        let (x, width) = (index as f64 * step, step - 0.8);
        path += &format!("M{x:.1} 32v-{height:.1}h{width:.1}v{height:.1}z");
    }
    let tick = threshold.map_or_else(String::new, |at| {
        format!(r#"<path class="threshold" d="M{:.1} 0V34"/>"#, at.clamp(0.0, 1.0) * 100.0)
    });
    let name = escaped(name);
    Safe(format!(
        r#"<svg class="spark" viewBox="-1 0 102 36" role="img" aria-label="{name}"><path class="bar" d="{path}"/>{tick}<path class="axis" d="M0 32.5H100"/></svg>"#
    ))
}

fn escaped(text: &str) -> impl Display {
    let Ok(escaped) = escape(text, Html);
    escaped
}

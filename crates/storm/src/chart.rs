//! A line chart as SVG: a few panels side by side, categories on the x axis, zero at the bottom.

use std::fmt::Write as _;

/// The size of one panel's plot and the room around it, in pixels.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
const LEGEND: f64 = 26.0;
/// Colours that stay apart for the colour-blind (Okabe and Ito).
const COLOURS: [&str; 5] = ["#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7"];
/// Horizontal lines of the grid.
const GRID: u32 = 5;

/// One series of a panel.
#[derive(Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Category and value.
    pub values: Vec<(u32, f64)>,
}

/// The whole picture.
#[derive(Debug)]
pub struct Chart {
    /// Titles and lines; all panels have lines of the same names.
    pub panels: Vec<(String, Vec<Line>)>,
    /// What the categories are.
    pub x_label: String,
    /// What the values are.
    pub y_label: String,
}

impl Chart {
    /// Draws it.
    pub fn to_svg(&self) -> String {
        let panel_width = LEFT + WIDTH + 16.0;
        let (width, height) = (panel_width * self.panels.len() as f64, TOP + HEIGHT + BOTTOM + LEGEND);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (position, (title, lines)) in self.panels.iter().enumerate() {
            self.panel(&mut svg, position as f64 * panel_width + LEFT, title, lines);
        }
        let names = self.panels.first().map(|(_, lines)| lines.as_slice()).unwrap_or_default();
        for (position, (line, colour)) in names.iter().zip(COLOURS).enumerate() {
            let (x, y) = (LEFT + position as f64 * 220.0, height - 12.0);
            // Writing to a String cannot fail; so below.
            let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"4\" fill=\"{colour}\"/>", y - 6.0);
            text(&mut svg, x + 24.0, y, "start", &line.name);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn panel(&self, svg: &mut String, left: f64, title: &str, lines: &[Line]) {
        let mut categories: Vec<u32> = lines.iter().flat_map(|line| line.values.iter().map(|value| value.0)).collect();
        categories.sort_unstable();
        categories.dedup();
        let highest = lines.iter().flat_map(|line| line.values.iter().map(|value| value.1)).fold(0.0, f64::max);
        let top = round_up(highest);
        let x_of = |category: u32| {
            let position = categories.iter().position(|&other| other == category).unwrap_or(0);
            left + WIDTH * (position as f64 + 0.5) / categories.len().max(1) as f64
        };
        let y_of = |value: f64| TOP + HEIGHT * (1.0 - value / top);
        text(svg, left + WIDTH / 2.0, TOP - 16.0, "middle", title);
        text(svg, left + WIDTH / 2.0, TOP + HEIGHT + 38.0, "middle", &self.x_label);
        for step in 0..=GRID {
            let value = top * f64::from(step) / f64::from(GRID);
            let y = y_of(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>",
                left + WIDTH
            );
            text(svg, left - 6.0, y + 4.0, "end", &format!("{value}"));
        }
        let (x, y) = (left - 48.0, TOP + HEIGHT / 2.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(&self.y_label)
        );
        for &category in &categories {
            text(svg, x_of(category), TOP + HEIGHT + 18.0, "middle", &category.to_string());
        }
        for (line, colour) in lines.iter().zip(COLOURS) {
            let points: Vec<String> = line
                .values
                .iter()
                .map(|&(category, value)| format!("{:.1},{:.1}", x_of(category), y_of(value)))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
            for &(category, value) in &line.values {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {category}: {value:.1}</title></circle>",
                    x_of(category),
                    y_of(value),
                    escape(&line.name)
                );
            }
        }
    }
}

/// The next number of the form 1, 2, 2.5 or 5 times a power of ten: a scale whose fifths read well.
fn round_up(value: f64) -> f64 {
    let mut power = 1e-3;
    while power * 10.0 < value {
        power *= 10.0;
    }
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&candidate| candidate >= value)
        .unwrap_or(1.0)
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(content));
}

fn escape(content: &str) -> String {
    content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_read_well() {
        assert_eq!([0.0, 3.0, 26.0, 201.0, 900.0].map(round_up), [1e-3, 5.0, 50.0, 250.0, 1000.0]);
    }

    #[test]
    fn chart_draws_every_value_and_escapes_names() {
        let line = Line { name: "a < b".to_owned(), values: vec![(1, 10.0), (96, 20.0)] };
        let chart =
            Chart { panels: vec![("one".to_owned(), vec![line])], x_label: "x".to_owned(), y_label: "y".to_owned() };
        let svg = chart.to_svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}

//! A line chart as SVG or PNG: a few panels side by side, categories on the x axis; values from zero, or by powers of ten. It is readable in light and dark, on paper and
//! without colours: lines differ by dashes and by the shapes of their points.

use std::fmt::Write as _;

use resvg::{tiny_skia, usvg};
use squall_types::{Error, Result};

/// The size of one panel's plot and the room around it, in pixels.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 72.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
const LEGEND: f64 = 22.0;
/// About the width of a letter of the legend, and of what stands before and after a name.
const LETTER: f64 = 6.4;
const LEGEND_MARK: f64 = 32.0;
const LEGEND_GAP: f64 = 18.0;

/// Colours on one kind of paper: those of the lines stay apart for the colour-blind (after Okabe and Ito), in this order; further lines differ by their dashes.
struct Palette {
    ink: &'static str,
    grid: &'static str,
    paper: &'static str,
    lines: [&'static str; COLOURS],
}

const LIGHT: Palette = Palette {
    ink: "#222",
    grid: "#ddd",
    paper: "#fff",
    lines: ["#0072b2", "#b86e00", "#d55e00", "#007a5a", "#a8487f", "#555"],
};
const DARK: Palette = Palette {
    ink: "#ddd",
    grid: "#444",
    paper: "#16181c",
    lines: ["#56b4e9", "#f0b428", "#ff8a4c", "#3ecfa0", "#e59ac6", "#bbb"],
};

impl Palette {
    /// Rules that every program understands which draws SVG: no variables.
    fn rules(&self) -> String {
        let Palette { ink, grid, paper, lines } = self;
        let mut rules = format!(
            ".chart text{{fill:{ink}}}.chart .grid{{stroke:{grid}}}.chart .paper,.chart .flawed{{fill:{paper}}}\n"
        );
        for (number, line) in lines.iter().enumerate() {
            // Writing to a String cannot fail; so below.
            let _ = writeln!(
                rules,
                ".chart .c{number} .line,.chart .c{number} .point,.chart .c{number} .flawed{{stroke:{line}}}.chart .c{number} .point{{fill:{line}}}"
            );
        }
        rules
    }
}

/// Light, and dark where the reader wants that and it is no paper.
fn style() -> String {
    format!(
        "<style>\n.chart .line{{fill:none;stroke-width:2}}.chart .flawed{{stroke-width:2}}\n{}@media screen and (prefers-color-scheme:dark){{\n{}}}\n</style>",
        LIGHT.rules(),
        DARK.rules()
    )
}

const COLOURS: usize = 6;
/// Dashes of the lines of one colour.
const DASHES: [&str; 4] = ["none", "7 4", "2 3", "10 3 2 3"];
/// Horizontal lines of the grid.
const GRID: u32 = 5;

/// One value of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Where on the x axis.
    pub category: u32,
    /// How high.
    pub value: f64,
    /// The least and the most of several rounds: an error bar.
    pub range: Option<(f64, f64)>,
    /// What there is to say of it beside: errors. Such points are drawn hollow.
    pub flaw: Option<String>,
}

/// One series of a panel.
#[derive(Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Category and value.
    pub values: Vec<Value>,
}

impl Line {
    /// A line without flaws.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let value = |(category, value)| Value { category, value, range: None, flaw: None };
        Line { name: name.into(), values: values.into_iter().map(value).collect() }
    }
}

/// How values become heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// From zero at the bottom.
    #[default]
    Linear,
    /// Each power of ten as high as the next: for values that differ by orders of magnitude.
    Logarithmic,
}

/// The whole picture.
#[derive(Debug, Default)]
pub struct Chart {
    /// What it is, for those who do not see it.
    pub title: String,
    /// Titles and lines; all panels have lines of the same names.
    pub panels: Vec<(String, Vec<Line>)>,
    /// What the categories are.
    pub x_label: String,
    /// What the values are.
    pub y_label: String,
    /// How they become heights.
    pub scale: Scale,
}

impl Chart {
    /// Draws it.
    pub fn to_svg(&self) -> String {
        let panel_width = LEFT + WIDTH + 16.0;
        let width = panel_width * self.panels.len() as f64;
        let names = self.panels.first().map(|(_, lines)| lines.as_slice()).unwrap_or_default();
        let letters = names.iter().map(|line| line.name.chars().count()).max().unwrap_or(0) as f64;
        let entry = (LEGEND_MARK + letters * LETTER + LEGEND_GAP).min(width - LEGEND_GAP);
        let in_a_row = ((width - LEGEND_GAP) / entry).floor().max(1.0) as usize;
        let plot_height = TOP + HEIGHT + BOTTOM;
        let height = plot_height + LEGEND * names.len().div_ceil(in_a_row) as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n{}\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n",
            escape(&self.title),
            style()
        );
        for (position, (title, lines)) in self.panels.iter().enumerate() {
            self.panel(&mut svg, position as f64 * panel_width + LEFT, title, lines);
        }
        for (number, line) in names.iter().enumerate() {
            let x = LEGEND_GAP + (number % in_a_row) as f64 * entry;
            let y = plot_height + (number / in_a_row) as f64 * LEGEND + 8.0;
            let (colour, dash) = appearance(number);
            let _ = writeln!(
                svg,
                "<g class=\"c{colour}\"><path class=\"line\" stroke-dasharray=\"{dash}\" d=\"M{x} {} h26\"/></g>",
                y - 4.0
            );
            point(&mut svg, number, x + 13.0, y - 4.0, &line.name, false);
            text(&mut svg, x + LEGEND_MARK, y, "start", &cut(&line.name, entry - LEGEND_MARK));
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Draws it as PNG, on light paper, two pixels for one of the SVG. Its letters are those that come with Squall: servers have no fonts.
    ///
    /// # Errors
    /// A picture too large to be drawn.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let cannot = |what: &dyn std::fmt::Display| Error::logical(format!("{} cannot be drawn: {what}", self.title));
        let mut options = usvg::Options { font_family: "DejaVu Sans".to_owned(), ..usvg::Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        let tree = usvg::Tree::from_str(&self.to_svg(), &options).map_err(|error| cannot(&error))?;
        let size = tree.size().to_int_size();
        let mut pixels =
            tiny_skia::Pixmap::new(size.width() * 2, size.height() * 2).ok_or_else(|| cannot(&"no size"))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(2.0, 2.0), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| cannot(&error))
    }

    fn panel(&self, svg: &mut String, left: f64, title: &str, lines: &[Line]) {
        let values = || lines.iter().flat_map(|line| &line.values);
        let mut categories: Vec<u32> = values().map(|value| value.category).collect();
        categories.sort_unstable();
        categories.dedup();
        let axis = Axis::of(self.scale, values().flat_map(Value::extent));
        let x_of = |category: u32| {
            let position = categories.iter().position(|&other| other == category).unwrap_or(0);
            left + WIDTH * (position as f64 + 0.5) / categories.len().max(1) as f64
        };
        let y_of = |value: f64| TOP + HEIGHT * (1.0 - axis.height(value));
        text(svg, left + WIDTH / 2.0, TOP - 16.0, "middle", title);
        text(svg, left + WIDTH / 2.0, TOP + HEIGHT + 38.0, "middle", &self.x_label);
        for value in axis.grid() {
            let y = y_of(value);
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\"/>",
                left + WIDTH
            );
            text(svg, left - 6.0, y + 4.0, "end", &scale_text(value));
        }
        let (x, y) = (left - 58.0, TOP + HEIGHT / 2.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(&self.y_label)
        );
        // Where not all have room, every second one is named, or every third…
        let letters = categories.last().map_or(0, |category| category.to_string().len()) as f64;
        let room = WIDTH / categories.len().max(1) as f64;
        let step = ((letters + 1.0) * LETTER / room).ceil().max(1.0) as usize;
        for &category in categories.iter().step_by(step) {
            text(svg, x_of(category), TOP + HEIGHT + 18.0, "middle", &category.to_string());
        }
        for (number, line) in lines.iter().enumerate() {
            let (colour, dash) = appearance(number);
            let points: Vec<String> = line
                .values
                .iter()
                .map(|value| format!("{:.1},{:.1}", x_of(value.category), y_of(value.value)))
                .collect();
            let _ = writeln!(
                svg,
                "<g class=\"c{colour}\"><polyline class=\"line\" stroke-dasharray=\"{dash}\" points=\"{}\"/></g>",
                points.join(" ")
            );
            for value in &line.values {
                let mut label = format!("{}: {}: {}", line.name, value.category, scale_text(value.value));
                if let Some((least, most)) = value.range {
                    let _ = write!(label, " ({} to {})", scale_text(least), scale_text(most));
                    let (x, low, high) = (x_of(value.category), y_of(least), y_of(most));
                    let _ = writeln!(
                        svg,
                        "<g class=\"c{colour}\"><path class=\"line bar\" d=\"M{x:.1} {low:.1} V{high:.1} M{:.1} {low:.1} h8 M{:.1} {high:.1} h8\"/></g>",
                        x - 4.0,
                        x - 4.0
                    );
                }
                if let Some(flaw) = &value.flaw {
                    let _ = write!(label, ", {flaw}");
                }
                point(svg, number, x_of(value.category), y_of(value.value), &label, value.flaw.is_some());
            }
        }
    }
}

impl Value {
    /// What of the axis it needs.
    fn extent(&self) -> [f64; 3] {
        let (least, most) = self.range.unwrap_or((self.value, self.value));
        [least, self.value, most]
    }
}

/// The y axis of a panel.
struct Axis {
    scale: Scale,
    bottom: f64,
    top: f64,
}

impl Axis {
    fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        match scale {
            Scale::Linear => Self { scale, bottom: 0.0, top: round_up(values.fold(0.0, f64::max)) },
            Scale::Logarithmic => {
                // Zero has no logarithm, and nothing here is that short.
                let (least, most) = values
                    .filter(|value| *value > 0.0)
                    .fold((f64::MAX, 0.0), |(least, most), value| (value.min(least), value.max(most)));
                let (least, most) = if most > 0.0 { (least, most) } else { (1.0, 1.0) };
                let (bottom, top) = (least.log10().floor(), most.log10().ceil());
                Self { scale, bottom: 10_f64.powf(bottom), top: 10_f64.powf(top.max(bottom + 1.0)) }
            }
        }
    }

    /// Where between bottom, 0, and top, 1, a value is.
    fn height(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value / self.top,
            Scale::Logarithmic => (value.max(self.bottom) / self.bottom).log10() / (self.top / self.bottom).log10(),
        }
    }

    /// The values with a line of the grid.
    fn grid(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=GRID).map(|step| self.top * f64::from(step) / f64::from(GRID)).collect(),
            Scale::Logarithmic => {
                let decades = (self.top / self.bottom).log10().round() as i32;
                (0..=decades).map(|decade| self.bottom * 10_f64.powi(decade)).collect()
            }
        }
    }
}

/// The colour and the dashes of a line.
fn appearance(number: usize) -> (usize, &'static str) {
    (number % COLOURS, DASHES[number / COLOURS % DASHES.len()])
}

/// Draws a point in the shape of its line, with what it says.
fn point(svg: &mut String, number: usize, x: f64, y: f64, label: &str, is_flawed: bool) {
    let (colour, _) = appearance(number);
    let class = if is_flawed { "flawed" } else { "point" };
    let shape = match number % 4 {
        0 => format!("M{:.1} {y:.1} a3.5 3.5 0 1 0 7 0 a3.5 3.5 0 1 0 -7 0", x - 3.5),
        1 => format!("M{:.1} {:.1} h6 v6 h-6 z", x - 3.0, y - 3.0),
        2 => format!("M{x:.1} {:.1} l4 7 h-8 z", y - 4.0),
        _ => format!("M{x:.1} {:.1} l4 4 l-4 4 l-4 -4 z", y - 4.0),
    };
    let _ = writeln!(
        svg,
        "<g class=\"c{colour}\"><path class=\"{class}\" d=\"{shape}\"><title>{}</title></path></g>",
        escape(label)
    );
}

/// A number as it stands at an axis: no more digits than it needs.
fn scale_text(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 || large == 0.0 => 0,
        middle if middle >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
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

/// What of a name has room; the whole of it can be read at its points.
fn cut(name: &str, width: f64) -> String {
    let letters = (width / LETTER).floor().max(1.0) as usize;
    match name.char_indices().nth(letters.saturating_sub(1)) {
        Some((end, _)) if name.chars().count() > letters => format!("{}…", &name[..end]),
        _ => name.to_owned(),
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(content));
}

/// As text of HTML and SVG, also within an attribute.
pub fn escape(content: &str) -> String {
    content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_read_well() {
        assert_eq!([0.0, 3.0, 26.0, 201.0, 900.0].map(round_up), [1e-3, 5.0, 50.0, 250.0, 1000.0]);
        assert_eq!([0.0, 0.0002, 2.5, 40.0, 250_000.0].map(scale_text), ["0", "0.0002", "2.5", "40", "250000"]);
    }

    #[test]
    fn chart_draws_every_value_and_escapes_names() {
        let mut line = Line::new("a < b", [(1, 10.0), (96, 20.0)]);
        line.values[1].flaw = Some("3 errors".to_owned());
        let chart = Chart {
            title: "t".to_owned(),
            panels: vec![("one".to_owned(), vec![line])],
            x_label: "x".to_owned(),
            y_label: "y".to_owned(),
            scale: Scale::Linear,
        };
        let svg = chart.to_svg();
        // Two points, and one in the legend.
        assert_eq!(svg.matches("<title>").count(), 3);
        assert!(svg.contains("class=\"flawed\"") && svg.contains("a &lt; b: 96: 20, 3 errors"));
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn orders_of_magnitude_have_lines_of_the_grid() {
        let axis = Axis::of(Scale::Logarithmic, [0.4, 30.0, 700.0, 0.0].into_iter());
        let grid: Vec<f64> = axis.grid().iter().map(|value| (value * 10.0).round() / 10.0).collect();
        assert_eq!(grid, [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!([0.1, 10.0, 1000.0, 0.0].map(|value| (axis.height(value) * 100.0).round()), [0.0, 50.0, 100.0, 0.0]);
        assert_eq!(Axis::of(Scale::Logarithmic, std::iter::empty()).grid(), [1.0, 10.0]);
    }

    #[test]
    fn rounds_are_drawn_as_error_bars() {
        let mut line = Line::new("a", [(1, 10.0)]);
        line.values[0].range = Some((8.0, 25.0));
        let panels = vec![("one".to_owned(), vec![line])];
        let svg = Chart { panels, ..Chart::default() }.to_svg();
        assert!(svg.contains("class=\"line bar\"") && svg.contains("a: 1: 10 (8 to 25)"));
    }

    #[test]
    fn legends_cut_what_has_no_room() {
        assert_eq!(cut("short", 100.0), "short");
        assert_eq!(cut("éééééé", 4.0 * LETTER), "ééé…");
    }

    #[test]
    fn pictures_have_letters_and_colours() {
        let picture = |name: &str| {
            let lines = vec![Line::new(name, [(1, 10.0), (96, 20.0)])];
            let panels = vec![(name.to_owned(), lines)];
            Chart {
                title: "t".to_owned(),
                panels,
                x_label: "x".to_owned(),
                y_label: "y".to_owned(),
                scale: Scale::Linear,
            }
            .to_png()
            .unwrap()
        };
        let png = picture("Squall");
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(pixels.width(), 2 * 508);
        // The line's blue is there on white paper.
        let has =
            |red, green, blue| pixels.pixels().iter().any(|at| (at.red(), at.green(), at.blue()) == (red, green, blue));
        assert!(has(0, 0x72, 0xb2) && has(255, 255, 255) && !has(0x16, 0x18, 0x1c));
        // Letters are drawn: another name is another picture.
        assert!(png != picture("Sqnall"));
    }
}

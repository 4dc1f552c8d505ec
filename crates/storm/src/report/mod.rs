//! `squall storm report`: files of results as one HTML page that needs nothing else: a verdict in words, charts, tables of all figures, and
//! where and how it was measured. `verdict` finds the words, `compare` is the command for two files.

pub mod compare;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use squall_types::Result;

use crate::chart::{Chart, Line, Scale, Value, escape};
use crate::file_error::file_error;
use crate::suite::results::read;
use crate::suite::row::Row;
use verdict::{Step, series, server, servers, step};

/// What the line of `about.txt` begins with that names the machine.
const MACHINE: &str = "machine: ";
/// Latencies of more clients than this have a chart of their own, as the document has it.
const FEW_CLIENTS: u32 = 256;
/// From so many numbers of clients on a test has charts; below, its table says it all.
const CHART_LEVELS: usize = 3;
/// The most lines of a chart; tests of more have charts for each of their subtypes.
const LINES_MAX: usize = 8;

/// Make one HTML page of results: charts, tables and a verdict in words; it needs no network and can be printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of squall storm suite (results.csv), or of the published suite
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Also write each chart into this folder, as SVG and as PNG
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

/// Runs `squall storm report`.
///
/// # Errors
/// Files that are no results, or cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let mut rows = Vec::new();
    let mut about = Vec::new();
    for file in &args.files {
        rows.extend(read(file)?);
        let beside = file.with_file_name(crate::suite::ABOUT);
        if let Ok(text) = std::fs::read_to_string(&beside) {
            about.push(text);
        }
    }
    if let Some(folder) = &args.charts {
        std::fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
        let tests = tests(&rows);
        for (test, rows) in &tests {
            for (number, chart) in groups(test, rows).iter().flat_map(|group| &group.charts).enumerate() {
                let path = folder.join(file_name(test, number));
                let (svg, png) = (path.with_extension("svg"), path.with_extension("png"));
                std::fs::write(&svg, chart.to_svg()).map_err(|error| file_error(&svg, &error))?;
                std::fs::write(&png, chart.to_png()?).map_err(|error| file_error(&png, &error))?;
            }
        }
        if let Some(sentence) = without_charts(&tests) {
            println!("{sentence}");
        }
    }
    let page = page(&rows, &about.join("\n"));
    std::fs::write(&args.output, page).map_err(|error| file_error(&args.output, &error))?;
    println!("Written to {}", args.output.display());
    Ok(())
}

/// Which tests have no charts, and what they lack, if any.
fn without_charts(tests: &BTreeMap<&str, Vec<&Row>>) -> Option<String> {
    let lacking = |(test, rows): (&&str, &Vec<&Row>)| {
        let levels = levels(rows).len();
        (levels < CHART_LEVELS).then(|| format!("{test} ({levels})"))
    };
    let names: Vec<String> = tests.iter().filter_map(lacking).collect();
    (!names.is_empty()).then(|| {
        format!(
            "No charts of tests that were measured with fewer than {CHART_LEVELS} numbers of clients (--concurrency of squall storm suite): {}",
            names.join(", ")
        )
    })
}

/// The numbers of clients with which a test was measured.
fn levels(rows: &[&Row]) -> BTreeSet<u32> {
    rows.iter().filter_map(|row| row.get("concurrency").parse().ok()).collect()
}

/// What a chart is called as a file, without the ending; the name of a test comes from a file and may hold anything.
fn file_name(test: &str, number: usize) -> String {
    let test: String = test
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "_-".contains(letter) { letter } else { '_' })
        .collect();
    format!("{test}_{}.svg", number + 1)
}

/// Rows by test, in the order of the tests' names.
fn tests(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut tests: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        tests.entry(row.get("test_name")).or_default().push(row);
    }
    tests
}

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1d1f24;--paper:#fff;--rule:#d5d8de;--soft:#f3f4f7;--accent:#0b63b0;--bad:#b3261e}
@media (prefers-color-scheme:dark){@media screen{:root{--ink:#e4e6ea;--paper:#16181c;--rule:#3a3e46;--soft:#20232a;--accent:#6cb6ff;--bad:#ff8a80}}}
body{margin:0 auto;max-width:86rem;padding:1.5rem 2rem 4rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.7rem;margin:.2rem 0 1rem}h2{margin:2.6rem 0 .6rem;font-size:1.25rem;border-bottom:1px solid var(--rule);padding-bottom:.2rem}
a{color:var(--accent)}nav ul{columns:23rem;padding-left:1.2rem}
.verdict{background:var(--soft);border-left:4px solid var(--accent);padding:.6rem 1.2rem;margin:1rem 0}.verdict p{margin:.5rem 0;max-width:75rem}
h3{margin:1.4rem 0 0;font-size:1.02rem}.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25.5rem),1fr));gap:0 1rem}figure{margin:.6rem 0;max-width:32rem}figure svg{display:block;width:100%;height:auto}
figcaption{text-align:right;font-size:.8rem;min-height:1.3em}figcaption button{background:none;border:0;padding:0 .3rem;color:var(--accent);font:inherit;cursor:pointer;text-decoration:underline}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.85rem}
caption{text-align:left;padding:.3rem 0;color:inherit;opacity:.8}th,td{padding:.15rem .6rem;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}
th:first-child,td:first-child,th.words,td.words{text-align:left}thead th{background:var(--soft);position:sticky;top:0}
.bad{color:var(--bad);font-weight:600}details>summary{cursor:pointer;color:var(--accent)}pre{background:var(--soft);padding:.8rem;overflow-x:auto;white-space:pre-wrap}
@media print{body{max-width:none;padding:0;font-size:11px}details::details-content{content-visibility:visible;block-size:auto}summary{display:none}nav{display:none}figcaption{display:none}.charts{display:block}figure{display:inline-block;width:48%;margin:.3rem 1% .3rem 0}.verdict,figure,tr{break-inside:avoid}h2,h3,caption{break-after:avoid}
.scroll{overflow:visible}thead th{position:static}table{font-size:8px}th,td{padding:.1rem .35rem}th:first-child,td:first-child,td.words,th.words{white-space:normal}}
@media (max-width:40rem){body{padding:1rem .8rem 3rem}}
";

/// Saves a chart as it is shown: SVG as it stands in the page, PNG by the browser, two pixels for one.
const SCRIPT: &str = "
for(const figure of document.querySelectorAll('figure')){
const svg=figure.querySelector('svg'),name=figure.dataset.name;
const give=(blob,kind)=>{const a=document.createElement('a'),url=URL.createObjectURL(blob);a.href=url;a.download=name+'.'+kind;a.click();setTimeout(()=>URL.revokeObjectURL(url),1000)};
const vector=()=>new Blob([new XMLSerializer().serializeToString(svg)],{type:'image/svg+xml'});
const save={SVG:()=>give(vector(),'svg'),PNG:()=>{const image=new Image(),url=URL.createObjectURL(vector());image.onload=()=>{
const canvas=document.createElement('canvas');canvas.width=2*svg.width.baseVal.value;canvas.height=2*svg.height.baseVal.value;
canvas.getContext('2d').drawImage(image,0,0,canvas.width,canvas.height);URL.revokeObjectURL(url);canvas.toBlob(blob=>give(blob,'png'),'image/png')};image.src=url}};
for(const kind in save){const button=document.createElement('button');button.textContent=kind;button.title='Save this chart as '+kind;button.onclick=save[kind];figure.querySelector('figcaption').append(button)}}
";

fn page(rows: &[Row], about: &str) -> String {
    let tests = tests(rows);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>ClickHouse in the storm: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>In the storm: {}</h1>\n",
        escape(&servers(rows).join(", ")),
        escape(&servers(rows).join(" and "))
    );
    let machines: BTreeSet<&str> = about.lines().filter_map(|line| line.strip_prefix(MACHINE)).collect();
    for machine in machines {
        // Writing to a String cannot fail; so below.
        let _ = writeln!(out, "<p>Measured on {}.</p>", escape(machine));
    }
    out.push_str("<section class=\"verdict\" aria-label=\"Verdict\">\n");
    for sentence in verdict::sentences(rows) {
        let _ = writeln!(out, "<p>{}</p>", escape(&sentence));
    }
    out.push_str("</section>\n<nav aria-label=\"Tests\"><ul>\n");
    for test in tests.keys() {
        let _ = writeln!(out, "<li><a href=\"#{0}\">{0}</a></li>", escape(test));
    }
    out.push_str("</ul></nav>\n");
    let ratios = verdict::ratios(rows);
    for (test, rows) in &tests {
        let _ = writeln!(out, "<section>\n<h2 id=\"{0}\">{0}</h2>", escape(test));
        let groups = groups(test, rows);
        let mut number = 0;
        for group in &groups {
            if !group.title.is_empty() {
                let _ = writeln!(out, "<h3>{}</h3>", escape(&group.title));
            }
            out.push_str("<div class=\"charts\">\n");
            for chart in &group.charts {
                let name = file_name(test, number);
                let name = name.trim_end_matches(".svg");
                let _ =
                    writeln!(out, "<figure data-name=\"{name}\">{}<figcaption></figcaption></figure>", chart.to_svg());
                number += 1;
            }
            out.push_str("</div>\n");
        }
        total_times(rows, &mut out);
        let is_long = !groups.is_empty();
        if is_long {
            out.push_str("<details><summary>All figures</summary>\n");
        }
        figures(test, rows, &ratios, &mut out);
        if is_long {
            out.push_str("</details>\n");
        }
        out.push_str("</section>\n");
    }
    out.push_str("<section>\n<h2 id=\"how\">Where and how it was measured</h2>\n");
    versions(rows, &mut out);
    if !about.is_empty() {
        let _ = writeln!(out, "<pre>{}</pre>", escape(about));
    }
    out.push_str(
        "<p>A point is the median of its rounds, and its bar goes from the least to the most. It is hollow where requests failed or the load \
         generator was the limit; its label says how many. Requests a second are answers within the measured time; latencies count every request \
         that began in it. The ratio in the tables is the first server's requests a second by those of the server in that line.</p>\n</section>\n</main>\n",
    );
    let _ = writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>");
    out
}

/// Charts that stand together.
struct Group {
    /// What they have in common; nothing where they are all of the test's.
    title: String,
    charts: Vec<Chart>,
}

/// The charts of a test: together, or by subtype where there are more lines than an eye can follow; none where a table says it all.
fn groups(test: &str, rows: &[&Row]) -> Vec<Group> {
    if levels(rows).len() < CHART_LEVELS {
        return Vec::new();
    }
    let names: BTreeSet<(String, String)> = rows.iter().map(|row| (server(row), series(&step(row)))).collect();
    if names.len() <= LINES_MAX {
        return vec![Group { title: String::new(), charts: charts(test, rows, &series) }];
    }
    let mut by_subtype: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let subtype = verdict::subtype(&step(row));
        match by_subtype.iter_mut().find(|(other, _)| *other == subtype) {
            Some((_, rows)) => rows.push(row),
            None => by_subtype.push((subtype, vec![row])),
        }
    }
    let group = |(title, rows): (String, Vec<&Row>)| {
        let charts = charts(&format!("{test}, {title}"), &rows, &verdict::way);
        Group { title, charts }
    };
    by_subtype.into_iter().map(group).collect()
}

/// Requests a second, the 90th percentile of latency of few clients and of many, and the 99th; a line for each server and `name` of a step.
fn charts(test: &str, rows: &[&Row], name: &dyn Fn(&Step) -> String) -> Vec<Chart> {
    let chart = |what: &str, panel: &str, column: &str, scale: Scale, keep: &dyn Fn(u32) -> bool| {
        let factor = if column == "QPS" { 1.0 } else { 1e3 };
        let lines = lines(rows, name, column, factor, keep);
        let has_values = lines.iter().any(|line| !line.values.is_empty());
        has_values.then(|| Chart {
            title: format!("{test}: {what} by number of clients"),
            panels: vec![(panel.to_owned(), lines)],
            x_label: "clients".to_owned(),
            y_label: what.to_owned(),
            scale,
        })
    };
    let (p90, p99) = ("90th percentile of latency in ms", "99th percentile of latency in ms");
    let column = "latency_90percentile";
    let (few, many) = (|clients: u32| clients <= FEW_CLIENTS, |clients: u32| clients > FEW_CLIENTS);
    [
        chart("requests a second", "Requests a second", "QPS", Scale::Linear, &|_| true),
        chart(p90, "Latency, 90th percentile, up to 256 clients", column, Scale::Linear, &few),
        chart(p90, "Latency, 90th percentile, more than 256 clients", column, Scale::Linear, &many),
        chart(p99, "Latency, 99th percentile, by powers of ten", "latency_99percentile", Scale::Logarithmic, &|_| true),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn lines(
    rows: &[&Row],
    name: &dyn Fn(&Step) -> String,
    column: &str,
    scale: f64,
    keep: &dyn Fn(u32) -> bool,
) -> Vec<Line> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut points: BTreeMap<((String, String), u32), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let Some(clients) = row.get("concurrency").parse().ok().filter(|&clients| keep(clients)) else { continue };
        let name = (server(row), name(&step(row)));
        if !names.contains(&name) {
            names.push(name.clone());
        }
        points.entry((name, clients)).or_default().push(row);
    }
    names.sort_by(|left, right| left.1.cmp(&right.1));
    let line = |name: (String, String)| {
        let of_line = points.iter().filter(|((other, _), _)| *other == name);
        let values = of_line.filter_map(|((_, clients), rows)| {
            let mut values: Vec<f64> = rows.iter().filter_map(|row| row.number(column)).collect();
            values.sort_by(f64::total_cmp);
            let value = values.get(values.len() / 2)? * scale;
            let range = match values.as_slice() {
                [least, .., most] => Some((least * scale, most * scale)),
                _ => None,
            };
            Some(Value { category: *clients, value, range, flaw: flaw(rows) })
        });
        Line { values: values.collect(), name: format!("{}: {}", name.0, name.1) }
    };
    names.into_iter().map(line).collect()
}

/// What is wrong with a point, if anything.
fn flaw(rows: &[&Row]) -> Option<String> {
    let errors: f64 = rows.iter().filter_map(|row| row.number("errors")).sum();
    let is_limited = rows.iter().any(|row| !row.get("generator_warning").is_empty());
    match (errors > 0.0, is_limited) {
        (true, true) => Some(format!("{errors:.0} errors, the generator was the limit")),
        (true, false) => Some(format!("{errors:.0} errors")),
        (false, true) => Some("the generator was the limit".to_owned()),
        (false, false) => None,
    }
}

/// The document's table: seconds for a thousand requests with one client and with many, and their sum, where a test has just these two.
fn total_times(rows: &[&Row], out: &mut String) {
    let [1, crowd] = levels(rows).into_iter().collect::<Vec<u32>>()[..] else { return };
    let mut times: BTreeMap<(String, String), [Option<f64>; 2]> = BTreeMap::new();
    let mut order = Vec::new();
    for row in rows {
        let key = (server(row), series(&step(row)));
        if !order.contains(&key) {
            order.push(key.clone());
        }
        let time = row.number("QPS").filter(|&rate| rate > 0.0).map(|rate| 1000.0 / rate);
        times.entry(key).or_default()[usize::from(row.get("concurrency") != "1")] = time;
    }
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table><caption>Seconds for a thousand requests</caption><thead><tr><th>server</th><th class=\"words\">what</th><th>1 client</th>\
         <th>{crowd} clients</th><th>total</th></tr></thead><tbody>"
    );
    for key in order {
        if let Some([Some(single), Some(many)]) = times.get(&key) {
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td class=\"words\">{}</td><td>{single:.1}</td><td>{many:.1}</td><td>{:.1}</td></tr>",
                escape(&key.0),
                escape(&key.1),
                single + many
            );
        }
    }
    out.push_str("</tbody></table></div>\n");
}

/// All figures of a test as a table.
fn figures(test: &str, rows: &[&Row], ratios: &BTreeMap<(String, Step), f64>, out: &mut String) {
    // Of clients beside those that were measured: what they got, and Jain's index of their shares.
    let beside = ["beside_per_second", "beside_fairness"];
    let has_beside = rows.iter().any(|row| !row.get(beside[1]).is_empty());
    let _ = writeln!(
        out,
        "<div class=\"scroll\"><table><caption>{}: requests a second, latencies in ms</caption><thead><tr><th>what</th><th>clients</th>\
         <th class=\"words\">server</th><th>requests/s</th><th title=\"requests a second of the first server by this one's\">ratio</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>requests</th><th>errors</th>{}</tr></thead><tbody>",
        escape(test),
        if has_beside { "<th>beside/s</th><th>fairness</th>" } else { "" }
    );
    let mut sorted: Vec<(String, u32, &Row)> =
        rows.iter().map(|row| (series(&step(row)), row.get("concurrency").parse().unwrap_or(0), *row)).collect();
    sorted.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
    for (series, clients, row) in sorted {
        let ms = |column: &str| row.number(column).map_or_else(String::new, |seconds| format!("{:.3}", seconds * 1e3));
        let errors = match row.get("errors") {
            "" | "0" => row.get("errors").to_owned(),
            errors => format!("<span class=\"bad\" title=\"{}\">{errors}</span>", escape(row.get("errors_by_kind"))),
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{clients}</td><td class=\"words\">{}</td><td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{errors}</td>{}</tr>",
            escape(&series),
            escape(&server(row)),
            row.number("QPS").unwrap_or(0.0),
            ratios.get(&(server(row), step(row))).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            ms("latency_50percentile"),
            ms("latency_90percentile"),
            ms("latency_99percentile"),
            ms("latency_999percentile"),
            escape(row.get("num_queries")),
            if has_beside {
                beside.map(|column| format!("<td>{}</td>", escape(row.get(column)))).concat()
            } else {
                String::new()
            }
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn versions(rows: &[Row], out: &mut String) {
    let versions: BTreeSet<(String, &str, &str)> =
        rows.iter().map(|row| (server(row), row.get("server_version"), row.get("client_version"))).collect();
    out.push_str("<ul>\n");
    for (server, version, client) in versions {
        let _ =
            writeln!(out, "<li>{}, version {}, measured by {}</li>", escape(&server), escape(version), escape(client));
    }
    out.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for server in ["Squall", "Click<House>"] {
            for concurrency in [1, 8, 512] {
                let mut row = Row::default();
                row.set("server", server);
                row.set("test_name", "003_select_1_no_logging");
                row.set("protocol", "http");
                row.set("http_keepalive", 1);
                row.set("concurrency", concurrency);
                row.set("QPS", 100 * concurrency);
                row.set("latency_90percentile", 0.001);
                row.set("errors", u8::from(concurrency == 8));
                rows.push(row);
            }
        }
        rows
    }

    #[test]
    fn a_page_has_charts_tables_and_words_and_needs_nothing_else() {
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row.set("latency_99percentile", 0.25));
        let page = page(&rows, "machine: AMD <EPYC>\ncommand: x");
        // Requests a second, the 90th percentile of few and of many clients, and the 99th.
        assert_eq!(page.matches("<svg ").count(), 4);
        assert!(page.contains("<p>Measured on AMD &lt;EPYC&gt;.</p>") && page.contains("<td>1.00</td>"));
        assert!(
            page.contains("AMD &lt;EPYC&gt;") && page.contains("Click&lt;House&gt;") && !page.contains("Click<House>")
        );
        assert!(page.contains("1 errors") && page.contains("<caption>003_select_1_no_logging: requests a second"));
        let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(links.iter().all(|link| link.starts_with('#')), "{links:?}");
        // The one source is the chart itself, made into a picture.
        let page = page.replace("image.src=url", "");
        assert!(!["<link", "src=", "import", "fetch("].iter().any(|word| page.contains(word)));
        assert!(page.contains("<figure data-name=\"003_select_1_no_logging_4\">"));
    }

    #[test]
    fn more_lines_than_an_eye_follows_are_cut_by_subtype() {
        let mut many = Vec::new();
        for subtype in ["hit", "miss", "100 <keys>"] {
            for protocol in ["http", "tcp"] {
                many.extend(rows().into_iter().map(|mut row| {
                    row.set("test_subtype1", subtype);
                    row.set("protocol", protocol);
                    row
                }));
            }
        }
        let page = page(&many, "");
        assert_eq!((page.matches("<svg ").count(), page.matches("<h3>").count()), (9, 3));
        assert!(page.contains("<h3>100 &lt;keys&gt;</h3>") && page.contains(">Squall: tcp</text>"));
        assert_eq!(file_name("a/b {x}", 0), "a_b__x__1.svg");
    }

    #[test]
    fn tests_of_one_client_and_of_many_have_their_total_times() {
        let mut rows = rows();
        rows.retain(|row| row.get("concurrency") != "512");
        let page = page(&rows, "");
        assert!(!page.contains("fairness"));
        // 1,000 requests at 100 and at 800 a second.
        assert!(page.contains("<td>10.0</td><td>1.2</td><td>11.2</td>"), "{page}");
        assert_eq!(page.matches("<svg ").count(), 0);
        let sentence = without_charts(&tests(&rows)).unwrap();
        assert!(sentence.contains("fewer than 3") && sentence.ends_with("003_select_1_no_logging (2)"), "{sentence}");
        rows[0].set("beside_per_second", "12.5");
        rows[0].set("beside_fairness", "0.9876");
        let page = super::page(&rows, "");
        assert!(page.contains("<th>fairness</th>") && page.contains("<td>12.5</td><td>0.9876</td>"), "{page}");
    }
}

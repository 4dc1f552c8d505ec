//! `graph = 1`: the steps of a plan in Graphviz's language. `dot -Tsvg` draws them.

use super::{Described, ExplainOptions};
use crate::plan::Plan;

/// Characters of a line in a box.
const LINE_MAX: usize = 80;

/// The graph, a line per row of the result.
///
/// # Errors
/// Those of what is said of steps.
pub(super) fn lines(plan: &Plan, options: ExplainOptions<'_>) -> squall_types::Result<Vec<String>> {
    let mut graph = Graph { options, lines: Vec::new(), steps: 0 };
    graph.lines.push("digraph".to_owned());
    graph.lines.push("{".to_owned());
    graph.lines.push("  rankdir=\"BT\";".to_owned());
    graph.lines.push("  node [shape = rect, fontname = \"sans-serif\", fontsize = 11];".to_owned());
    graph.lines.push("  edge [fontname = \"sans-serif\", fontsize = 10];".to_owned());
    graph.step(plan, None)?;
    graph.lines.push("}".to_owned());
    Ok(graph.lines)
}

struct Graph<'a> {
    options: ExplainOptions<'a>,
    lines: Vec<String>,
    steps: usize,
}

impl Graph<'_> {
    /// Writes a step, an arrow to the step that takes its rows, and all below it.
    fn step(&mut self, plan: &Plan, above: Option<usize>) -> squall_types::Result<()> {
        let number = self.steps;
        self.steps += 1;
        let Described { name, details, rows } = self.options.describe(plan, number)?;
        let mut label = format!("{}\\l", escaped(&name));
        for detail in details {
            // Aligned to the left.
            label.push_str(&escaped(&shortened(&detail)));
            label.push_str("\\l");
        }
        self.lines.push(format!("  n{number} [label=\"{label}\"];"));
        if let Some(above) = above {
            self.lines.push(format!("  n{number} -> n{above} [label=\"{}\"];", escaped(&rows.unwrap_or_default())));
        }
        plan.inputs().try_for_each(|input| self.step(input, Some(number)))
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_end_where_they_should() {
        assert_eq!(escaped(r#"a = 'x"\n'"#), r#"a = 'x\"\\n'"#);
        assert_eq!(shortened(&"ä".repeat(LINE_MAX)), "ä".repeat(LINE_MAX));
        assert_eq!(shortened(&"ä".repeat(LINE_MAX + 1)).chars().count(), LINE_MAX + 1);
    }
}

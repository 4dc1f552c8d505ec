//! EXPLAIN ANALYZE: runs a query without giving its rows, and tells what each step of its plan did.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use squall_engine::{PlanProfile, QueryContext, QueryStream, StepFigures};
use squall_planner::{ExplainOptions, Plan, Scan, Shown, StepWork, explain_plan, readable_rows};
use squall_types::Result;
use squall_types::text::readable::{DECIMAL_SIZE, readable_bytes, readable_duration};

use super::index_lines;

/// A query that is being analyzed.
pub(in crate::query) struct Analyzed {
    stream: QueryStream,
    profile: Arc<PlanProfile>,
    planning: Duration,
    began: Instant,
}

impl Analyzed {
    /// Starts a plan, the making of which took so long.
    ///
    /// # Errors
    /// Where a table cannot be read.
    pub(in crate::query) fn start(
        engine: &squall_engine::Engine,
        plan: &Plan,
        context: Arc<QueryContext>,
        planning: Duration,
    ) -> Result<Self> {
        let began = Instant::now();
        let (stream, profile) = engine.start_analyzed(plan, context)?;
        Ok(Self { stream, profile, planning, began })
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// The query's.
    pub(in crate::query) async fn finish(mut self) -> Result<Work> {
        while let Some(block) = self.stream.next().await {
            block?;
        }
        Ok(Work { profile: self.profile, planning: self.planning, execution: self.began.elapsed() })
    }
}

/// What a query has done.
pub(in crate::query) struct Work {
    profile: Arc<PlanProfile>,
    planning: Duration,
    execution: Duration,
}

impl Work {
    /// A line per row of the answer: the query's sums, an empty line, and the steps with what each did.
    ///
    /// # Errors
    /// Those of what is said of scans.
    pub(in crate::query) fn lines(&self, plan: &Plan, context: &QueryContext, shown: Shown) -> Result<Vec<String>> {
        let mut inputs = Vec::new();
        self.add_steps(plan, &mut inputs);
        let all: Duration = (0..inputs.len()).filter_map(|step| self.profile.figures(step)).map(|own| own.time).sum();
        let of_work = |step: usize| match self.profile.figures(step) {
            Some(own) => StepWork {
                lines: work_lines(inputs.get(step).copied().unwrap_or_default(), own, all),
                rows: Some(own.rows),
            },
            None => StepWork::default(),
        };
        let of_scan = |scan: &Scan| index_lines(scan, &context.settings);
        let shown = Shown { estimates: true, ..shown };
        let steps = explain_plan(plan, ExplainOptions { shown, of_scan: Some(&of_scan), of_work: Some(&of_work) })?;
        let summary = if shown.graph { Vec::new() } else { self.summary(context) };
        Ok(summary.into_iter().chain(steps.lines().map(str::to_owned)).collect())
    }

    fn summary(&self, context: &QueryContext) -> Vec<String> {
        let seconds = self.execution.as_secs_f64().max(1e-9);
        let [rows, bytes] =
            [&context.progress.read_rows, &context.progress.read_bytes].map(|read| read.load(Ordering::Relaxed));
        let [planning, execution, both] =
            [self.planning, self.execution, self.planning + self.execution].map(readable_duration);
        vec![
            "Query summary:".to_owned(),
            format!("  Time:        {both} (planning {planning} · execution {execution})"),
            format!(
                "  Read:        {} rows, {} ({} rows/s., {}/s.)",
                readable_rows(rows as f64),
                size(bytes),
                readable_rows(rows as f64 / seconds),
                size((bytes as f64 / seconds) as u64),
            ),
            format!("  Peak memory: {}", readable_bytes(context.memory.peak_bytes().max(0))),
            format!("  Threads:     {}", context.peak_threads()),
            String::new(),
        ]
    }

    /// Notes for each step, by its number, what goes into it; gives what comes out.
    fn add_steps(&self, plan: &Plan, inputs: &mut Vec<Flow>) -> Flow {
        let step = inputs.len();
        inputs.push(Flow::default());
        let mut input = Flow::default();
        for below in plan.inputs() {
            let Flow { rows, bytes } = self.add_steps(below, inputs);
            input.rows += rows;
            input.bytes += bytes;
        }
        inputs[step] = input;
        // What has no figures is part of the step above, which gets what goes in here.
        self.profile.figures(step).map_or(input, |own| Flow { rows: own.rows, bytes: own.bytes })
    }
}

/// Rows between two steps.
#[derive(Clone, Copy, Default)]
struct Flow {
    rows: u64,
    bytes: u64,
}

fn work_lines(input: Flow, own: StepFigures, all: Duration) -> Vec<String> {
    let percent = |part: f64, whole: f64| 100.0 * part / whole;
    let passed = match input.rows {
        0 => String::new(),
        rows if rows == own.rows => String::new(),
        rows => format!(" ({:.2}%)", percent(own.rows as f64, rows as f64)),
    };
    let (rows_in, rows_out) = (readable_rows(input.rows as f64), readable_rows(own.rows as f64));
    let share = percent(own.time.as_secs_f64(), all.as_secs_f64().max(1e-9));
    vec![
        format!("I/O: rows {rows_in} → {rows_out}{passed} · {} → {}", size(input.bytes), size(own.bytes)),
        format!("  time {} ({share:.1}%) · workers {}", readable_duration(own.time), own.workers),
    ]
}

fn size(bytes: u64) -> String {
    let (size, unit) = DECIMAL_SIZE.scale(bytes as f64);
    if unit == " B" { format!("{size}{unit}") } else { format!("{size:.2}{unit}") }
}

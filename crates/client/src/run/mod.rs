//! Runs statements: sends them, carries out what is the client's (`INTO OUTFILE`, `FROM INFILE`, an INSERT's data), shows results, progress,
//! logs and times, and ends them on Ctrl-C. Knows no line editor and no command line.

mod compression;
mod insert;
mod interrupt;
mod options;
mod output;
mod progress;

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use compression::Compression;
use insert::{Fed, Input, Target, feed};
pub use interrupt::Interrupt;
pub use options::{Options, quoted};
use output::{Destination, ResultOutput, file_name};
pub use output::{file_error, format_of_file, is_nobody_reading, open};
use progress::ProgressLine;
pub use progress::{quantity, read_words, size};
use squall_formats::{FormatOptions, Statistics};
use squall_sql::ast::{Identifier, InsertSource, IntoOutfile, Span, Statement, Written};
use squall_sql::{ParserLimits, ScriptStatement, Terminator, next_statement};
use squall_types::calendar::TimeZone;
use squall_types::text::readable::readable_bytes;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::session::{Event, ProfileInfo, Query, Session};

/// How long a wait for the session lasts before Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How often the line of progress is brought up to date.
const DRAW: Duration = Duration::from_millis(50);

/// The limits under which scripts are cut into statements: the server has the last word on all others.
pub const LIMITS: ParserLimits = ParserLimits {
    max_query_size: 0,
    max_parser_depth: 1000,
    max_parser_backtracks: 1_000_000,
    max_ast_depth: 1000,
    stack_bytes_max: 1_200_000,
};

/// Runs statements on a session.
pub struct Runner {
    /// Where they run.
    pub session: Box<dyn Session>,
    /// How they are run and shown.
    pub options: Options,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

/// One statement ready to run.
struct Prepared<'a> {
    /// What is sent.
    text: String,
    parsed: Option<Statement>,
    outfile: Option<IntoOutfile>,
    format: String,
    /// An INSERT's format and where its rows come from.
    data: Option<(String, Vec<Input<'a>>)>,
}

impl Runner {
    /// Runs all statements of a script. An INSERT that brings no data of its own reads them from `stdin`.
    ///
    /// # Errors
    /// The first statement's that fails; with `ignores_errors`, the last one's, after all were run.
    pub fn script(&mut self, script: &[u8], mut stdin: Option<&mut dyn Read>) -> Result<()> {
        let mut begin = 0;
        let mut outcome = Ok(());
        while let Some(statement) = next_statement(script, begin, &LIMITS) {
            begin = statement.end;
            if self.options.echoes {
                let (from, to) = statement.text;
                eprintln!("{}", String::from_utf8_lossy(script.get(from..to).unwrap_or_default()));
            }
            let input = stdin.as_mut().map(|stdin| &mut **stdin as &mut dyn Read);
            if let Err(error) = self.statement(script, statement, input) {
                if !self.options.ignores_errors || is_nobody_reading(&error) {
                    return Err(error);
                }
                eprintln!("{}", crate::sentence(&error));
                outcome = Err(error);
            }
        }
        outcome
    }

    /// Runs one statement of a script.
    ///
    /// # Errors
    /// What is wrong with it, or with the session.
    pub fn statement<'a>(
        &mut self,
        script: &'a [u8],
        statement: ScriptStatement,
        stdin: Option<&'a mut dyn Read>,
    ) -> Result<()> {
        self.interrupt.clear();
        let prepared = self.prepare(script, statement, stdin)?;
        let parsed = prepared.parsed.clone();
        self.run(prepared)?;
        match &parsed {
            Some(Statement::Use(name)) if !name.database.parameter => {
                self.session.keep_database(&name.database.value);
            }
            Some(statement) => self.options.apply(statement),
            None => {}
        }
        Ok(())
    }

    fn prepare<'a>(
        &self,
        script: &'a [u8],
        statement: ScriptStatement,
        stdin: Option<&'a mut dyn Read>,
    ) -> Result<Prepared<'a>> {
        let (from, to) = statement.text;
        let mut text = String::from_utf8_lossy(script.get(from..to).unwrap_or_default()).into_owned();
        // What does not parse here may be a newer server's to understand; and it has the better words for what is wrong.
        let mut parsed = statement.statement.ok();
        let outfile = parsed.as_mut().and_then(Statement::take_outfile);
        if let (Some(_), Some(statement)) = (&outfile, &parsed) {
            text = squall_sql::format_one_line(statement);
        }
        let mut data = None;
        if let Some(Statement::Insert(insert)) = &mut parsed {
            match &insert.source {
                InsertSource::Data { format, .. } | InsertSource::Input { format, .. } => {
                    let inline = statement.data.and_then(|(from, to)| script.get(from..to)).unwrap_or_default();
                    let (name, reader): (&str, Box<dyn Read + 'a>) = match stdin {
                        Some(stdin) if inline.trim_ascii().is_empty() => ("standard input", Box::new(stdin)),
                        _ => ("", Box::new(inline)),
                    };
                    data = Some((format.value.clone(), vec![Input { name: name.to_owned(), reader }]));
                }
                InsertSource::Infile { path, compression, format } => {
                    let inputs = infiles(path, compression.as_deref())?;
                    let format = match format {
                        Some(format) => format.value.clone(),
                        None => {
                            let name = inputs.first().map_or(path.as_str(), |input| &input.name);
                            format_of_file(name).unwrap_or("TabSeparated").to_owned()
                        }
                    };
                    let identifier = Identifier { value: format.clone(), parameter: false, span: Span::new(0, 0) };
                    insert.source = InsertSource::Data { format: identifier, offset: Written(None) };
                    data = Some((format, inputs));
                    if let Some(statement) = &parsed {
                        text = squall_sql::format_one_line(statement);
                    }
                }
                InsertSource::Query(_) | InsertSource::Watch(_) => {}
            }
        }
        let own = parsed.as_ref().and_then(Statement::output).and_then(|output| output.format.as_ref());
        let format = match (&outfile, own) {
            _ if statement.terminator == Terminator::Vertical => "Vertical",
            (_, Some(format)) => &format.value,
            (Some(outfile), None) => format_of_file(&file_name(outfile)?).unwrap_or("TabSeparated"),
            (None, None) => &self.options.format,
        };
        let format = format.to_owned();
        Ok(Prepared { text, parsed, outfile, format, data })
    }

    /// How formats write and read for this statement.
    fn format_options(&self, statement: Option<&Statement>) -> Result<FormatOptions> {
        let zone = TimeZone::named(&self.session.peer().time_zone).unwrap_or_else(|_| TimeZone::utc());
        FormatOptions::new(Arc::new(self.options.settings_of(statement)), &zone)
    }

    fn run(&mut self, mut prepared: Prepared<'_>) -> Result<()> {
        let format_options = self.format_options(prepared.parsed.as_ref())?;
        let id = match self.options.query_id.as_str() {
            "" if self.options.is_interactive => uuid::Uuid::new_v4().to_string(),
            id => id.to_owned(),
        };
        if self.options.is_interactive {
            eprintln!("{}", crate::style::dimmed(&format!("Query id: {id}\n")));
        }
        let mut line = ProgressLine::new(self.options.has_progress);
        self.session.start(&Query {
            text: &prepared.text,
            id: &id,
            settings: &self.options.settings,
            parameters: &self.options.parameters,
            tables: &self.options.tables,
        })?;
        let mut following = Following { line: &mut line, result: None, info: None, defaults: Vec::new() };
        let outcome = self.follow(&mut prepared, &mut following, format_options);
        let Following { result, info, .. } = following;
        let rows = result.as_ref().map(|result| result.rows);
        let elapsed = line.elapsed();
        line.remove();
        outcome?;
        if let Some(result) = result {
            result.finish(&Statistics {
                elapsed,
                rows_read: line.done.read_rows,
                bytes_read: line.done.read_bytes,
                rows_before_limit: info.and_then(|info: ProfileInfo| info.rows_before_limit),
            })?;
        }
        self.tell_end(rows, &line, elapsed);
        Ok(())
    }

    /// Takes events until the statement has ended.
    fn follow(
        &mut self,
        prepared: &mut Prepared<'_>,
        following: &mut Following<'_>,
        mut format_options: FormatOptions,
    ) -> Result<()> {
        let mut is_cancelled = false;
        let mut failed = None;
        let mut drawn = Instant::now();
        loop {
            if self.interrupt.is_set() && !is_cancelled {
                is_cancelled = true;
                self.session.cancel()?;
            }
            let event = self.session.next(TICK)?;
            if drawn.elapsed() >= DRAW {
                drawn = Instant::now();
                following.line.draw();
            }
            let taken = match event {
                None => continue,
                Some(Event::End) if is_cancelled && failed.is_none() => {
                    return Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled by its client"));
                }
                Some(Event::End) => return failed.map_or(Ok(()), Err),
                Some(Event::Exception(error)) => return Err(failed.unwrap_or(error)),
                // What comes after the wish to end is of no use.
                Some(_) if is_cancelled => Ok(()),
                Some(Event::Block(block)) => match prepared.data.take() {
                    Some((format, inputs)) => {
                        format_options.evaluate = Some(self.session.evaluator());
                        match self.give(block.schema(), &format, inputs, &format_options, following) {
                            Ok(Fed::All) => Ok(()),
                            Ok(Fed::Ended) => return Ok(()),
                            Ok(Fed::Failed(error)) => return Err(error),
                            Err(error) => Err(error),
                        }
                    }
                    None => self.block(&block, prepared, following, &format_options),
                },
                Some(event) => following.take(event),
            };
            if let Err(error) = taken {
                // Nothing more can be done here; the session ends the statement and is then ready for the next.
                is_cancelled = true;
                if self.session.cancel().is_err() {
                    return Err(error);
                }
                failed = Some(error);
            }
        }
    }

    /// Gives an INSERT its rows.
    fn give(
        &mut self,
        schema: &Arc<Schema>,
        format: &str,
        inputs: Vec<Input<'_>>,
        format_options: &FormatOptions,
        following: &mut Following<'_>,
    ) -> Result<Fed> {
        let target = Target { schema: schema.clone(), defaults: &following.defaults };
        let session = &mut *self.session;
        let fed = feed(session, inputs, format, format_options, &target, &self.interrupt, following.line)?;
        if matches!(fed, Fed::All) {
            self.session.end_data()?;
        }
        Ok(fed)
    }

    fn block(
        &self,
        block: &Block,
        prepared: &Prepared<'_>,
        following: &mut Following<'_>,
        format_options: &FormatOptions,
    ) -> Result<()> {
        if following.result.is_none() && !block.schema().is_empty() {
            let destination = match &prepared.outfile {
                Some(outfile) => Destination::file(outfile)?,
                None => Destination::stdout(self.options.pager.as_deref())?,
            };
            let mut format_options = format_options.clone();
            if destination.is_terminal() && self.options.is_interactive {
                format_options.width_max = terminal_size::terminal_size().map(|(width, _)| width.0.into());
            }
            let output = ResultOutput::new(&prepared.format, block.schema(), &format_options, destination)?;
            following.result = Some(output);
        }
        if block.is_empty() {
            return Ok(());
        }
        following.output(|result| result.block(block))
    }

    /// Says how the statement went.
    fn tell_end(&self, rows: Option<u64>, line: &ProgressLine, elapsed: Duration) {
        let Options { is_interactive, has_time, .. } = self.options;
        if !is_interactive {
            if has_time {
                eprintln!("{:.3}", elapsed.as_secs_f64());
            }
            return;
        }
        let mut text = match rows {
            Some(1) => "1 row in set.".to_owned(),
            Some(rows) => format!("{rows} rows in set."),
            None => "Ok.".to_owned(),
        };
        if has_time {
            text += &format!(" Elapsed: {:.3} sec.", elapsed.as_secs_f64());
            if line.done.read_rows > 0 || line.done.written_rows > 0 {
                text += &format!(" Processed {}", read_words(&line.done, elapsed));
            }
            if let Some(peak) = line.usage.memory_bytes.filter(|bytes| *bytes > 0) {
                text += &format!("\nPeak memory usage: {}.", readable_bytes(i64::try_from(peak).unwrap_or(i64::MAX)));
            }
        }
        eprintln!("\n{text}\n");
    }
}

/// What a running statement has brought.
struct Following<'a> {
    line: &'a mut ProgressLine,
    result: Option<ResultOutput>,
    info: Option<ProfileInfo>,
    defaults: Vec<String>,
}

impl Following<'_> {
    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Totals(block) => return self.output(|result| result.totals(&block)),
            Event::Extremes(block) => return self.output(|result| result.extremes(&block)),
            Event::Progress(progress) => self.line.done.add(&progress),
            Event::Usage(usage) => self.line.usage = usage,
            Event::Profile(info) => self.info = Some(info),
            Event::Log(log) => self.line.hidden(|| eprintln!("{log}")),
            Event::Defaults(columns) => self.defaults = columns,
            Event::Block(_) | Event::Exception(_) | Event::End => {}
        }
        Ok(())
    }

    /// Gives something to the result's output and writes what is ready.
    fn output(&mut self, give: impl FnOnce(&mut ResultOutput) -> Result<()>) -> Result<()> {
        let Some(result) = &mut self.result else { return Ok(()) };
        give(result)?;
        if !result.is_ready() {
            return Ok(());
        }
        if result.is_seen() {
            self.line.remove();
        }
        result.write()
    }
}

/// The files of `FROM INFILE`: a name, or a pattern with `*`, `?` and `[…]`.
fn infiles(path: &str, method: Option<&str>) -> Result<Vec<Input<'static>>> {
    let mut names = Vec::new();
    if path.contains(['*', '?', '[']) {
        let bad = |error: &dyn std::fmt::Display| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{path}: {error}"));
        for name in glob::glob(path).map_err(|error| bad(&error))? {
            names.push(name.map_err(|error| bad(&error))?.to_string_lossy().into_owned());
        }
        if names.is_empty() {
            return Err(Error::new(ErrorCode::FILE_DOESNT_EXIST, format!("No file matches {path}")));
        }
    } else {
        names.push(path.to_owned());
    }
    names
        .into_iter()
        .map(|name| {
            let reader = Compression::named(method, &name)?.reader(open(&name)?);
            Ok(Input { reader: reader.map_err(|error| file_error(&name, &error))?, name })
        })
        .collect()
}

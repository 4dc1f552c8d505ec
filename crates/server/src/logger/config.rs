//! `logger` of config.xml.

use std::path::PathBuf;

use squall_types::Result;

use super::layout::Layout;
use super::level::Level;
use crate::config::{Element, Findings, Verdict};

/// `logger` of config.xml.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggerConfig {
    /// The gravity from which lines are written.
    pub level: Level,
    /// The file of all lines.
    pub log: Option<PathBuf>,
    /// The file of warnings and errors.
    pub errorlog: Option<PathBuf>,
    /// A file of this many bytes is rotated; 0 is never.
    pub size_bytes: u64,
    /// Rotated files that are kept.
    pub count: usize,
    /// Whether lines go to standard error too; by default where there is no file or where it is a terminal.
    pub console: Option<bool>,
    /// The gravity of lines on the console; that of the files where it is not given.
    pub console_level: Option<Level>,
    /// How lines are laid out.
    pub layout: Layout,
    /// Whether the files are compressed: `lz4 -dc` reads them.
    pub is_compressed: bool,
    /// Lines that wait to be written; more are dropped.
    pub queue_lines_max: usize,
}

impl Default for LoggerConfig {
    fn default() -> Self {
        Self {
            level: Level::Information,
            log: None,
            errorlog: None,
            size_bytes: 100 << 20,
            count: 10,
            console: None,
            console_level: None,
            layout: Layout::Text,
            is_compressed: false,
            queue_lines_max: 65_536,
        }
    }
}

impl LoggerConfig {
    /// Whether this is another configuration than `other` in more than what [`change_levels`](super::change_levels) changes.
    pub fn needs_a_start_after(&self, other: &Self) -> bool {
        let levels = (other.level, other.console_level);
        Self { level: levels.0, console_level: levels.1, ..self.clone() } != *other
    }

    /// Takes what the element says.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file, line and element.
    pub(crate) fn read(&mut self, element: &Element, findings: &mut Findings) -> Result<()> {
        let level = |element: &Element| {
            Level::parse(element.trimmed()).ok_or_else(|| {
                let names = Level::ALL.map(|level| level.name().to_ascii_lowercase()).join(", ");
                element.bad_value(&format!("a level: {names}"))
            })
        };
        for child in &element.children {
            let file = || Some(PathBuf::from(child.trimmed())).filter(|path| !path.as_os_str().is_empty());
            match child.name.as_str() {
                "level" => self.level = level(child)?,
                "log" => self.log = file(),
                "errorlog" => self.errorlog = file(),
                "size" => self.size_bytes = child.bytes()?,
                "count" => self.count = child.value("a number of files")?,
                "console" => self.console = Some(child.boolean()?),
                "console_log_level" => self.console_level = Some(level(child)?),
                "formatting" => self.layout = Layout::read(child, &mut findings.warnings)?,
                "rotation" if child.trimmed().eq_ignore_ascii_case("never") => self.size_bytes = 0,
                "rotation" => self.size_bytes = child.bytes()?,
                "async_queue_max_size" => self.queue_lines_max = child.value::<usize>("a number of lines")?.max(1),
                "stream_compress" => self.is_compressed = child.boolean()?,
                name => {
                    let verdict = match name {
                        "async" => Verdict::Harmless("lines are always written by a thread of their own"),
                        "startup_level"
                        | "shutdown_level"
                        | "console_startup_level"
                        | "console_shutdown_level"
                        | "startup_console_log_level"
                        | "shutdown_console_log_level" => Verdict::Missing("<level> holds from the start to the end"),
                        "levels" => Verdict::Missing("<level> holds for all components"),
                        "syslog" | "syslog_level" => Verdict::Harmless("of <use_syslog>"),
                        "use_syslog" if !child.boolean()? => Verdict::Harmless("asks for nothing"),
                        "use_syslog" => Verdict::Missing("nothing is written to syslog"),
                        _ => {
                            findings.unknown(child, &format!("logger/{name}"));
                            continue;
                        }
                    };
                    findings.note(child, &format!("logger/{name}"), verdict);
                }
            }
        }
        Ok(())
    }
}

//! Where `INSERT INTO FUNCTION file(…)` and its kin write: a file, or with `PARTITION BY` one for each value of an expression.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use squall_files::{DeclaredColumns, FileTableOptions, PARTITION_ID, PartitionedTarget, Partitions, Reach, TargetFile};
use squall_planner::{Expression, PlannerContext, call, evaluate, expression_over, is_over_s3};
use squall_remote::http::{HttpFiles, HttpOptions, shown};
use squall_sql::ast;
use squall_storage::Table;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value};

use super::data_function::{file_arguments, literals, options, url_arguments};
use super::s3;
use crate::session::Session;

/// What has a meaning in a URL.
const IN_URL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'+').add(b'<').add(b'>').add(b'?').add(b'\\').add(b'`');

/// What a function says of where to write.
#[derive(Clone)]
enum Place {
    File(FileTableOptions, Reach),
    Url(FileTableOptions, HttpOptions),
    S3(s3::Call),
}

impl Place {
    /// What a function's arguments say, and the columns among them.
    fn of(
        session: &Session,
        function: &ast::Function,
        planner: &PlannerContext<'_>,
    ) -> Result<(Self, Option<DeclaredColumns>)> {
        match function.name.as_str() {
            "file" => {
                let mut table = file_arguments(&literals(function)?, planner)?;
                let declared = table.declared.take();
                Ok((Self::File(table, session.server.file_reach()?), declared))
            }
            "url" => {
                let (mut table, http) = url_arguments(session, &literals(function)?, planner)?;
                let declared = table.declared.take();
                Ok((Self::Url(table, http), declared))
            }
            name if is_over_s3(name) => {
                let call = s3::Call::of(session, &literals(function)?, false)?;
                let declared = call.declared(planner)?;
                Ok((Self::S3(call), declared))
            }
            name => Err(Error::not_implemented(format!("INSERT INTO FUNCTION {name}"))),
        }
    }

    fn path(&mut self) -> &mut String {
        match self {
            Self::File(table, _) | Self::Url(table, _) => &mut table.path,
            Self::S3(call) => &mut call.url,
        }
    }

    /// The same for a partition.
    fn of_partition(&self, name: &str) -> Self {
        let mut place = self.clone();
        let name = match self {
            Self::File(..) => name.into(),
            Self::Url(..) | Self::S3(_) => Cow::from(utf8_percent_encode(name, IN_URL)),
        };
        *place.path() = place.path().replace(PARTITION_ID, &name);
        place
    }

    /// What takes the rows.
    fn target(self, session: &Session, declared: DeclaredColumns) -> Result<Arc<dyn Table>> {
        match self {
            Self::File(table, reach) => Ok(Arc::new(TargetFile::new(&table, declared, &reach, options(session)?)?)),
            Self::Url(mut table, http) => {
                let (files, holder) = HttpFiles::of(&table.path, false, http)?;
                let [file] = &files[..] else {
                    let message =
                        format!("Cannot write to the pattern {}: it may mean several files", shown(&table.path));
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                };
                table.path.clone_from(&file.path);
                let location = file.location.clone();
                Ok(Arc::new(TargetFile::elsewhere(&table, location, holder, declared, options(session)?)?))
            }
            Self::S3(call) => s3::written(call, session, declared),
        }
    }
}

/// What takes the rows of an INSERT into a function, with the columns that this says, or else with these; by `partition_by` one file for each
/// partition. Waits for the disk.
///
/// # Errors
/// What is wrong with the function and the expression; `BAD_ARGUMENTS` where the path has no place for a partition's name; those of
/// [`TargetFile::new`].
pub(in crate::query) fn target(
    session: &Session,
    function: &ast::Function,
    partition_by: Option<&ast::Expression>,
    columns: Option<Schema>,
    planner: &PlannerContext<'_>,
) -> Result<Arc<dyn Table>> {
    let (mut place, declared) = Place::of(session, function, planner)?;
    let declared = target_columns(&function.name, declared, columns)?;
    let Some(partition_by) = partition_by else { return place.target(session, declared) };
    if !place.path().contains(PARTITION_ID) {
        let message = format!("PARTITION BY needs {PARTITION_ID} in the path: there each partition has its name");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let key = expression_over(&stored(&declared), partition_by, planner)?;
    let text = call("toString", vec![key], &planner.functions)?;
    let none = Expression::Constant { value: Value::string(""), data_type: DataType::String };
    let name = call("ifNull", vec![text, none], &planner.functions)?;
    let partitions = Arc::new(PartitionsOf { session: session.clone(), place, name, declared: declared.clone() });
    Ok(Arc::new(PartitionedTarget::new(declared, partitions)))
}

fn stored(declared: &DeclaredColumns) -> Vec<squall_planner::ColumnDescription> {
    declared.columns.iter().filter(|column| column.is_stored()).cloned().collect()
}

/// The columns of what an INSERT writes: those that the function says, or else those that come.
pub(super) fn target_columns(
    function: &str,
    declared: Option<DeclaredColumns>,
    columns: Option<Schema>,
) -> Result<DeclaredColumns> {
    let coming = || columns.as_ref().map(DeclaredColumns::plain);
    declared.or_else(coming).ok_or_else(|| {
        let message = format!(
            "Table function '{function}' must have the structure as its third argument where data are inserted"
        );
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    })
}

/// The partitions of an INSERT.
struct PartitionsOf {
    session: Session,
    place: Place,
    /// The partition's name, over the columns that are written.
    name: Expression,
    declared: DeclaredColumns,
}

impl Partitions for PartitionsOf {
    fn names(&self, block: &Block) -> Result<Column> {
        evaluate(&self.name, block)
    }

    fn target(&self, name: &str) -> Result<Arc<dyn Table>> {
        self.place.of_partition(name).target(&self.session, self.declared.clone())
    }
}

//! A table with subcolumns behind its own columns.

use std::sync::Arc;

use squall_planner::{
    ColumnDescription, ColumnStatistics, Constraint, Expression, Subcolumn, TableMetadata, named_like,
};
use squall_types::{Result, Schema, Settings, Value};

use super::WantedColumns;
use crate::index_analysis::IndexAnalysis;
use crate::merge_tree::MergeTreeTable;
use crate::table::{PartColumn, PartInfo, ScanRequest, Table, TableHandle, TableScan};

/// The table.
#[derive(Debug)]
pub(in crate::merge_tree) struct SubcolumnTable {
    table: MergeTreeTable,
    /// The table's own columns.
    own: Schema,
    columns: Vec<ColumnDescription>,
    subcolumns: Vec<Subcolumn>,
}

impl SubcolumnTable {
    pub(in crate::merge_tree) fn new(table: &MergeTreeTable, subcolumns: Vec<Subcolumn>) -> Self {
        let table = table.whole();
        let mut columns = TableMetadata::columns(&table).to_vec();
        let own = Schema::new(columns.iter().map(|column| (column.name.clone(), column.data_type.clone())));
        for subcolumn in &subcolumns {
            let of = columns.get(subcolumn.column).map_or("", |column| &*column.name);
            let data_type = subcolumn.expression.data_type().clone();
            columns.push(ColumnDescription::new(format!("{of}.{}", subcolumn.path), data_type));
        }
        Self { table, own, columns, subcolumns }
    }

    /// What a request asks the table itself for.
    fn request(&self, request: &ScanRequest) -> ScanRequest {
        match request.columns.iter().all(|column| *column < self.own.len()) {
            true => request.clone(),
            false => WantedColumns::request(request, &self.own, &self.subcolumns),
        }
    }
}

impl TableMetadata for SubcolumnTable {
    named_like!(table);

    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn sorting_key(&self) -> &[usize] {
        self.table.sorting_key()
    }
    fn rows_identity(&self) -> [usize; 2] {
        self.table.rows_identity()
    }
    fn rows(&self) -> Option<u64> {
        self.table.rows()
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        if column < self.own.len() { self.table.column_range(column) } else { None }
    }
    fn column_statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        if column < self.own.len() { self.table.column_statistics(column) } else { None }
    }
    fn constraints(&self) -> &[Constraint] {
        self.table.constraints()
    }
    fn sampling_key(&self) -> Option<&Arc<str>> {
        self.table.sampling_key()
    }
    fn tokenizer(&self, expression: &Expression) -> Option<String> {
        self.table.tokenizer(expression)
    }
    fn has_row_places(&self) -> bool {
        self.table.has_row_places()
    }
    fn with_subcolumn(&self, wanted: &Subcolumn) -> Option<Arc<dyn TableMetadata>> {
        let subcolumns = self.subcolumns.iter().chain([wanted]).cloned().collect();
        Some(Arc::new(TableHandle(Arc::new(Self::new(&self.table, subcolumns)))))
    }
    fn marks_selected(&self, condition: Option<&Expression>) -> Result<Option<u64>> {
        let own = self.own.fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type));
        let all: Vec<Expression> = own.chain(self.subcolumns.iter().map(|one| one.expression.clone())).collect();
        self.table.marks_selected(condition.map(|condition| condition.substitute(&all)).as_ref())
    }
}

impl Table for SubcolumnTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        self.table.scan(&self.request(request))
    }

    fn rows_at(&self, request: &ScanRequest, places: &[u64]) -> Result<Arc<dyn TableScan>> {
        self.table.rows_at(&self.request(request), places)
    }

    fn check_index_is_used(&self, request: &ScanRequest, settings: &Settings) -> Result<()> {
        self.table.check_index_is_used(&self.request(request), settings)
    }

    fn index_analysis(&self, request: &ScanRequest) -> Result<Option<IndexAnalysis>> {
        self.table.index_analysis(&self.request(request))
    }

    fn bytes(&self) -> Option<u64> {
        self.table.bytes()
    }

    fn parts(&self) -> Vec<PartInfo> {
        self.table.parts()
    }

    fn columns_of_parts(&self) -> Vec<(PartInfo, Vec<PartColumn>)> {
        self.table.columns_of_parts()
    }
}

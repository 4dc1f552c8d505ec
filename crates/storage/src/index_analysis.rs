//! What indexes leave of a table's parts for one scan, as `EXPLAIN indexes = 1` shows it.

/// All indexes that a scan asks, in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexAnalysis {
    /// Parts of the table.
    pub parts: u64,
    /// Their granules.
    pub granules: u64,
    /// The steps.
    pub steps: Vec<IndexStep>,
    /// How many stretches of rows are left.
    pub ranges: u64,
    /// Rows that are left.
    pub rows: u64,
}

/// One index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexStep {
    /// What kind of index it is.
    pub kind: IndexStepKind,
    /// The keys that the condition asks for, in their order.
    pub keys: Vec<String>,
    /// What it asks of them, where that can be shown.
    pub condition: Option<String>,
    /// Parts that are left.
    pub parts: u64,
    /// Granules that are left.
    pub granules: u64,
    /// How granules are found.
    pub search: Option<&'static str>,
}

/// The kinds of index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexStepKind {
    /// The smallest and largest values that the columns of the partition key have in a part.
    MinMax,
    /// The values of the partition key.
    Partition,
    /// The primary key.
    PrimaryKey,
    /// A skip index.
    Skip {
        /// Its name.
        name: String,
        /// Its type and granularity.
        description: String,
    },
}

impl IndexAnalysis {
    /// The lines of EXPLAIN.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec!["Indexes:".to_owned()];
        let (mut parts, mut granules) = (self.parts, self.granules);
        for step in &self.steps {
            let title = match &step.kind {
                IndexStepKind::MinMax => "Min-Max",
                IndexStepKind::Partition => "Partition",
                IndexStepKind::PrimaryKey => "PrimaryKey",
                IndexStepKind::Skip { .. } => "Skip",
            };
            lines.push(format!("  {title}"));
            if let IndexStepKind::Skip { name, description } = &step.kind {
                lines.extend([format!("    Name: {name}"), format!("    Description: {description}")]);
            }
            if !step.keys.is_empty() {
                lines.push("    Keys:".to_owned());
                lines.extend(step.keys.iter().map(|key| format!("      {key}")));
            }
            lines.extend(step.condition.iter().map(|condition| format!("    Condition: {condition}")));
            lines.push(format!("    Parts: {}/{parts}", step.parts));
            lines.push(format!("    Granules: {}/{granules}", step.granules));
            lines.extend(step.search.iter().map(|search| format!("    Search Algorithm: {search}")));
            (parts, granules) = (step.parts, step.granules);
        }
        lines.push(format!("  Ranges: {}", self.ranges));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_counts_from_what_the_one_before_left() {
        let step = |kind, granules| IndexStep {
            kind,
            keys: vec!["k".to_owned()],
            condition: Some("(k in [1, 1])".to_owned()),
            parts: 1,
            granules,
            search: None,
        };
        let skip = IndexStepKind::Skip { name: "i".to_owned(), description: "minmax GRANULARITY 1".to_owned() };
        let steps = vec![step(IndexStepKind::PrimaryKey, 5), step(skip, 2)];
        let lines = IndexAnalysis { parts: 3, granules: 9, steps, ranges: 2, rows: 0 }.lines();
        let counts: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| line.contains('/')).collect();
        assert_eq!(counts, ["Parts: 1/3", "Granules: 5/9", "Parts: 1/1", "Granules: 2/5"]);
        assert_eq!(lines.last().map(String::as_str), Some("  Ranges: 2"));
    }
}

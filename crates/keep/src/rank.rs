//! Ranks the documents of each cluster before any is copied.

use super::Decision;
use super::fields::Field;
use super::guard::Sources;
use super::prefer::{Choice, Prefer, Rank};
use crate::error::{Error, Result};
use leitong_formats::{Original, SecondReading};

/// Ranks documents by a preference, and groups them by fields, which may depend on their content.
pub(crate) struct Ranker {
    reading: SecondReading,
    needs: Needs,
    choice: Choice,
    ordinal: u64,
    /// Number of documents without the value that the preference needs.
    lacking: u64,
    /// Number of documents with a date, and with a number, at the pointer of the preference.
    dates_and_numbers: (u64, u64),
    /// Number of documents without a value of [`Needs::one_per`].
    lacking_group: u64,
    sources: Sources,
}

/// The settings and fields that a choice depends on.
#[derive(Debug, Clone)]
pub(crate) struct Needs {
    /// The preference that ranks the documents of a cluster.
    pub prefer: Prefer,
    /// The field that groups the documents of a cluster. One document per value is kept.
    pub one_per: Option<Field>,
    /// The field whose values are sources, if the share of a source that may be dropped is limited.
    pub source: Option<Field>,
}

impl Needs {
    /// Returns the top-level fields of documents that are needed.
    pub(crate) fn fields(&self) -> Vec<String> {
        let fields = self.one_per.iter().chain(&self.source).filter_map(Field::column);
        self.prefer.field().into_iter().chain(fields).collect()
    }

    fn needs_content(&self, decision: &Decision) -> bool {
        self.one_per.iter().chain(&self.source).any(Field::needs_content)
            || self.prefer.rank_from_verdict(decision).is_none()
    }
}

/// The result of ranking.
pub(crate) struct Ranked {
    /// The choice, with the best document of each group.
    pub choice: Choice,
    /// Number of documents that were ranked.
    pub documents: u64,
    /// Number of documents without the number or time that the preference needs.
    pub lacking: u64,
    /// Number of documents with a date, and with a number, at the pointer of the preference.
    pub dates_and_numbers: (u64, u64),
    /// Number of documents without a value of [`Needs::one_per`].
    pub lacking_group: u64,
    /// The sources of the documents, if they are needed.
    pub sources: Sources,
}

impl Ranker {
    /// Creates a ranker. It uses `reading` only if the verdicts are not sufficient.
    pub(crate) fn new(reading: SecondReading, needs: Needs, choice: Choice) -> Self {
        Self {
            reading,
            needs,
            choice,
            ordinal: 0,
            lacking: 0,
            dates_and_numbers: (0, 0),
            lacking_group: 0,
            sources: Sources::default(),
        }
    }

    /// Ranks the document of `decision`. Decisions must come in the order of the inputs.
    ///
    /// # Errors
    /// The document cannot be read.
    pub(crate) fn rank(&mut self, decision: &Decision) -> Result<()> {
        let Needs { prefer, one_per, source } = &self.needs;
        let original = match self.needs.needs_content(decision) {
            true => Some(self.reading.find((decision.input, decision.number), |_, _| Ok::<_, Error>(()))?),
            false => None,
        };
        let json = original.as_ref().and_then(Original::json);
        let rank = prefer
            .rank_from_verdict(decision)
            .unwrap_or_else(|| json.map_or(Rank::None, |json| prefer.rank_from_content(json)));
        match rank {
            Rank::None => self.lacking += 1,
            Rank::Date(_) => self.dates_and_numbers.0 += 1,
            Rank::Number(_) => self.dates_and_numbers.1 += 1,
            Rank::Whole(_) => {}
        }
        let value = |field: &Option<Field>| field.as_ref()?.value(decision, json);
        let group = value(one_per);
        self.lacking_group += u64::from(one_per.is_some() && group.is_none());
        self.choice.offer(self.ordinal, decision, rank, group.as_deref());
        if source.is_some() {
            self.sources.push(value(source).as_deref());
        }
        self.ordinal += 1;
        Ok(())
    }

    /// Returns the result.
    pub(crate) fn finish(mut self) -> Ranked {
        self.choice.end_offers();
        let Self { choice, ordinal: documents, lacking, dates_and_numbers, lacking_group, sources, .. } =
            self;
        Ranked { choice, documents, lacking, dates_and_numbers, lacking_group, sources }
    }
}

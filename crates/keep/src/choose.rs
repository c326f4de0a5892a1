//! Chooses the documents to keep once a run has decided on all pages, and before `--verify` compares their texts.
//!
//! In: the decisions of the run, and the inputs again if the choice depends on the documents themselves (`--prefer`,
//! `--one-per`). Out: a [`Choice`]; an error if no document has the field that the options name.

use super::Decision;
use super::fields::Field;
use super::guard::Sources;
use super::options::Options;
use super::prefer::{Choice, Prefer, Rank, Rules};
use super::spool::Spooled;
use crate::error::{Error, Result};
use leitong_base::terminal;
use leitong_formats::{Original, SecondReading};

/// Chooses the documents to keep. `reading` reads the inputs again, with the given fields. If the documents had to be
/// ranked, also returns their sources.
pub(super) fn choose(
    options: &Options,
    rules: Rules,
    reading: impl FnOnce(Vec<String>) -> SecondReading,
    spooled: &mut Spooled,
) -> Result<(Choice, Option<Sources>)> {
    if options.keeps_first(rules) {
        return Ok((Choice::first(rules), None));
    }
    let (prefer, one_per) = (&options.prefer, options.one_per.as_ref());
    let source = options.by.as_ref().filter(|_| options.source_removed_max.is_some());
    let columns = one_per.into_iter().chain(source).filter_map(Field::column);
    let reading = reading(prefer.field().into_iter().chain(columns).collect());
    let mut ranker = Ranker {
        reading,
        prefer,
        one_per,
        source,
        choice: Choice::ranked(rules),
        documents: 0,
        lacking: 0,
        dates_and_numbers: (0, 0),
        lacking_group: 0,
        sources: Sources::default(),
    };
    spooled.each(|_, decision| ranker.rank(decision))?;
    ranker.choice.end_offers();
    ranker.check_fields()?;
    Ok((ranker.choice, Some(ranker.sources)))
}

/// Ranks documents by a preference, and groups them by fields, which may depend on their content.
struct Ranker<'a> {
    /// The inputs, which are read only if the verdicts are not sufficient.
    reading: SecondReading,
    prefer: &'a Prefer,
    /// The field that groups the documents of a cluster. One document per value is kept.
    one_per: Option<&'a Field>,
    /// The field whose values are sources, if the share of a source that may be dropped is limited.
    source: Option<&'a Field>,
    choice: Choice,
    /// Number of documents so far.
    documents: u64,
    /// Number of documents without the number or time that the preference needs.
    lacking: u64,
    /// Number of documents with a date, and with a number, at the pointer of the preference.
    dates_and_numbers: (u64, u64),
    /// Number of documents without a value of `one_per`.
    lacking_group: u64,
    sources: Sources,
}

impl Ranker<'_> {
    /// Ranks the document of `decision`. Decisions must come in the order of the inputs.
    fn rank(&mut self, decision: &Decision) -> Result<()> {
        let from_verdict = self.prefer.rank_from_verdict(decision);
        let mut fields = self.one_per.into_iter().chain(self.source);
        let original = match fields.any(Field::needs_content) || from_verdict.is_none() {
            true => Some(self.reading.find((decision.input, decision.number), |_, _| Ok::<_, Error>(()))?),
            false => None,
        };
        let json = original.as_ref().and_then(Original::json);
        let from_content = || json.map_or(Rank::None, |json| self.prefer.rank_from_content(json));
        let rank = from_verdict.unwrap_or_else(from_content);
        match rank {
            Rank::None => self.lacking += 1,
            Rank::Date(_) => self.dates_and_numbers.0 += 1,
            Rank::Number(_) => self.dates_and_numbers.1 += 1,
            Rank::Whole(_) => {}
        }
        let value = |field: Option<&Field>| field?.value(decision, json);
        let group = value(self.one_per);
        self.lacking_group += u64::from(self.one_per.is_some() && group.is_none());
        self.choice.offer(self.documents, decision, rank, group.as_deref());
        if self.source.is_some() {
            self.sources.push(value(self.source).as_deref());
        }
        self.documents += 1;
        Ok(())
    }

    /// Rejects fields that no document has, and reports how many documents lack them.
    fn check_fields(&self) -> Result<()> {
        let prefer = self.prefer;
        let value = match prefer {
            Prefer::Highest(pointer) | Prefer::Lowest(pointer) => {
                Some(format!("number or date at {pointer}"))
            }
            Prefer::Newest | Prefer::Oldest => Some("time of fetch (fetched_at)".to_owned()),
            Prefer::Published => Some("date of publication".to_owned()),
            Prefer::First | Prefer::Longest => None,
        };
        if let Some(value) = value {
            let option = format!("--prefer {prefer}");
            // Nobody knows in advance if pages state a date, so the option is not an error even if none does.
            let is_needed = *prefer != Prefer::Published;
            let effect = "documents that have one are preferred";
            self.check_lacking(&option, &value, self.lacking, is_needed, effect)?;
            let (dates, numbers) = self.dates_and_numbers;
            if dates > 0 && numbers > 0 {
                terminal::note(format_args!(
                    "{option}: {dates} documents have a date and {numbers} a number, which cannot be compared; documents \
                     with a number are preferred"
                ));
            }
        }
        let Some(field) = self.one_per else { return Ok(()) };
        let (option, value) = (format!("--one-per {field}"), format!("value of {field}"));
        // If no document has a host, the documents lack urls; the option itself is valid.
        self.check_lacking(&option, &value, self.lacking_group, *field != Field::Host, "they are one group")
    }

    /// Reports the documents without a value that an option needs, and rejects the option if it is needed and all lack it.
    fn check_lacking(
        &self,
        option: &str,
        value: &str,
        lacking: u64,
        is_needed: bool,
        effect: &str,
    ) -> Result<()> {
        let documents = self.documents;
        if is_needed && lacking == documents && documents > 0 {
            return Err(Error::wrong_option(format_args!(
                "{option}: none of the {documents} documents has a {value}; check the option, or leave it out. No \
                 document is written, and the table is not saved"
            )));
        }
        if lacking > 0 {
            terminal::note(format_args!(
                "{lacking} of {documents} documents have no {value} ({option}); in their clusters, {effect}"
            ));
        }
        Ok(())
    }
}

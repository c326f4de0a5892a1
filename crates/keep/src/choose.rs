//! Chooses the documents to keep once a run has decided on all pages, and before `--verify` compares their texts.
//!
//! In: the decisions of the run, and the inputs again if the choice depends on the documents themselves (`--prefer`,
//! `--one-per`). Out: a [`Choice`]; an error if no document has the field that the options name.

use super::fields::Field;
use super::guard::Sources;
use super::options::Options;
use super::prefer::{Choice, Prefer, Rules};
use super::rank::{Needs, Ranked, Ranker};
use super::spool::Spooled;
use crate::error::{Error, Result};
use leitong_base::terminal;
use leitong_formats::SecondReading;

/// Chooses the documents to keep. `reading` reads the inputs again, with the given fields. If the documents had to be
/// read, also returns their sources.
pub(super) fn choose(
    options: &Options,
    rules: Rules,
    reading: impl FnOnce(Vec<String>) -> SecondReading,
    spooled: &mut Spooled,
) -> Result<(Choice, Option<Sources>)> {
    let needs = Needs {
        prefer: options.prefer.clone(),
        one_per: options.one_per.clone(),
        source: options.by.clone().filter(|_| options.source_removed_max.is_some()),
    };
    if options.keeps_first(rules) {
        return Ok((Choice::first(rules), None));
    }
    let mut ranker = Ranker::new(reading(needs.fields()), needs, Choice::ranked(rules));
    spooled.each(|_, decision| ranker.rank(decision))?;
    let ranked = ranker.finish();
    check_fields(options, &ranked)?;
    Ok((ranked.choice, Some(ranked.sources)))
}

/// Rejects fields that no document has, and reports how many documents lack them.
fn check_fields(options: &Options, ranked: &Ranked) -> Result<()> {
    let prefer = &options.prefer;
    let value = match prefer {
        Prefer::Highest(pointer) | Prefer::Lowest(pointer) => Some(format!("number or date at {pointer}")),
        Prefer::Newest | Prefer::Oldest => Some("time of fetch (fetched_at)".to_owned()),
        Prefer::Published => Some("date of publication".to_owned()),
        Prefer::First | Prefer::Longest => None,
    };
    if let Some(value) = value {
        let option = format!("--prefer {prefer}");
        let lack =
            Lack { option: &option, value: &value, lacking: ranked.lacking, documents: ranked.documents };
        // Nobody knows in advance if pages state a date, so the option is not an error even if none does.
        if *prefer != Prefer::Published {
            lack.reject_if_all()?;
        }
        lack.note("documents that have one are preferred");
        let (dates, numbers) = ranked.dates_and_numbers;
        if dates > 0 && numbers > 0 {
            terminal::note(format_args!(
                "{option}: {dates} documents have a date and {numbers} a number, which cannot be compared; documents with a \
                 number are preferred"
            ));
        }
    }
    if let Some(field) = &options.one_per {
        let (option, value) = (format!("--one-per {field}"), format!("value of {field}"));
        let lacking = ranked.lacking_group;
        let lack = Lack { option: &option, value: &value, lacking, documents: ranked.documents };
        // If no document has a host, the documents lack urls; the option itself is valid.
        if *field != Field::Host {
            lack.reject_if_all()?;
        }
        lack.note("they are one group");
    }
    Ok(())
}

/// The documents without a value that an option needs.
struct Lack<'a> {
    option: &'a str,
    value: &'a str,
    lacking: u64,
    documents: u64,
}

impl Lack<'_> {
    fn reject_if_all(&self) -> Result<()> {
        let Self { option, value, lacking, documents } = self;
        if lacking < documents || *documents == 0 {
            return Ok(());
        }
        Err(Error::wrong_option(format_args!(
            "{option}: none of the {documents} documents has a {value}; check the option, or leave it out. No document is \
             written, and the table is not saved"
        )))
    }

    fn note(&self, effect: &str) {
        let Self { option, value, lacking, documents } = self;
        if *lacking > 0 {
            terminal::note(format_args!(
                "{lacking} of {documents} documents have no {value} ({option}); in their clusters, {effect}"
            ));
        }
    }
}

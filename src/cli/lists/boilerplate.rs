//! `leitong boilerplate`: lists paragraphs that occur on many pages, for `paragraph.boilerplate_file`.
//! `build` counts the paragraphs of files, [`site`](crate::cli::lists::boilerplate_of_site) those of one site in the page
//! topic.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::files::documents::Counted;
#[cfg(feature = "kafka")]
use crate::cli::lists::boilerplate_of_site;
use leitong_base::terminal;
use leitong_fingerprint::boilerplate::{HEADER, letters_hash};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the paragraphs that occur on many pages. Review the list before you name it in
    /// `paragraph.boilerplate_file`
    #[command(after_help = "\
    Example:
  leitong boilerplate build --output boilerplate.txt pages.jsonl.gz")]
    Build {
        #[command(flatten)]
        pages: Counted,
        /// List only paragraphs that are on at least N pages. N must be higher than the number of copies of any text
        #[arg(long, value_name = "N", default_value_t = 20)]
        pages_min: u32,
        /// Paragraphs held in memory; beyond that, the rarest are dropped
        #[arg(long, value_name = "N", default_value_t = 5_000_000)]
        paragraphs_max: usize,
    },
    /// List the paragraphs that pages of one site share, read from a worker's page topic. Use it for the site
    /// that a template alarm names
    #[cfg(feature = "kafka")]
    Site(boilerplate_of_site::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (given, pages_min, paragraphs_max) = match &arguments.action {
        Action::Build { pages, pages_min, paragraphs_max } => (pages, pages_min, paragraphs_max),
        #[cfg(feature = "kafka")]
        Action::Site(arguments) => return boilerplate_of_site::run(arguments),
    };
    // For each paragraph, the number of pages that it is on, and its text once it was seen on a second page.
    let mut counts = HashMap::<u64, (u32, Box<str>)>::new();
    let mut pages = 0_u64;
    let (status, parts) = given.for_each(|terms| {
        pages += 1;
        // Normalised text, as the detector sees it.
        let texts = terms.paragraphs().iter().map(|paragraph| &terms.text()[paragraph.text.clone()]);
        let mut of_page: Vec<(u64, &str)> =
            texts.filter_map(|text| Some((letters_hash(text)?, text))).collect();
        of_page.sort_unstable_by_key(|(hash, _)| *hash);
        of_page.dedup_by_key(|(hash, _)| *hash);
        for (hash, text) in of_page {
            match counts.entry(hash) {
                Entry::Vacant(entry) => _ = entry.insert((1, "".into())),
                Entry::Occupied(mut entry) => {
                    let (count, known) = entry.get_mut();
                    *count += 1;
                    if known.is_empty() {
                        *known = text.replace(['\n', '\r'], " ").into();
                    }
                }
            }
        }
        let mut least = 1;
        while counts.len() > (*paragraphs_max).max(1_000) {
            counts.retain(|_, (count, _)| *count > least);
            least += 1;
        }
    })?;
    let mut common: Vec<(u32, Box<str>)> =
        counts.into_values().filter(|(count, _)| count >= pages_min).collect();
    common.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut file = format!("{HEADER}\n# On {pages_min} pages or more of {pages}.\n");
    common.iter().for_each(|(_, text)| file.push_str(&format!("{text}\n")));
    given.write(parts, &file)?;
    terminal::note(format_args!("{pages} pages, {} common paragraphs", common.len()));
    Ok(status)
}

//! Runs all parts of an evaluation and puts the report together.

use super::pairs::{self, Compared};
use super::parallel::Workers;
use super::passages::Passages;
use super::recall::{self, Recall};
use super::report::{DetectorReport, Report};
use super::{EvaluatedDetector, fingerprints, stream};
use crate::pages::{EvalPage, Sample, are_labelled, founders, labelled_pairs};
use crate::perturb::{Change, Condition, Perturber};
use leitong_base::terminal;
use leitong_text::segment::Segmenter;

/// Settings of an evaluation.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Seed of the random number generator.
    pub seed: u64,
    /// Number of texts to perturb.
    pub texts: usize,
    /// Number of unrelated pairs to compare.
    pub pairs: usize,
    /// Lines of synonyms that replace words; may be empty.
    pub synonyms: String,
    /// Number of threads.
    pub threads: usize,
}

/// Evaluates detectors on `pages`. The report names `inputs` as their origin. Shows the progress on a
/// terminal.
///
/// # Errors
/// A message if the synonyms of the plan cannot be used.
pub(crate) fn evaluate(
    inputs: Vec<String>,
    pages: &[EvalPage],
    evaluated: &[EvaluatedDetector],
    segmenter: &Segmenter,
    plan: &Plan,
) -> Result<Report, String> {
    let workers = &Workers::new(plan.threads);
    let labelled = are_labelled(pages);
    let prints = fingerprints(pages, evaluated, segmenter, workers);
    let founders = founders(pages);
    let Sample { texts, others } = Sample::draw(pages, &founders, plan.texts, plan.seed);
    let texts: Vec<String> = texts.into_iter().map(|at| pages[at].document.text()).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let perturber = Perturber::new(others, &plan.synonyms)?;
    let conditions = if texts.is_empty() { Vec::new() } else { Condition::all(!plan.synonyms.is_empty()) };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let recalls = recall::measure(&texts, &conditions, &perturber, evaluated, segmenter, workers, plan.seed);
    let (related, related_pairs) = if labelled {
        (labelled_pairs(pages), "each labelled near-duplicate with the first page of its cluster")
    } else {
        (Vec::new(), "each text and a copy of it with 5 % rewritten")
    };
    let passages = Passages::new(pages);
    let unrelated = unrelated_pairs(pairs::draw(&founders, plan.pairs, plan.seed), &passages, labelled);
    let numbered: Vec<usize> = (0..evaluated.len()).collect();
    let reports = workers.map(
        "comparing pairs and scoring streams, by detector",
        &numbered,
        || (),
        |(), number| {
            let (EvaluatedDetector { name, detector }, of_detector, recall) =
                (&evaluated[*number], &prints[*number], recalls[*number].clone());
            let related = if labelled {
                pairs::compare(&related, &of_detector.prints, &**detector)
            } else {
                rewritten(&recall)
            };
            let unrelated = pairs::compare(&unrelated, &of_detector.prints, &**detector);
            DetectorReport {
                name: name.clone(),
                micros_per_6_kb: of_detector.micros_per_6_kb,
                bytes: of_detector.bytes,
                judged: of_detector.prints.iter().flatten().count() as f64 / pages.len() as f64,
                counts: of_detector.counts.clone(),
                stream: labelled.then(|| stream::score(pages, &of_detector.prints, detector, plan.seed)),
                distances: pairs::distances(&related, &unrelated),
                false_matches: pairs::false_matches(&founders, &passages, &of_detector.prints, &**detector),
                recall,
            }
        },
    );
    Ok(Report {
        inputs,
        pages: pages.len(),
        labelled,
        seed: plan.seed,
        texts: texts.len(),
        related_pairs: related_pairs.to_owned(),
        detectors: reports,
    })
}

/// Returns the drawn pairs that are unrelated. Without labels the copies are not known, so pairs that share
/// most of their passages are left out.
fn unrelated_pairs(drawn: Vec<(usize, usize)>, passages: &Passages, labelled: bool) -> Vec<(usize, usize)> {
    if labelled {
        return drawn;
    }
    let count = drawn.len();
    let left: Vec<_> = drawn.into_iter().filter(|(a, b)| !passages.are_mostly_shared(*a, *b)).collect();
    if left.len() < count {
        terminal::note(format_args!(
            "{} of {count} random pairs share most of their passages; they count as copies, not as \
             unrelated",
            count - left.len()
        ));
    }
    left
}

/// Returns the comparisons of related pairs to use if there are no labels: each text and its copy with 5 %
/// rewritten.
fn rewritten(recalls: &[Recall]) -> Vec<Compared> {
    let is_it = |recall: &&Recall| recall.condition == Condition { change: Change::Rewritten, level: 0.05 };
    let recall = recalls.iter().find(is_it);
    recall.map_or_else(Vec::new, |recall| recall.compared.clone())
}

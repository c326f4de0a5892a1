//! Slow without optimisation: `cargo test` runs only a part, `make simulation` all of it.
//!
//! `LEITONG_SIMULATE_SEED` sets the first seed. `LEITONG_SIMULATE_RUNS` and `LEITONG_SIMULATE_SECONDS` (of
//! real time) run for longer; `make simulate` sets them. `LEITONG_SIMULATE_TRACE` names a file for all
//! requests of a failed run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::Mistake;
use super::run::{Outcome, run, run_older_after_newer};

/// Simulated seconds of faults in one run.
const SECONDS: u64 = 60;
fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Runs a seed; a panic counts as a failure.
fn outcome(seed: u64, seconds: u64, mistake: Option<Mistake>, traced: bool) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, seconds, mistake, traced)));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        Outcome { result: Err(format!("a panic: {text}")), steps: 0, trace: Vec::new(), look_ups: [0; 3] }
    })
}

/// Returns the shortest run of the seed that still fails, with the end of its trace.
fn shrunk(seed: u64, wrong: &str) -> String {
    let (mut low, mut high) = (0, SECONDS);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if outcome(seed, middle, None, false).result.is_err() { high = middle } else { low = middle }
    }
    let shortest = outcome(seed, high, None, true);
    if let Ok(path) = std::env::var("LEITONG_SIMULATE_TRACE") {
        std::fs::write(path, shortest.trace.join("\n")).expect("the trace is written");
    }
    let trace = &shortest.trace[shortest.trace.len().saturating_sub(60)..];
    let shorter = shortest.result.err().unwrap_or_default();
    format!(
        "LEITONG_SIMULATE_SEED={seed} LEITONG_SIMULATE_RUNS=1: {wrong}\nthe shortest run that fails has {high} s of \
         faults: {shorter}\nits last requests:\n{}",
        trace.join("\n")
    )
}

#[test]
fn every_page_has_exactly_one_outcome_whatever_happens() {
    // Fixed seeds, then new ones: `make test` runs some of both, `make simulate` new ones for any length of
    // time.
    let seconds = from_environment("LEITONG_SIMULATE_SECONDS").unwrap_or(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    let fresh = u64::try_from(now.as_micros()).expect("a seed");
    let first = from_environment("LEITONG_SIMULATE_SEED");
    let fixed = if seconds == 0 { from_environment("LEITONG_SIMULATE_FIXED").unwrap_or(4) } else { 0 };
    let runs = from_environment("LEITONG_SIMULATE_RUNS").unwrap_or(if first.is_some() { 1 } else { 4 });
    let began = Instant::now();
    let (mut steps, mut done, mut look_ups) = (0, 0, [0; 3]);
    while done < runs || began.elapsed() < Duration::from_secs(seconds) {
        let seed = match first {
            Some(first) => first + done,
            None if done < fixed => done,
            None => fresh + done,
        };
        let outcome = outcome(seed, SECONDS, None, false);
        steps += outcome.steps;
        look_ups = std::array::from_fn(|of| look_ups[of] + outcome.look_ups[of]);
        done += 1;
        if let Err(wrong) = outcome.result {
            panic!("{}", shrunk(seed, &wrong));
        }
    }
    let [owner, standby, refused] = look_ups;
    println!("look-ups: {owner} answered by owners, {standby} by standbys, {refused} refused");
    assert!(first.is_some() || (owner > 1000 && refused > 100), "hardly any look-up was answered or refused");
    println!("{done} runs, {steps} steps in {:.1} s", began.elapsed().as_secs_f64());
}

#[test]
fn a_seed_gives_the_same_run_to_the_byte() {
    // The table of the last seed is on disk.
    for seed in 1..4 {
        let [one, other] = [(); 2].map(|()| run(seed, 20, None, true));
        assert_eq!(one.result, Ok(()));
        assert!(one.trace == other.trace && one.steps == other.steps, "seed {seed}");
        assert!(one.trace.len() > 100, "{} requests", one.trace.len());
    }
}

#[test]
#[ignore = "slow without optimisation: `make simulation` runs it"]
fn mistakes_are_found() {
    const ALL: [Mistake; 26] = [
        Mistake::FencesNobody,
        Mistake::ReadsBeforeFencing,
        Mistake::OffsetBeforeDeliveries,
        Mistake::SameProducerAfterRepetition,
        Mistake::CommitBeforeChangelog,
        Mistake::ForgetsWatermarks,
        Mistake::LosesCentroid,
        Mistake::ForgetsCanonicalPages,
        Mistake::ForgetsCrawls,
        Mistake::ForgetsLogTime,
        Mistake::DeletesUnexpired,
        Mistake::NumbersOffByOne,
        Mistake::RestoreEndsBeforeFounded,
        Mistake::BoundsFall,
        Mistake::StandbyAheadOfCommits,
        Mistake::OffsetOutsideOfTransaction,
        Mistake::CommitsNoOffset,
        Mistake::ReaderSkipsRecord,
        Mistake::DoubtReadsUncommitted,
        Mistake::NoIdempotence,
        Mistake::PageOffsetsBeforeDeliveries,
        Mistake::NamesNoPredecessor,
        Mistake::SessionOutlivesFailure,
        Mistake::RestoreEndsEarly,
        Mistake::CommitsWhatWasLeftOpen,
        Mistake::OverlooksOpenRecords,
    ];
    // Another check catches this: the committed offset after a take-over.
    const SURVIVED: [Mistake; 1] = [Mistake::TrustsLostAnswers];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = |mistake| (0..60).find(|seed| outcome(*seed, SECONDS, Some(mistake), false).result.is_err());
    let results: Vec<_> = ALL.into_iter().map(|mistake| (mistake, found(mistake))).collect();
    std::panic::set_hook(hook);
    for (mistake, seed) in &results {
        println!("{mistake:?}: found by seed {seed:?}");
    }
    let missed: Vec<_> = results.iter().filter(|(_, seed)| seed.is_none()).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
    for mistake in SURVIVED {
        let outcomes = (0..20).map(|seed| outcome(seed, SECONDS, Some(mistake), false).result);
        assert_eq!(outcomes.collect::<Result<Vec<()>, String>>().map(|_| ()), Ok(()), "{mistake:?}");
    }
}

/// An instance of an older version must say that it has to be updated before it sets its good snapshot aside, and
/// before it reads the whole changelog from the beginning.
#[test]
fn an_older_instance_after_a_newer_one_halts_and_keeps_its_snapshot() {
    for seed in 0..3 {
        let (why, in_place) = run_older_after_newer(seed);
        let halted = why.iter().filter(|why| why.contains("update this instance")).count();
        assert_eq!(halted, 2, "{why:?}");
        assert_eq!(in_place, [true; 2], "seed {seed}: no snapshot may be set aside");
    }
}

#[test]
fn tables_on_disk_are_reused() {
    let (mut begun, mut taken_up) = (0, 0);
    for seed in [3, 7, 11, 15] {
        let outcome = outcome(seed, SECONDS, None, true);
        assert_eq!(outcome.result, Ok(()), "seed {seed}");
        let opened = outcome.trace.iter().filter(|line| line.contains("is opened"));
        let (with_blocks, without): (Vec<_>, Vec<_>) =
            opened.partition(|line| line.contains("\"centroids.leitong\"") && line.contains(".block\""));
        (begun, taken_up) = (begun + without.len(), taken_up + with_blocks.len());
    }
    println!("{begun} tables begun on disk, {taken_up} taken up again");
    assert!(begun > 5 && taken_up > 5, "{begun} tables begun on disk, {taken_up} taken up again");
}

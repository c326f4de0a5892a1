//! The protocol of the worker against everything that may happen, in a model drawn from seeds. See `model/`.
//!
//! `LEITONG_MODEL_RUNS` makes it longer, `LEITONG_MODEL_SEED` begins elsewhere.

mod model;

use model::Mistake;
use model::world::World;

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn run(seed: u64, mistake: Mistake) -> Result<(), String> {
    // An owner that finds what must not be panics in the model, and halts in the program.
    let result = std::panic::catch_unwind(|| World::new(seed, mistake).run());
    result.unwrap_or_else(|_| Err("an owner found what must not be".to_owned()))
}

#[test]
fn exactly_one_outcome_whatever_happens() {
    let first = from_environment("LEITONG_MODEL_SEED", 1);
    for seed in first..first + from_environment("LEITONG_MODEL_RUNS", 300) {
        if let Err(wrong) = run(seed, Mistake::None) {
            panic!("LEITONG_MODEL_SEED={seed} LEITONG_MODEL_RUNS=1: {wrong}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_to_the_byte() {
    for seed in 1..5 {
        let traces = [(); 2].map(|()| {
            let mut world = World::new(seed, Mistake::None);
            world.run().expect("right");
            world.trace
        });
        assert!(traces[0] == traces[1], "seed {seed}");
        assert!(
            traces[0].contains("UNIQUE")
                && traces[0].contains("EXACT_DUPLICATE")
                && traces[0].contains("dead")
        );
    }
}

#[test]
fn the_model_finds_mistakes() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<Mistake> = [
        Mistake::CommitsBeforeDelivery,
        Mistake::NamesNoPredecessor,
        Mistake::FencesNobody,
        Mistake::ReadsBeforeFencing,
        Mistake::TrustsLostAnswers,
    ]
    .into_iter()
    .filter(|mistake| (1..100).all(|seed| run(seed, *mistake).is_ok()))
    .collect();
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}

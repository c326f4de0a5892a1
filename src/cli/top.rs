//! `leitong top`: shows on a terminal what workers do, from their admin ports.

mod ask;
mod screen;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::documents;
use super::interrupt::Interrupt;
use super::settings::{self, wrong};
use crate::console::frame::{Answer, Seen, frame};
use ask::Port;
use leitong_base::record::Timestamp;
use screen::Screen;

/// Limit on admin ports, since each is asked by a thread of its own.
const PORTS_MAX: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong top
  leitong top --admin http://worker-0:9464 --admin http://worker-1:9464
  leitong top --config leitong.toml --once

On a terminal, press q or Ctrl-C to quit. Without a terminal, frames are printed one after the other, separated by
empty lines. Rates, duplicates and delays cover the last minute, or the time since `leitong top` started.")]
pub(super) struct Arguments {
    /// Admin port of a worker, such as http://127.0.0.1:9464; repeat the option for several workers
    /// [default: admin.address of the configuration]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    admin: Vec<String>,
    /// Configuration file, which names admin.address
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// Print one frame after a second, and exit. The exit status is 1 if a worker does not answer
    #[arg(long)]
    once: bool,
}

/// Asks all workers in parallel. Returns true if all answer.
fn look(ports: &[Port], workers: &mut [Seen], began: Instant) -> bool {
    let answers: Vec<Result<Answer, String>> = std::thread::scope(|scope| {
        let asking: Vec<_> = ports.iter().map(|port| scope.spawn(|| port.ask())).collect();
        let answer = |asked: std::thread::ScopedJoinHandle<'_, _>| {
            asked.join().unwrap_or_else(|_| Err("the request failed".to_owned()))
        };
        asking.into_iter().map(answer).collect()
    });
    let all_answer = answers.iter().all(Result::is_ok);
    let seconds = began.elapsed().as_secs_f64();
    workers.iter_mut().zip(answers).for_each(|(worker, answer)| worker.take(seconds, answer));
    all_answer
}

fn lines(workers: &[Seen]) -> Vec<String> {
    let now = Timestamp::now();
    let mut lines = frame(workers, now.as_ms() as f64 / 1e3);
    if let Some(first) = lines.first_mut() {
        *first = format!("leitong top  {now}  {first}");
    }
    lines
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut given = arguments.admin.clone();
    if given.is_empty() {
        let config = settings::config(arguments.config.as_deref(), None, None)?;
        let address = config.admin.address;
        if address.is_empty() {
            return Err(wrong(
                "admin.address is empty, so workers have no admin port; set it, or name one with --admin",
            ));
        }
        if address.ends_with(":0") {
            return Err(wrong(format_args!(
                "admin.address = {address:?} lets the worker choose a free port; pass the address in its log with --admin"
            )));
        }
        given.push(address);
    }
    if given.len() > PORTS_MAX {
        return Err(wrong(format_args!(
            "--admin: {} workers were named; at most {PORTS_MAX} can be watched at once",
            given.len()
        )));
    }
    let ports: Vec<Port> =
        given.iter().map(|text| text.parse().map_err(wrong)).collect::<anyhow::Result<_>>()?;
    let mut workers: Vec<Seen> = ports.iter().map(|port| Seen::new(port.name())).collect();
    let interrupt = Interrupt::listen()?;
    let began = Instant::now();
    let mut all_answer = look(&ports, &mut workers, began);
    if arguments.once {
        crate::backoff::backoff(Duration::from_secs(1));
        all_answer &= look(&ports, &mut workers, began);
        documents::print(&format!("{}\n", lines(&workers).join("\n")))?;
        return Ok(if all_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut screen = Screen::open()?;
    while !interrupt.is_requested() {
        screen.show(&lines(&workers))?;
        let next = Instant::now() + Duration::from_secs(arguments.interval);
        while Instant::now() < next && !interrupt.is_requested() {
            if screen.wait_for_quit()? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        look(&ports, &mut workers, began);
    }
    Ok(ExitCode::SUCCESS)
}

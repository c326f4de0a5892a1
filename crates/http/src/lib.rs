//! The HTTP edge of Leitong: the API of `serve` and of workers, the admin port of a worker, and the console.
//!
//! No module uses one that is listed below it. The feature `console` adds web pages.

mod error;

mod port;

mod answer;

pub mod api;

mod state;

#[cfg(feature = "console")]
pub mod console;

pub mod admin;

pub use error::Error;
pub use state::live::MOMENT_S;

#[cfg(test)]
#[path = "../../../tests/common/wait.rs"]
mod wait;

//! Commands that run until they are stopped, and those that ask brokers.

#[cfg(feature = "console")]
pub(in crate::cli) mod console;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod doctor;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod replay;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod run;
pub(in crate::cli) mod serve;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod tap;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod topics;

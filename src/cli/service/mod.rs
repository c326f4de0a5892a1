//! Commands that run until they are stopped, and those that ask brokers.

#[cfg(feature = "console")]
pub(crate) mod console;
#[cfg(feature = "kafka")]
pub(crate) mod doctor;
#[cfg(feature = "kafka")]
pub(crate) mod replay;
#[cfg(feature = "kafka")]
pub(crate) mod run;
pub(crate) mod serve;
#[cfg(feature = "kafka")]
pub(crate) mod tap;
#[cfg(feature = "kafka")]
pub(crate) mod topics;

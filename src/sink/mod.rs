//! Where verdicts and dead letters go: files, standard output and standard error, or topics ([`kafka`]).

pub mod files;
pub mod kafka;
pub mod whole_lines;

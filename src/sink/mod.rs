//! Where verdicts and dead letters go: files, standard output and standard error; later, Kafka.

pub mod files;
pub mod whole_lines;

//! Tests without a broker: commands, formats, extraction, the console and the HTTP API, and the promises of
//! sources and documentation. One program, so it is linked once and its tests run in parallel.

#[cfg(feature = "stores")]
mod archives;
mod arrow;
mod audit;
mod canonical;
mod checkpoint;
mod circles;
mod cli;
mod commit_subjects;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod console;
mod corpus_day;
mod csv;
mod decode_charsets;
mod dedup_bad_input;
mod dedup_formats;
mod dedup_samples;
mod evaluation;
mod extract_kinds;
mod extract_pages;
mod extract_properties;
mod extract_themes;
mod features;
mod figures;
mod free_ports;
mod hostile_api;
mod hostile_pages;
mod input_kinds;
mod keep;
mod kills;
mod languages;
mod messages;
mod no_content;
mod odd_inputs;
mod on_disk;
mod openapi;
mod paged_articles;
mod parquet;
mod passages;
mod presets;
mod public_items;
mod purity;
mod readme;
mod receipt;
mod recrawls;
mod repeated;
mod rooms;
mod secret;
mod seen_texts;
mod serve;
mod shards;
mod site;
mod size;
mod source_metadata;
#[cfg(feature = "stores")]
mod stores;
mod streams;
mod style;
mod table;
mod texts;
mod verdict_schema;
mod verify;
mod workflows;

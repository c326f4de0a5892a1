//! Corpora from other programs: WARC files by `warcio`, and objects of a store, S3Proxy. `make all-tools` fetches the
//! programs that these tests run.

mod indexes;
#[path = "../../kafka/broker/jars.rs"]
mod jars;
mod lists;
mod outputs;
mod pins;
mod proxy;
mod revisits;
mod store;
mod warcio;

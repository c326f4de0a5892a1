//! Compiles `proto/`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    compile_protobuf()
}

/// Compiles the schemas with protox, a protobuf compiler in Rust. No system `protoc` is needed.
fn compile_protobuf() -> Result<(), Box<dyn Error>> {
    let names = ["page", "fingerprint", "centroid", "position", "snapshot", "journal", "verdict"];
    let files = names.map(|name| format!("proto/leitong/v1/{name}.proto"));
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(&files, ["proto"])?;
    prost_build::Config::new().bytes(["."]).compile_fds(descriptors)?;
    Ok(())
}

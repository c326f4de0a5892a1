//! Compiles `proto/` with protox, a protobuf compiler in Rust, so that no system `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["page", "fingerprint", "centroid", "position", "verdict"]
        .map(|name| format!("proto/leitong/v1/{name}.proto"));
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(&files, ["proto"])?;
    prost_build::Config::new().bytes(["."]).compile_fds(descriptors)?;
    Ok(())
}

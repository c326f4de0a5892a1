//! Compiles `proto/`, and finds jieba's dictionary.

use std::error::Error;
use std::process::Command;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    compile_protobuf()?;
    let dictionary = jieba_dictionary()?;
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rerun-if-changed={dictionary}");
    println!("cargo:rustc-env=JIEBA_DICTIONARY={dictionary}");
    Ok(())
}

/// With protox, a protobuf compiler in Rust, so that no system `protoc` is needed.
fn compile_protobuf() -> Result<(), Box<dyn Error>> {
    let names = ["page", "fingerprint", "centroid", "position", "snapshot", "journal", "verdict"];
    let mut files = names.map(|name| format!("proto/leitong/v1/{name}.proto")).to_vec();
    files.push("proto/leitong/otlp/trace.proto".to_owned());
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(&files, ["proto"])?;
    prost_build::Config::new().bytes(["."]).compile_fds(descriptors)?;
    Ok(())
}

/// The dictionary that comes with jieba-rs: the library keeps it to itself, so it is read from the package, wherever
/// Cargo has it (its registry, or a vendored folder).
fn jieba_dictionary() -> Result<String, Box<dyn Error>> {
    // What is needed to build is there, so this needs no network; where a package that only tests need is not, it does.
    let metadata = metadata(&["--offline"]).or_else(|_| metadata(&[]))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifests =
        packages.filter(|package| package["name"] == "jieba-rs").map(|package| &package["manifest_path"]);
    let dictionaries =
        manifests.filter_map(Value::as_str).map(|path| path.replace("Cargo.toml", "src/data/dict.txt"));
    dictionaries.into_iter().find(|path| std::path::Path::new(path).is_file()).ok_or_else(|| {
        "the package jieba-rs has no src/data/dict.txt: use the version that Cargo.lock names".into()
    })
}

fn metadata(options: &[&str]) -> Result<Value, Box<dyn Error>> {
    let output = Command::new(std::env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        .arg(std::env::var("TARGET")?)
        .args(options)
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

//! Compiles jieba's dictionary into the form that `src/segment/chinese/dictionary.rs` reads.

#[path = "src/segment/chinese/cuts.rs"]
mod cuts;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let dictionary = jieba_dictionary()?;
    // In this repository the lock file is that of the workspace; in a published crate it is the crate's own.
    for lock in ["../../Cargo.lock", "Cargo.lock"].into_iter().filter(|lock| Path::new(lock).is_file()) {
        println!("cargo:rerun-if-changed={lock}");
    }
    println!("cargo:rerun-if-changed={dictionary}");
    // The tests compare with the original dictionary.
    println!("cargo:rustc-env=JIEBA_DICTIONARY={dictionary}");
    let compiled = compile_dictionary(&std::fs::read_to_string(dictionary)?)?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("dictionary.bin"), compiled)?;
    Ok(())
}

/// Converts the lines `word frequency tag` of the dictionary. Doing this at each start of the program would take a
/// hundred milliseconds.
///
/// The output consists of little-endian integers. First the sum of all frequencies (8 bytes). Then the number of
/// characters in ideographic words (4), and these characters (4 each), in descending order of frequency. Then the
/// number of distinct frequencies (4), and these (8 each), in descending order. Then each ideographic word: one byte
/// with the number of characters that it shares with the start of the word before (upper half) and the number of its
/// further characters minus one (lower half); and in 7 bits a byte, as protobuf has them, the index of its frequency from
/// the end of the list, how much the index of its first further character is above that of the word before, and the
/// indices of the others. Words are sorted by these indices, so prefixes are inserted one after the other. (With 2 bytes
/// for each index, the program would be 0.6 MB larger.)
fn compile_dictionary(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(word), Some(frequency)) = (fields.next(), fields.next()) else { continue };
        let frequency: u64 = frequency.parse().map_err(|error| format!("{line}: {error}"))?;
        lines.push((word, frequency));
    }
    let total: u64 = lines.iter().map(|(_, frequency)| frequency).sum();
    let frequencies: BTreeSet<Reverse<u64>> =
        lines.iter().map(|(_, frequency)| Reverse(*frequency)).collect();
    // Other words never occur in a run of ideographs.
    lines.retain(|(word, _)| word.chars().all(cuts::jieba_cuts));
    let mut characters = HashMap::<char, u64>::new();
    for (word, frequency) in &lines {
        word.chars().for_each(|c| *characters.entry(c).or_default() += frequency);
    }
    let mut characters: Vec<(char, u64)> = characters.into_iter().collect();
    characters.sort_unstable_by_key(|(c, frequency)| (Reverse(*frequency), *c));

    let mut compiled = total.to_le_bytes().to_vec();
    compiled.extend(u32::try_from(characters.len())?.to_le_bytes());
    compiled.extend(characters.iter().flat_map(|(c, _)| u32::from(*c).to_le_bytes()));
    compiled.extend(u32::try_from(frequencies.len())?.to_le_bytes());
    compiled.extend(frequencies.iter().flat_map(|frequency| frequency.0.to_le_bytes()));
    let places: HashMap<char, u16> = characters.iter().map(|(c, _)| *c).zip(0..).collect();
    let frequencies: HashMap<u64, u16> = frequencies.iter().map(|frequency| frequency.0).zip(0..).collect();
    let mut words: Vec<(Vec<u16>, u16)> = lines
        .iter()
        .map(|(word, frequency)| (word.chars().map(|c| places[&c]).collect(), frequencies[frequency]))
        .collect();
    words.sort_unstable();
    let mut before: &[u16] = &[];
    for (word, frequency) in &words {
        let common = before.iter().zip(word).take_while(|(a, b)| a == b).count();
        let more = &word[common..];
        if common > 15 || !(1..=16).contains(&more.len()) {
            return Err(format!(
                "{} characters after {common}: two words are the same, or one is too long",
                more.len()
            )
            .into());
        }
        compiled.push(u8::try_from(common << 4 | (more.len() - 1))?);
        push_varint(usize::from(*frequency).abs_diff(frequencies.len() - 1), &mut compiled);
        push_varint(usize::from(more[0] - before.get(common).copied().unwrap_or(0)), &mut compiled);
        more[1..].iter().for_each(|place| push_varint(usize::from(*place), &mut compiled));
        before = word;
    }
    Ok(compiled)
}

fn push_varint(mut number: usize, bytes: &mut Vec<u8>) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Returns the path of the dictionary that comes with jieba-rs. The library does not export it, so it is read from the
/// package, which may be in Cargo's registry or in a vendored folder.
fn jieba_dictionary() -> Result<String, Box<dyn Error>> {
    // This needs no network if all packages are available. If packages that only tests need are missing, they are
    // fetched.
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

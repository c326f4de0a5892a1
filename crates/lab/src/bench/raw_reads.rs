//! Measures what the disk allows, with a loop that only reads random places of a table's files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use leitong_base::random::Random;

/// Number of bytes of a read: the size of a page of keys.
const READ_BYTES: usize = 4 << 10;

/// Returns the reads per second of `threads` threads over `time`, evenly spread over all files in `folder`; 0
/// if no file is as long as a read.
///
/// # Errors
/// Fails if a file cannot be read.
pub(super) fn raw_reads(folder: &Path, threads: usize, time: Duration) -> io::Result<f64> {
    // Each file with the range of its places. Places are numbered across all files.
    let mut files = Vec::new();
    let mut places = 0;
    for entry in fs::read_dir(folder)? {
        let file = File::open(entry?.path())?;
        let first = places;
        places += file.metadata()?.len() / READ_BYTES as u64;
        files.push((first..places, file));
    }
    if places == 0 {
        return Ok(0.0);
    }
    let began = Instant::now();
    let read = |thread: usize| -> io::Result<u64> {
        let (mut random, mut reads) = (Random::new(1, thread as u64), 0);
        let mut page = vec![0; READ_BYTES];
        loop {
            let place = random.below(places as usize) as u64;
            let (range, file) = &files[files.partition_point(|(range, _)| range.end <= place)];
            file.read_exact_at(&mut page, (place - range.start) * READ_BYTES as u64)?;
            reads += 1;
            if began.elapsed() >= time {
                break;
            }
        }
        Ok(reads)
    };
    let read = &read;
    let reads: io::Result<u64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || read(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("reading does not panic")).sum()
    });
    Ok(reads? as f64 / began.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_reads_length_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let time = Duration::from_millis(20);
        assert_eq!(raw_reads(folder.path(), 2, time).expect("nothing to read"), 0.0);
        fs::write(folder.path().join("short"), [1; 10]).expect("written");
        fs::write(folder.path().join("long"), [1; 3 * READ_BYTES + 1]).expect("written");
        assert!(raw_reads(folder.path(), 2, time).expect("reads") > 0.0);
    }
}

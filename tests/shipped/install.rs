//! deploy/release/install.sh, run against a server on this machine: what it installs, and what it refuses.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::image::{ROOT, read};

/// Serves the files of a folder. Of a file `NAME`, only half arrives if `NAME.cut` exists.
fn serve(folder: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            answer(client.expect("a client"), &folder);
        }
    });
    address
}

fn answer(mut client: TcpStream, folder: &Path) {
    let mut lines = BufReader::new(&client).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let path = folder.join(request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/'));
    // All of it is read before the connection is closed.
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    // The client may have given up.
    let _ = match fs::read(&path) {
        Ok(body) => {
            let sent = if path.with_added_extension("cut").exists() { body.len() / 2 } else { body.len() };
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body[..sent]))
        }
        Err(_) => {
            client.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        }
    };
}

/// A release on a server, and a home folder to install it into.
struct Release {
    folder: TempDir,
    home: TempDir,
    url: String,
    archive: String,
}

/// Stands for the program where only its installation counts.
const PROGRAM: &str = "#!/bin/sh\necho leitong 0.2.0\n";

impl Release {
    /// Packs a program as deploy/static/package.sh does, and lists the sums as deploy/release/build.sh does.
    fn new(program: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let uname = Command::new("uname").arg("-m").output().expect("uname");
        let machine = String::from_utf8(uname.stdout).expect("UTF-8").trim().replace("arm64", "aarch64");
        let name = format!("leitong-0.2.0-{machine}-linux");
        let stage = tempfile::tempdir().expect("a folder");
        let unpacked = stage.path().join(&name);
        fs::create_dir_all(unpacked.join("examples")).expect("a folder");
        fs::copy(Path::new(ROOT).join("examples/pages.jsonl"), unpacked.join("examples/pages.jsonl"))
            .expect("pages");
        fs::write(unpacked.join("leitong"), program).expect("a program");
        let release = Self {
            url: serve(folder.path()),
            archive: format!("{name}.tar.gz"),
            home: tempfile::tempdir().expect("a folder"),
            folder,
        };
        let mut pack = Command::new("tar");
        pack.args(["--use-compress-program", "gzip -1", "--mode", "755", "-cf"]).arg(release.path());
        assert!(pack.arg("-C").arg(stage.path()).arg(&name).status().expect("tar").success());
        release.list_sums();
        release
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.archive)
    }

    fn list_sums(&self) {
        fs::copy(Path::new(ROOT).join("deploy/release/install.sh"), self.folder.path().join("install.sh"))
            .expect("the script");
        let mut sums = Command::new("sha256sum");
        sums.args(["--", "install.sh", &self.archive]).current_dir(&self.folder);
        let listed = sums.output().expect("sha256sum").stdout;
        fs::write(self.folder.path().join("SHA256SUMS"), listed).expect("a list");
    }

    /// Returns a command in the home folder of a user whose shell finds `~/.local/bin`.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}/.local/bin:/usr/local/bin:/usr/bin:/bin", self.home.path().display());
        command.env_clear().env("PATH", path).env("HOME", self.home.path());
        command.current_dir(&self.home).env("RELEASE", &self.url);
        command
    }

    fn install(&self, url: &str) -> Output {
        let script = self.folder.path().join("install.sh");
        self.command("sh").arg(script).arg(url).output().expect("a shell")
    }

    fn installed(&self, path: &str) -> PathBuf {
        self.home.path().join(".local").join(path)
    }

    /// Expects that nothing is installed, and that the last line of the script says why.
    #[track_caller]
    fn is_refused(&self, expected: &str) {
        let run = self.install(&self.url);
        let error = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{error}");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with("install.sh: ") && last.contains(expected), "{error}");
        assert!(!self.installed("").exists(), "something was installed");
    }
}

#[test]
fn the_install_script_installs_a_release_and_replaces_an_older_one() {
    let release = Release::new(PROGRAM.as_bytes());
    for round in 0..2 {
        let run = release.install(&release.url);
        let [stdout, stderr] = [&run.stdout, &run.stderr].map(|output| String::from_utf8_lossy(output));
        assert!(run.status.success(), "{round}: {stderr}");
        assert!(stdout.starts_with("leitong 0.2.0 is installed as "), "{stdout}");
        assert!(!stdout.contains("export PATH"), "its folder is in PATH: {stdout}");
        assert_eq!(fs::read_to_string(release.installed("bin/leitong")).expect("a program"), PROGRAM);
        fs::write(release.installed("bin/leitong"), "older").expect("written");
    }
    let names = fs::read_dir(release.installed("bin")).expect("a folder").count();
    assert_eq!(names, 1, "no other file stays next to the program");
    assert!(release.installed("share/leitong/examples/pages.jsonl").exists());
    assert!(!release.installed("share/leitong/leitong").exists(), "one program is enough");
}

#[test]
fn the_install_script_refuses_an_archive_with_another_sum() {
    let release = Release::new(PROGRAM.as_bytes());
    let archive = fs::read(release.path()).expect("an archive");
    fs::write(release.path(), [&archive[..], b"\n"].concat()).expect("written");
    release.is_refused("is incomplete or was changed: its SHA-256 sum is ");
    fs::write(release.path(), &archive[..archive.len() / 2]).expect("written");
    release.is_refused("but SHA256SUMS says ");
    fs::write(release.path(), archive).expect("written");
    assert!(release.install(&release.url).status.success());
    let program = fs::read(release.installed("bin/leitong")).expect("a program");
    fs::write(release.path(), "other").expect("written");
    assert_eq!(release.install(&release.url).status.code(), Some(1));
    assert_eq!(fs::read(release.installed("bin/leitong")).expect("a program"), program, "the old one stays");
}

#[test]
fn the_install_script_says_what_is_missing() {
    let release = Release::new(PROGRAM.as_bytes());
    let cut = release.path().with_added_extension("cut");
    fs::write(&cut, "").expect("written");
    release.is_refused("could not be downloaded: check address and connection");
    fs::remove_file(cut).expect("removed");
    fs::remove_file(release.path()).expect("removed");
    release.is_refused("could not be downloaded: check address and connection");

    let list = release.folder.path().join("SHA256SUMS");
    let line = |name: &str| format!("{:064x}  {name}\n", 0);
    fs::write(&list, line("leitong-0.2.0-riscv64-linux.tar.gz")).expect("written");
    release.is_refused("SHA256SUMS names no archive for ");
    let two = line(&release.archive) + &line(&release.archive.replace("0.2.0", "0.3.0"));
    fs::write(&list, two).expect("written");
    release.is_refused("SHA256SUMS names several archives for ");
    // The answer of a server that shows a page instead of an error.
    fs::write(&list, "<html>Sign in</html>").expect("written");
    release.is_refused("SHA256SUMS names no archive for ");
    fs::remove_file(&list).expect("removed");
    release.is_refused("SHA256SUMS could not be downloaded");
}

#[test]
fn the_install_script_refuses_a_program_that_does_not_run() {
    Release::new(b"#!/nonexistent/interpreter\n").is_refused("does not run on this machine");
}

#[test]
fn the_install_script_refuses_machines_without_a_program() {
    let release = Release::new(PROGRAM.as_bytes());
    for (system, expected) in [("MINGW64_NT-10.0", "use WSL on Windows"), ("Plan9", "build it from source")] {
        let script =
            format!("uname() {{ echo {system}; }}; . {}/install.sh", release.folder.path().display());
        let run = release.command("sh").args(["-c", &script, "sh", &release.url]).output().expect("a shell");
        let error = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.code() == Some(1) && error.contains(expected), "{error}");
    }
}

/// A reader copies the first commands of the README, in a folder of their own.
#[test]
fn the_first_commands_of_the_readme_run_as_they_stand() {
    let release = Release::new(&fs::read(env!("CARGO_BIN_EXE_leitong")).expect("the program"));
    let readme = read("README.md");
    let block = readme.split("```console\n").nth(1).and_then(|rest| rest.split("```").next());
    let block = block.expect("commands");
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 3 && commands[0].contains("install.sh"), "{commands:?}");
    let run = release.command("bash").args(["-euo", "pipefail", "-c", &commands.join("\n")]).output();
    let run = run.expect("bash");
    let printed = [run.stdout, run.stderr].map(|output| String::from_utf8(output).expect("UTF-8")).concat();
    assert!(run.status.success(), "{printed}");
    let shown = block.lines().filter(|line| !line.starts_with("$ "));
    let missing: Vec<&str> = shown.filter(|line| !printed.contains(line)).collect();
    assert!(missing.is_empty(), "{missing:?} was not printed:\n{printed}");
}

//! Other programs' servers that tests run next to workers.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The user id of `nobody`, the same everywhere.
pub(crate) const NOBODY: u32 = 65534;

/// A server. It ends when dropped, or with the test process, however that ends.
pub(crate) struct Server(Child);

impl Server {
    /// Starts `command`; its output goes to the file `log`. `signal` ends it.
    pub(crate) fn start(command: &Command, log: &Path, signal: &str) -> Self {
        Self(until_input_closes(command, log, signal).spawn().expect("sh starts"))
    }

    /// Starts a server that refuses to run as root.
    pub(crate) fn start_not_as_root(command: &Command, log: &Path, signal: &str) -> Self {
        Self(not_as_root(until_input_closes(command, log, signal)).spawn().expect("sh starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn until_input_closes(command: &Command, log: &Path, signal: &str) -> Command {
    let log = File::create(log).expect("a file");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$@\" < /dev/null & read line; kill -$0 $!; wait $!", signal])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log);
    shell
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the command run as [`NOBODY`] if the current user is root.
pub(crate) fn not_as_root(mut command: Command) -> Command {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

//! Servers of others that tests run beside workers.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `nobody` everywhere.
pub(crate) const NOBODY: u32 = 65534;

/// A server, which ends with this, or with the test process, however that ends.
pub(crate) struct Server(Child);

impl Server {
    /// Starts `command`, whose output goes to the file `said`. `signal` ends it.
    pub(crate) fn start(command: &Command, said: &Path, signal: &str) -> Self {
        Self(until_input_closes(command, said, signal).spawn().expect("sh starts"))
    }

    /// The same for one that refuses to run as root.
    pub(crate) fn start_not_as_root(command: &Command, said: &Path, signal: &str) -> Self {
        Self(not_as_root(until_input_closes(command, said, signal)).spawn().expect("sh starts"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn until_input_closes(command: &Command, said: &Path, signal: &str) -> Command {
    let said = File::create(said).expect("a file");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$@\" < /dev/null & read line; kill -$0 $!; wait $!", signal])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(said.try_clone().expect("a file"))
        .stderr(said);
    shell
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The command as [`NOBODY`], if this is root.
pub(crate) fn not_as_root(mut command: Command) -> Command {
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

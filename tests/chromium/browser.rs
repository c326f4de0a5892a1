//! Controls headless Chromium over its debugging pipe: JSON messages, each ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A browser with one tab. It is ended when dropped.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last_id: u64,
    /// Events since the last page was opened.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser. The environment variable `LEITONG_CHROMIUM` replaces `chromium` by another program.
    pub(crate) fn start() -> Self {
        let program = std::env::var("LEITONG_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let profile = tempfile::tempdir().expect("a folder");
        let folder = format!("--user-data-dir={}", profile.path().display());
        // The pipe uses file descriptors 3 and 4, which are its standard input and output here.
        let mut child = Command::new("sh")
            .args(["-c", "command -v \"$1\" >/dev/null || exit 127; exec \"$@\" 3<&0 4>&1", "sh", &program])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--remote-debugging-pipe", &folder, "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser =
            Self { child, to, from, session: None, last_id: 0, events: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends a command, and waits for its result.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.to.write_all(format!("{message}\0").as_bytes());
        loop {
            let Some(answer) = self.next().filter(|_| sent.is_ok()) else {
                panic!(
                    "{method}: Chromium does not answer; install it with  sudo apt-get install chromium  or name it in \
                     LEITONG_CHROMIUM"
                );
            };
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Option<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).ok()?;
        message.pop()?;
        serde_json::from_slice(&message).ok()
    }

    /// Waits for an event.
    #[track_caller]
    fn wait_for(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let event = self.next().expect("Chromium goes on");
            self.events.push(event);
        }
    }

    /// Sets the window's width and height, and whether it is dark.
    pub(crate) fn window(&mut self, (width, height): (u32, u32), dark: bool) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.ask("Emulation.setDeviceMetricsOverride", &metrics);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.ask("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }));
    }

    /// Opens a page, and waits until it is loaded.
    #[track_caller]
    pub(crate) fn open(&mut self, address: &str) {
        self.events.clear();
        let opened = self.ask("Page.navigate", &json!({ "url": address }));
        assert!(opened["errorText"].is_null(), "{address}: {opened}");
        self.wait_for("Page.loadEventFired");
    }

    /// Runs a script that leads to another page, and waits until that is loaded.
    #[track_caller]
    pub(crate) fn follow(&mut self, script: &str) {
        self.events.clear();
        self.run(script);
        self.wait_for("Page.loadEventFired");
    }

    /// Returns the value of a script. The page's own policy does not apply to it.
    #[track_caller]
    pub(crate) fn run(&mut self, script: &str) -> Value {
        let parameters = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let done = self.ask("Runtime.evaluate", &parameters);
        assert!(done["exceptionDetails"].is_null(), "{script}: {done}");
        done["result"]["value"].clone()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let key =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", &key);
        }
    }

    /// Returns everything that the page's console reports (errors, refusals by the policy, exceptions) and
    /// requests to other origins.
    pub(crate) fn complaints(&mut self, origin: &str) -> Vec<String> {
        // Events still on their way arrive before this answer.
        self.run("new Promise(done => setTimeout(done, 50))");
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {}
                "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => {}
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str()?;
                    if url.starts_with(origin) || url.starts_with("data:") {
                        return None;
                    }
                }
                _ => return None,
            }
            Some(event.to_string())
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// Returns a picture of the window, as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let picture = self.ask("Page.captureScreenshot", &json!({ "format": "png" }));
        STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("Base64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

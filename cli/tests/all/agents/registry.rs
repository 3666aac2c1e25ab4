//! A registry of npm with one package, for one test. Its programs are shell scripts, and it has an install script that
//! must not run.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wharf_test_support::Sandbox;

/// A server until it is dropped.
pub(super) struct Registry {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Registry {
    /// Serves these versions of a package, whose program prints its version.
    pub(super) fn start(sandbox: &Sandbox, name: &str, versions: &[&str]) -> Registry {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut answers = HashMap::new();
        let mut described = serde_json::Map::new();
        for version in versions {
            let path = format!("/tarballs/{version}.tgz");
            let package = json!({
                "name": name,
                "version": version,
                "bin": { "claude": "cli.js" },
                "scripts": { "postinstall": format!("touch {}", sandbox.path("script-ran").display()) },
            });
            answers.insert(path.clone(), tarball(sandbox, &package, version));
            let mut with_dist = package;
            with_dist["dist"] = json!({ "tarball": format!("http://{address}{path}") });
            described.insert((*version).to_owned(), with_dist);
        }
        let document = json!({ "name": name, "dist-tags": { "latest": versions.last() }, "versions": described });
        answers.insert(format!("/{}", name.replace('/', "%2f")), document.to_string().into_bytes());
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stopped = stopped.clone();
            move || {
                for stream in listener.incoming().flatten() {
                    if stopped.load(Ordering::SeqCst) {
                        return;
                    }
                    // A client that has gone is not the test's concern.
                    let _ = answer(stream, &answers);
                }
            }
        });
        Registry { address, stopped, thread: Some(thread) }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: TcpStream, answers: &HashMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    let found = answers.get(path);
    let (status, body) = found.map_or(("404 Not Found", &b"{}"[..]), |body| ("200 OK", body.as_slice()));
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}

/// A package as npm stores it.
fn tarball(sandbox: &Sandbox, package: &Value, version: &str) -> Vec<u8> {
    let folder = sandbox.path(format!("packages/{version}"));
    fs::create_dir_all(folder.join("package")).expect("a folder");
    fs::write(folder.join("package/package.json"), package.to_string()).expect("written");
    let script = format!("#!/bin/sh\necho '{version} (Claude Code)'\n");
    fs::write(folder.join("package/cli.js"), script).expect("written");
    let file = folder.join("package.tgz");
    let packed = Command::new("tar").arg("-czf").arg(&file).arg("-C").arg(&folder).arg("package").status();
    assert!(packed.expect("every system has tar").success());
    fs::read(file).expect("the package")
}

#!/usr/bin/env python3
"""Tries the static program on a system without anything else: an empty root folder.

    deploy/static/try.py target/dist/leitong-X.Y.Z-x86_64-linux/leitong

The program must deduplicate the sample pages. It must find hosts in /etc/hosts and by DNS without loading the machine's
name services. For object stores and brokers it must trust certificate authorities where distributions keep them or where
the environment says, and no others. Servers are on the loopback interface. Needs root (for chroot, and for port 53), Linux,
cc, readelf and openssl.
"""

import os
import socket
import ssl
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# In seconds; only a hang takes that long.
HANG_LIMIT = int(os.environ.get("LEITONG_HANG_LIMIT", "1200"))
NAME_SERVER = "127.0.0.153"
# Where Debian, Fedora and Alpine keep trusted certificate authorities.
PLACES = ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem"]


def main() -> None:
    [program] = sys.argv[1:]
    needs_nothing(program)
    with tempfile.TemporaryDirectory() as folder:
        root = Root(Path(folder) / "root", program)
        certificate, key, authority = certificates(Path(folder))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        deduplicates(root)
        name_server()
        store = object_store(tls)
        for by, hosts in [("/etc/hosts", "127.0.0.1 store.example broker.example\n"), ("DNS", "")]:
            root.write("etc/hosts", hosts)
            root.write("usr/local/authority.pem", authority)
            named = {"SSL_CERT_FILE": "/usr/local/authority.pem"}
            assert reads_from(root, store, named), "SSL_CERT_FILE for an object store"
            assert trusts_broker(root, tls, named), "SSL_CERT_FILE for a broker"
            print(f"finds hosts by {by}, and trusts the authority of SSL_CERT_FILE")
        for place in PLACES:
            root.write(place, authority)
            assert reads_from(root, store) and trusts_broker(root, tls), place
            (root.folder / place).unlink()
            print(f"trusts the authorities in /{place}")
        assert not reads_from(root, store), "an object store that nobody vouches for"
        assert not trusts_broker(root, tls), "a broker that nobody vouches for"
        print("trusts no other")


def needs_nothing(program: str) -> None:
    headers = subprocess.run(["readelf", "-ld", program], capture_output=True, text=True, check=True).stdout
    for word in ["(NEEDED)", "INTERP"]:
        assert word not in headers, f"{program} is not static:\n{headers}"
    print(f"{os.path.getsize(program) / 1e6:.1f} MB that need no library and no loader")


class Root:
    """A file system with only the program, the sample pages, and the files of a trial."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        for source, name in [(program, "leitong"), (REPOSITORY / "examples/pages.jsonl", "pages.jsonl")]:
            self.write(name, Path(source).read_bytes())
        (folder / "leitong").chmod(0o755)
        self.write("etc/resolv.conf", f"nameserver {NAME_SERVER}\n")
        # The devices that every container has and the program needs.
        (folder / "dev").mkdir()
        for name, minor in [("random", 8), ("urandom", 9)]:
            os.mknod(folder / "dev" / name, stat.S_IFCHR | 0o444, os.makedev(1, minor))
        # A name service, such as many systems have next to files and DNS. A process that loads it crashes.
        self.write("etc/nsswitch.conf", "hosts: trap files dns\n")
        trap = "__attribute__((constructor)) static void trap(void) { __builtin_trap(); }"
        library = folder / "lib/libnss_trap.so.2"
        library.parent.mkdir()
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "-", "-o", library], input=trap, text=True, check=True)

    def write(self, name: str, content: "str | bytes") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def start(self, *arguments: str, environment: "dict[str, str] | None" = None) -> subprocess.Popen:
        command = ["chroot", self.folder, "/leitong", *arguments]
        given = {"PATH": os.environ["PATH"], **(environment or {})}
        return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def deduplicates(root: Root) -> None:
    program = root.start("dedup", "pages.jsonl")
    verdicts, errors = program.communicate(timeout=HANG_LIMIT)
    assert program.returncode == 0, errors
    pages = (REPOSITORY / "examples/pages.jsonl").read_text().count("\n")
    assert verdicts.count("\n") == pages, f"{pages} pages:\n{verdicts}"
    [reprint] = [line for line in verdicts.splitlines() if line.startswith('{"page_id":"en-rowing-reprint"')]
    assert '"kind":"NEAR_DUPLICATE"' in reprint and '"canonical_page_id":"en-rowing"' in reprint, reprint
    print(f"{pages} verdicts on the sample pages")


def certificates(folder: Path) -> "tuple[Path, Path, str]":
    """The certificate of *.example with its key, and the authority that signed it."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(*new, "-subj", "/CN=An authority", "-keyout", "authority.key", "-out", "authority.pem",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl(*new, "-subj", "/CN=A server", "-keyout", "server.key", "-out", "server.pem",
            "-CA", "authority.pem", "-CAkey", "authority.key", "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", "subjectAltName=DNS:store.example,DNS:broker.example")
    return folder / "server.pem", folder / "server.key", (folder / "authority.pem").read_text()


def name_server() -> None:
    """Starts a DNS server that resolves every host to this machine, for IPv4 only."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((NAME_SERVER, 53))

    def answer() -> None:
        while True:
            query, sender = listener.recvfrom(512)
            end = query.index(b"\0", 12) + 5
            question, [kind] = query[12:end], struct.unpack(">H", query[end - 4 : end - 2])
            records = [b"\xc0\x0c" + struct.pack(">HHIH4s", 1, 1, 60, 4, socket.inet_aton("127.0.0.1"))] * (kind == 1)
            header = query[:2] + struct.pack(">HHHHH", 0x8180, 1, len(records), 0, 0)
            listener.sendto(header + question + b"".join(records), sender)

    threading.Thread(target=answer, daemon=True).start()


def object_store(tls: ssl.SSLContext) -> int:
    """Starts an object store that returns the sample pages for every name, and returns its port."""
    pages = (REPOSITORY / "examples/pages.jsonl").read_bytes()

    class Store(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            begin, end = 0, len(pages)
            if wanted := self.headers.get("Range"):
                first, last = wanted.removeprefix("bytes=").split("-")
                begin, end = int(first), min(int(last) + 1, len(pages))
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(end - begin))
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(pages)}")
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Sat, 21 Nov 2026 08:00:00 GMT")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(pages[begin:end])

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignores clients that hang up because they do not trust this store."""

    server = Server(("127.0.0.1", 0), Store)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def reads_from(root: Root, port: int, environment: "dict[str, str] | None" = None) -> bool:
    """Returns true if the program deduplicates an object. Otherwise it must say what is wrong with the certificate."""
    store = {"AWS_ENDPOINT_URL": f"https://store.example:{port}", "AWS_REGION": "here", "AWS_ACCESS_KEY_ID": "a",
             "AWS_SECRET_ACCESS_KEY": "b", **(environment or {})}
    program = root.start("dedup", "s3://bucket/pages.jsonl", environment=store)
    verdicts, errors = program.communicate(timeout=HANG_LIMIT)
    if program.returncode == 0:
        return '"page_id":"en-rowing-reprint"' in verdicts
    assert program.returncode == 1 and "SSL_CERT_FILE" in errors, f"{program.returncode}: {errors}"
    return False


def trusts_broker(root: Root, tls: ssl.SSLContext, environment: "dict[str, str] | None" = None) -> bool:
    """Returns true if the program talks to a broker with this certificate. Otherwise it must reject the authority."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(HANG_LIMIT)
        port = listener.getsockname()[1]
        properties = '[kafka.properties]\n"security.protocol" = "ssl"\n'
        root.write("leitong.toml", f'[kafka]\nbootstrap_servers = "broker.example:{port}"\n{properties}')
        program = root.start("run", "--check", "--config", "leitong.toml", environment=environment)
        try:
            connection, _ = listener.accept()
            connection.settimeout(HANG_LIMIT)
            with connection, tls.wrap_socket(connection, server_side=True) as session:
                return session.recv(4) != b""
        except ssl.SSLError as refusal:
            assert "UNKNOWN_CA" in str(refusal), refusal
            return False
        finally:
            program.kill()
            program.communicate()


if __name__ == "__main__":
    main()

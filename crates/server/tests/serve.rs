//! The server over loopback, spoken to in plain bytes.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wasp_server::{Answer, Answers, Config, ServeError, serve};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    async fn start() -> Self {
        Self::with_grace(PATIENCE / 2).await
    }

    async fn with_grace(grace: Duration) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (listening, address) = oneshot::channel();
        let files = [("/01/0100.bin".to_owned(), 1234), ("/notes.txt".to_owned(), 70)].into();
        let answer =
            |status, text: &str, size| Answer { status, headers: Vec::new(), text: text.to_owned(), size };
        let told = |method: &str, target: &str, answer| (method.to_owned(), target.to_owned(), answer);
        let fixed = [
            told("POST", "/items?page=1", answer(201, "made", 70_000)),
            told("DELETE", "/items?page=1", answer(204, "", 0)),
            told("HEAD", "/items?page=1", answer(200, "", 12)),
            told("GET", "/9", answer(404, "none", 4)),
        ];
        let patterns = [
            told("GET", "/of/[0-9]{2,4}", answer(202, "", 3)),
            told("GET", "/of/[!-~]*", answer(203, "", 3)),
            told("GET", "/9|/notes[!-~]*", answer(203, "", 3)),
            told("PUT", "/notes.txt", answer(201, "", 3)),
        ];
        let answers = Answers::new(fixed, patterns).unwrap();
        let config = Config { port: 0, grace, files, answers, ..Config::default() };
        let task = tokio::spawn(serve(config, move |address| listening.send(address).unwrap(), async {
            drop(stopped.await)
        }));
        Self { address: address.await.unwrap(), stop, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends, and reads until the server closes.
    async fn exchange(&self, request: &str) -> (String, Vec<u8>) {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
        split(&bytes)
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(PATIENCE, self.task).await.unwrap().unwrap().unwrap();
    }
}

/// Head in lower case, and the rest.
fn split(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    (String::from_utf8(bytes[..end].to_ascii_lowercase()).unwrap(), bytes[end..].to_vec())
}

#[tokio::test]
async fn a_sites_files_have_their_sizes() {
    let server = Server::start().await;
    for (path, size) in
        [("/01/0100.bin", 1234), ("/01/0100.bin?version=2", 1234), ("/notes.txt", 70), ("/8", 8)]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let (head, body) = server.exchange(&request).await;
        assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
        assert!(head.contains(&format!("\r\ncontent-length: {size}\r\n")), "{path}: {head}");
        assert_eq!(body.len(), size, "{path}");
    }
    let request = "GET /01/0101.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert!(server.exchange(request).await.0.starts_with("http/1.1 404 "));
    server.stop().await;
}

#[tokio::test]
async fn an_answer_goes_before_a_file_and_belongs_to_one_method_and_target() {
    let server = Server::start().await;
    let (head, body) = server.exchange(&last("POST", "/items?page=1")).await;
    assert!(head.starts_with("http/1.1 201 ") && head.contains("\r\ncontent-length: 70000\r\n"), "{head}");
    assert!(body.len() == 70_000 && body.starts_with(b"made"));
    let (head, body) = server.exchange(&last("DELETE", "/items?page=1")).await;
    assert!(head.starts_with("http/1.1 204 ") && body.is_empty(), "{head}");
    let (head, body) = server.exchange(&last("HEAD", "/items?page=1")).await;
    assert!(head.contains("\r\ncontent-length: 12\r\n") && body.is_empty(), "{head}");
    let (head, body) = server.exchange(&last("GET", "/9")).await;
    assert!(head.starts_with("http/1.1 404 ") && body == b"none", "{head}");
    assert_eq!(server.exchange(&last("POST", "/9")).await.1.len(), 9);
    assert!(server.exchange(&last("GET", "/items?page=1")).await.0.starts_with("http/1.1 404 "));
    assert!(server.exchange(&last("PUT", "/items?page=1")).await.0.starts_with("http/1.1 405 "));
    server.stop().await;
}

#[tokio::test]
async fn a_pattern_is_the_answer_where_nothing_else_is() {
    let server = Server::start().await;
    for (method, target, status) in [
        ("GET", "/of/12", 202),
        ("GET", "/of/1", 203),
        ("GET", "/of/12?x", 203),
        ("POST", "/of/12", 404),
        ("GET", "/9", 404),
        ("GET", "/notes.txt", 200),
        ("GET", "/notes.md", 203),
        ("GET", "/notes.txt?x", 203),
        ("GET", "/x/9", 404),
        ("PUT", "/notes.txt", 201),
    ] {
        let (head, _) = server.exchange(&last(method, target)).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{method} {target}: {head}");
    }
    server.stop().await;
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

fn last(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

async fn read_response(stream: &mut TcpStream, body: usize) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    let mut content = vec![0; body];
    timeout(PATIENCE, stream.read_exact(&mut content)).await.unwrap().unwrap();
    (split(&bytes).0, content)
}

/// The data of a chunked body, and the number of its chunks.
fn unchunked(mut rest: &[u8]) -> (Vec<u8>, usize) {
    let mut data = Vec::new();
    for chunks in 0.. {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let chunk = &rest[end + 2..];
        assert_eq!(&chunk[size..size + 2], b"\r\n");
        if size == 0 {
            assert_eq!(chunk.len(), 2, "nothing follows the last chunk");
            return (data, chunks);
        }
        data.extend_from_slice(&chunk[..size]);
        rest = &chunk[size + 2..];
    }
    unreachable!()
}

#[tokio::test]
async fn a_number_is_answered_by_that_many_bytes() {
    let server = Server::start().await;
    for size in [0, 1, 1024, 65_536, 65_537, 3_000_000] {
        let (head, body) = server.exchange(&last("GET", &format!("/{size}"))).await;
        assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {size}\r\n")), "{head}");
        assert_eq!(body.len(), size);
        assert!(body.iter().zip(body.iter().skip(65_536)).all(|(a, b)| a == b), "blocks repeat");
    }
    server.stop().await;
}

#[tokio::test]
async fn chunked_bodies_come_in_several_chunks() {
    let server = Server::start().await;
    let (_, plain) = server.exchange(&last("GET", "/4096")).await;
    for (size, expected) in [(0, 0), (1, 1), (4096, 1), (20_000, 5)] {
        let (head, body) = server.exchange(&last("GET", &format!("/chunked/{size}"))).await;
        assert!(
            head.contains("\r\ntransfer-encoding: chunked\r\n") && !head.contains("content-length"),
            "{head}"
        );
        let (data, chunks) = unchunked(&body);
        assert_eq!((data.len(), chunks), (size, expected));
        assert_eq!(data[..size.min(4096)], plain[..size.min(4096)]);
    }
    server.stop().await;
}

#[tokio::test]
async fn close_delimited_bodies_end_with_the_connection() {
    let server = Server::start().await;
    for size in [0, 1024, 200_000] {
        let (head, body) = server.exchange(&get(&format!("/close/{size}"))).await;
        assert!(
            head.starts_with("http/1.0 200 ok\r\n") && head.contains("\r\nconnection: close\r\n"),
            "{head}"
        );
        assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
        assert_eq!(body.len(), size);
    }
    server.stop().await;
}

#[tokio::test]
async fn http_1_0_closes_unless_asked_to_keep_alive() {
    let server = Server::start().await;
    let (_, body) = server.exchange("GET /10 HTTP/1.0\r\n\r\n").await;
    assert_eq!(body.len(), 10);
    let (head, body) = server.exchange("GET /chunked/10 HTTP/1.0\r\n\r\n").await;
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(body.len(), 10);
    let mut stream = server.connect().await;
    for _ in 0..2 {
        stream.write_all(b"GET /10 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await.unwrap();
        let (head, _) = read_response(&mut stream, 10).await;
        assert!(head.contains("\r\nconnection: keep-alive\r\n"), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn head_is_answered_by_the_head_alone() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    for _ in 0..2 {
        stream.write_all(b"HEAD /1024 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let (head, _) = read_response(&mut stream, 0).await;
        assert!(head.contains("\r\ncontent-length: 1024\r\n"), "{head}");
    }
    for path in ["/1024", "/chunked/1024", "/close/1024"] {
        let (head, body) = server.exchange(&last("HEAD", path)).await;
        assert!(head.contains(" 200 ok\r\n") && body.is_empty(), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_and_the_connection_is_kept() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    for (request, status) in [
        (
            "PUT /10 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
            "405 method not allowed\r\nallow: get, head, post\r\n",
        ),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "404 not found\r\n"),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404 not found\r\n"),
        ("GET /../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "404 not found\r\n"),
    ] {
        stream.write_all(request.as_bytes()).await.unwrap();
        let (head, _) = read_response(&mut stream, 0).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        assert!(head.contains("\r\ncontent-length: 0\r\n"), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_post_is_answered_by_the_file_when_its_body_has_come() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    for length in [0, 1, 300_000] {
        let head = format!("POST /10 HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        if length > 0 {
            stream.write_all(&vec![0; length - 1]).await.unwrap();
            let early = timeout(Duration::from_millis(100), stream.read_u8()).await;
            assert!(early.is_err(), "answered before the body's end");
            stream.write_all(&[0]).await.unwrap();
        }
        let (head, _) = read_response(&mut stream, 10).await;
        assert!(head.starts_with("http/1.1 200 ok\r\n"), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_carries_many_requests() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    for size in 0..100 {
        stream.write_all(get(&format!("/{size}?n={size}")).as_bytes()).await.unwrap();
        let (head, _) = read_response(&mut stream, size).await;
        assert!(head.contains(&format!("\r\ncontent-length: {size}\r\n")), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    let sizes = [1000, 0, 70_000, 1, 3, 5000];
    let requests: String = sizes.iter().map(|size| get(&format!("/{size}"))).collect();
    stream.write_all(requests.as_bytes()).await.unwrap();
    for size in sizes {
        let (head, _) = read_response(&mut stream, size).await;
        assert!(head.contains(&format!("\r\ncontent-length: {size}\r\n")), "{head}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_half_closed_connection_is_still_answered() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    stream.write_all(get("/2000000").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    assert_eq!(split(&bytes).1.len(), 2_000_000);
    server.stop().await;
}

#[tokio::test]
async fn shutdown_closes_idle_connections_and_lets_a_response_end() {
    let server = Server::start().await;
    let mut idle = server.connect().await;
    idle.write_all(get("/1").as_bytes()).await.unwrap();
    read_response(&mut idle, 1).await;
    let mut busy = server.connect().await;
    busy.write_all(get("/20000000").as_bytes()).await.unwrap();
    busy.read_u8().await.unwrap();
    let address = server.address;
    let reader = tokio::spawn(async move {
        let mut bytes = Vec::new();
        busy.read_to_end(&mut bytes).await.map(|_| bytes)
    });
    server.stop().await;
    assert!(reader.await.unwrap().unwrap().len() > 20_000_000, "the response in progress was completed");
    assert_eq!(timeout(PATIENCE, idle.read(&mut [0])).await.unwrap().unwrap(), 0);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn the_grace_period_bounds_the_shutdown() {
    let server = Server::with_grace(Duration::from_millis(200)).await;
    let mut stuck = server.connect().await;
    stuck.write_all(get("/1000000000").as_bytes()).await.unwrap();
    stuck.read_u8().await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_taken_port_is_a_clear_error() {
    let server = Server::start().await;
    let config = Config { port: server.address.port(), ..Config::default() };
    let refused = serve(config, |_| panic!("not listening"), async {}).await.unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("cannot listen on {}: Address already in use", server.address)),
        "{refused}"
    );
    server.stop().await;
}

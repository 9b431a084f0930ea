//! Listening, accepting, and stopping.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::content::{Content, Site, respond};
use crate::{Config, ServeError};

/// How long to wait when the process or the machine has no descriptor or memory left for a connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// Serves until `shutdown` completes: then it listens no more, closes idle connections, and lets responses in progress
/// end within the grace period. `on_listening` gets the address once connections are accepted. Must run inside a tokio
/// runtime with I/O and time enabled; a current-thread one makes the server single-threaded.
///
/// # Errors
/// The address cannot be listened on. No later error ends the server.
pub async fn serve(
    config: Config,
    on_listening: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let address = SocketAddr::new(config.address, config.port);
    let listener =
        listen(address, config.backlog).map_err(|source| ServeError::Listen { address, source })?;
    on_listening(listener.local_addr().map_err(ServeError::Setup)?);
    let site = Arc::new(Site { files: config.files, answers: config.answers });
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    accept_until(shutdown, listener, &site, &graceful, &mut connections).await;
    // What is left at the end of the grace period is closed by dropping its task.
    let _ = timeout(config.grace, graceful.shutdown()).await;
    connections.shutdown().await;
    Ok(())
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it (tcp(7)), which saves a system call each.
    socket.set_nodelay(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

async fn accept_until(
    shutdown: impl Future<Output = ()>,
    listener: TcpListener,
    site: &Arc<Site>,
    graceful: &GracefulShutdown,
    connections: &mut JoinSet<()>,
) {
    let http = protocol();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            Some(_) = connections.join_next() => {}
            stream = accept(&listener) => {
                let site = Arc::clone(site);
                let service = service_fn(move |request| answer(request, Arc::clone(&site)));
                let connection = http.serve_connection(TokioIo::new(stream), service);
                let connection = graceful.watch(connection);
                // Whatever ends a connection (a reset, a bad request) is the client's affair.
                connections.spawn(async { drop(connection.await) });
            }
        }
    }
}

fn protocol() -> http1::Builder {
    let mut http = http1::Builder::new();
    // A client that has sent its last request may close its side, and idle connections stay for as long as their clients
    // want. `pipeline_flush` stays off: it lifts hyper's bound on buffered bodies, so that a large one goes to memory whole.
    http.half_close(true).header_read_timeout(None);
    http
}

/// Answers a request when all of its body is there, which is thrown away.
///
/// # Errors
/// The body breaks off.
async fn answer(mut request: Request<Incoming>, site: Arc<Site>) -> Result<Response<Content>, hyper::Error> {
    let body = request.body_mut();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
        frame?;
    }
    Ok(respond(&request, &site))
}

/// The next connection. Errors of a single connection (accept(2)) are passed over; lack of descriptors or memory is waited
/// out.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if concerns_one_connection(&error) => {}
            Err(_) => sleep(ACCEPT_RETRY).await,
        }
    }
}

fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_inherit_nodelay() {
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0)), 16).unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        assert!(accept(&listener).await.nodelay().unwrap());
    }
}

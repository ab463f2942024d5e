//! A backend of raw sockets: writes down what it sees, does what the test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the backend does with a request.
#[derive(Clone, Debug)]
pub enum Does {
    /// Answers with these bytes and keeps the connection.
    Answer(Vec<u8>),
    /// Answers with these bytes, then keeps the body open until the client goes away.
    Stream(Vec<u8>),
    /// Closes without an answer.
    Drop,
    /// Never answers; tells when the client went away.
    Hang,
}

/// A backend on a port of its own.
#[derive(Clone)]
pub struct Backend {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    seen: Mutex<Vec<Vec<u8>>>,
    does: Mutex<Does>,
    arrived: Notify,
    left: Notify,
}

/// A plain answer.
pub fn ok(body: &str) -> Does {
    answer(200, "content-type: application/json\r\n", body)
}

/// An answer with a status and fields.
pub fn answer(status: u16, fields: &str, body: impl AsRef<[u8]>) -> Does {
    let body = body.as_ref();
    let mut bytes = format!(
        "HTTP/1.1 {status} Said\r\n{fields}content-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Does::Answer(bytes)
}

impl Backend {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let backend = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::new(Shared {
                seen: Mutex::default(),
                does: Mutex::new(ok(r#"{"said":"yes"}"#)),
                arrived: Notify::new(),
                left: Notify::new(),
            }),
        };
        let shared = Arc::clone(&backend.shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&shared), stream));
            }
        });
        backend
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn does(&self, does: Does) {
        *self.shared.does.lock().unwrap() = does;
    }

    /// Every request seen, complete or not, in order of their first byte.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The only request, as text.
    pub fn request(&self) -> String {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{}", requests.len());
        String::from_utf8_lossy(&requests.remove(0)).into_owned()
    }

    /// All bytes seen.
    pub fn bytes(&self) -> usize {
        self.requests().iter().map(Vec::len).sum()
    }

    /// Until a whole request arrived.
    pub async fn arrived(&self) {
        super::soon(self.shared.arrived.notified()).await;
    }

    /// Until the gate left a request without waiting for its answer.
    pub async fn left(&self) {
        super::soon(self.shared.left.notified()).await;
    }
}

/// The field's value in a raw head.
pub fn field(request: &str, name: &str) -> Option<String> {
    let head = request.split("\r\n\r\n").next().unwrap();
    head.split("\r\n").skip(1).find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

async fn serve(shared: Arc<Shared>, mut stream: TcpStream) {
    loop {
        let index = {
            let mut first = [0; 1];
            if !matches!(stream.read(&mut first).await, Ok(1..)) {
                return;
            }
            let mut seen = shared.seen.lock().unwrap();
            seen.push(first.to_vec());
            seen.len() - 1
        };
        if !read_request(&shared, index, &mut stream).await {
            return;
        }
        shared.arrived.notify_one();
        let does = shared.does.lock().unwrap().clone();
        match does {
            Does::Answer(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Does::Stream(bytes) => {
                let _gone = stream.write_all(&bytes).await;
                let _ended = stream.read(&mut [0; 64]).await;
                shared.left.notify_one();
                return;
            }
            Does::Drop => return,
            Does::Hang => {
                let _ended = stream.read(&mut [0; 64]).await;
                shared.left.notify_one();
                return;
            }
        }
    }
}

/// Reads one request framed by its length; the gate frames every request so.
async fn read_request(shared: &Shared, index: usize, stream: &mut TcpStream) -> bool {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let missing = {
            let seen = shared.seen.lock().unwrap();
            missing(&seen[index])
        };
        if missing == Some(0) {
            return true;
        }
        let size = missing.unwrap_or(1).min(buffer.len());
        match stream.read(&mut buffer[..size]).await {
            Ok(read @ 1..) => shared.seen.lock().unwrap()[index].extend_from_slice(&buffer[..read]),
            Ok(0) | Err(_) => return false,
        }
    }
}

/// How many bytes are missing; `None` while the head is not whole.
fn missing(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    assert_eq!(field(&head, "transfer-encoding"), None, "the gate frames by length");
    let length: usize = field(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    Some((end + length).saturating_sub(bytes.len()))
}

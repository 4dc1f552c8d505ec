//! The native protocol over real sockets: a server in this process, and a client that writes the packets by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_formats::native::{BlockReader, write_block};
use squall_formats::wire::{Cursor, Stop, put_string, put_varint};
use squall_server::Server;
use squall_server::compression::{Codec, compress, decompress_frame, frame_bytes};
use squall_server::config::ConfigSource;
use squall_types::{Block, Column, DataType, Schema, Value};

use crate::running::{Running, connections};

const REVISIONS: [u64; 8] = [54_032, 54_058, 54_372, 54_413, 54_429, 54_453, 54_460, 54_479];

/// A server that lives as long as the test.
struct TestServer {
    address: SocketAddr,
    server: Arc<Server>,
    _runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl TestServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut source = ConfigSource::default();
        source.overrides.push(("path".to_owned(), folder.path().join("data").display().to_string()));
        let serve = |server, port| squall_server::native::serve(server, port, connections());
        let Running { address, server, runtime } = Running::start(source, serve);
        Self { address, server, _runtime: runtime, _folder: folder }
    }

    fn socket(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, received: Vec::new(), revision: 0, is_compressed: false }
    }

    fn connect(&self, revision: u64) -> Client {
        let mut client = self.socket();
        client.greet(revision, "default", "").unwrap();
        client
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "waited too long for: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// An exception of the server: its code and message.
type Exception = (i32, String);

#[derive(Default, Debug)]
struct Answer {
    blocks: Vec<Block>,
    totals: Option<Block>,
    extremes: Option<Block>,
    read_rows: u64,
    packets: Vec<u64>,
}

impl Answer {
    fn rows(&self) -> usize {
        self.blocks.iter().map(Block::rows).sum()
    }

    fn value(&self) -> Value {
        self.blocks.iter().find(|block| !block.is_empty()).unwrap().columns()[0].value(0)
    }
}

struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    revision: u64,
    is_compressed: bool,
}

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        // A server that closes in the middle of what it is sent is what some tests want.
        let _ = self.stream.write_all(bytes);
    }

    /// Reads something; `None` where the server closed the connection.
    fn read<T>(&mut self, mut read: impl FnMut(&mut Cursor<'_>) -> Result<T, Stop>) -> Option<T> {
        loop {
            let mut cursor = Cursor::new(&self.received);
            match read(&mut cursor) {
                Ok(value) => {
                    let position = cursor.position();
                    self.received.drain(..position);
                    return Some(value);
                }
                Err(Stop::Incomplete) => {}
                Err(Stop::Bad(error)) => panic!("{error}"),
            }
            let mut piece = vec![0; 1 << 16];
            match self.stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(bytes) => self.received.extend_from_slice(&piece[..bytes]),
            }
        }
    }

    fn exception(&mut self) -> Exception {
        self.read(|input| {
            let code = i32::from_le_bytes(input.array()?);
            input.string(1 << 20)?;
            let message = input.text(1 << 20)?;
            input.string(1 << 20)?;
            input.byte()?;
            Ok((code, message))
        })
        .unwrap()
    }

    fn greet(&mut self, revision: u64, user: &str, database: &str) -> Result<(), Exception> {
        let mut hello = vec![0];
        put_string(&mut hello, "test");
        put_varint(&mut hello, 1);
        put_varint(&mut hello, 2);
        put_varint(&mut hello, revision);
        put_string(&mut hello, database);
        put_string(&mut hello, user);
        put_string(&mut hello, "");
        self.send(&hello);
        if self.read(|input| input.varint()).unwrap() == 2 {
            return Err(self.exception());
        }
        let server_revision = self
            .read(|input| {
                assert_eq!(input.text(100)?, "ClickHouse");
                input.varint()?;
                input.varint()?;
                let server_revision = input.varint()?;
                if revision >= 54_471 {
                    input.varint()?;
                }
                if revision >= 54_058 {
                    input.string(100)?;
                }
                if revision >= 54_372 {
                    input.string(100)?;
                }
                if revision >= 54_401 {
                    input.varint()?;
                }
                if revision >= 54_470 {
                    assert_eq!((input.text(100)?.as_str(), input.text(100)?.as_str()), ("notchunked", "notchunked"));
                }
                if revision >= 54_461 {
                    assert_eq!(input.varint()?, 0);
                }
                if revision >= 54_462 {
                    input.take(8)?;
                }
                if revision >= 54_474 {
                    assert_eq!(input.text(100)?, "");
                }
                if revision >= 54_477 {
                    input.varint()?;
                }
                if revision >= 54_479 {
                    input.varint()?;
                }
                Ok(server_revision)
            })
            .unwrap();
        self.revision = revision.min(server_revision);
        if revision >= 54_458 {
            let mut addendum = Vec::new();
            put_string(&mut addendum, "");
            if revision >= 54_470 {
                put_string(&mut addendum, "notchunked");
                put_string(&mut addendum, "notchunked");
            }
            if revision >= 54_471 {
                put_varint(&mut addendum, 0);
            }
            self.send(&addendum);
        }
        Ok(())
    }

    fn query_packet(&self, text: &str, id: &str, settings: &[(&str, u64)], parameters: &[(&str, &str)]) -> Vec<u8> {
        let revision = self.revision;
        let mut out = vec![1];
        put_string(&mut out, id);
        // An initial query, of nobody else, over TCP.
        out.push(1);
        put_string(&mut out, "");
        put_string(&mut out, "");
        put_string(&mut out, "0.0.0.0:0");
        if revision >= 54_449 {
            out.extend_from_slice(&[0; 8]);
        }
        out.push(1);
        ["os", "host", "test"].iter().for_each(|name| put_string(&mut out, name));
        [1, 2, revision].iter().for_each(|number| put_varint(&mut out, *number));
        if revision >= 54_060 {
            put_string(&mut out, "");
        }
        if revision >= 54_448 {
            put_varint(&mut out, 0);
        }
        if revision >= 54_401 {
            put_varint(&mut out, 3);
        }
        if revision >= 54_442 {
            out.push(1);
            out.extend_from_slice(&[7; 24]);
            put_string(&mut out, "state");
            out.push(0);
        }
        if revision >= 54_453 {
            out.extend_from_slice(&[0, 0, 0]);
        }
        if revision >= 54_475 {
            out.extend_from_slice(&[1, 1]);
        }
        if revision >= 54_476 {
            out.push(0);
        }
        for (name, value) in settings {
            put_string(&mut out, name);
            if revision >= 54_429 {
                put_varint(&mut out, 0);
                put_string(&mut out, value.to_string());
            } else {
                put_varint(&mut out, *value);
            }
        }
        put_string(&mut out, "");
        if revision >= 54_472 {
            put_string(&mut out, "");
        }
        if revision >= 54_441 {
            put_string(&mut out, "");
        }
        put_varint(&mut out, 2);
        put_varint(&mut out, u64::from(self.is_compressed));
        put_string(&mut out, text);
        if revision >= 54_459 {
            for (name, value) in parameters {
                put_string(&mut out, name);
                put_varint(&mut out, 2);
                put_string(&mut out, format!("'{value}'"));
            }
            put_string(&mut out, "");
        }
        out
    }

    fn data_packet(&self, name: &str, block: &Block) -> Vec<u8> {
        let mut out = vec![2];
        put_string(&mut out, name);
        let mut plain = vec![1, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0];
        write_block(block, self.revision, &mut plain).unwrap();
        if self.is_compressed {
            compress(Codec::Zstd(1), &plain, &mut out).unwrap();
        } else {
            out.extend_from_slice(&plain);
        }
        out
    }

    fn send_query(&mut self, text: &str, id: &str, settings: &[(&str, u64)]) {
        let mut packets = self.query_packet(text, id, settings, &[]);
        packets.extend(self.data_packet("", &nothing()));
        self.send(&packets);
    }

    fn block(&mut self, is_compressed: bool) -> Block {
        self.read(|input| input.string(1000).map(drop)).unwrap();
        let mut plain = Vec::new();
        if is_compressed {
            loop {
                let frame = self
                    .read(|input| {
                        let bytes = frame_bytes(input.rest())?.ok_or(Stop::Incomplete)?;
                        Ok(input.take(bytes)?.to_vec())
                    })
                    .unwrap();
                decompress_frame(&frame, &mut plain).unwrap();
                let mut cursor = Cursor::new(&plain);
                cursor.advance(8);
                if let Ok(block) = BlockReader::new(self.revision).read(&mut cursor) {
                    return block;
                }
            }
        }
        let revision = self.revision;
        self.read(|input| {
            input.take(8)?;
            BlockReader::new(revision).read(input)
        })
        .unwrap()
    }

    /// Follows a query's packets to the end, or for an INSERT to the block that says its columns.
    fn follow(&mut self, is_insert: bool) -> Result<Answer, Exception> {
        let mut answer = Answer::default();
        loop {
            let packet = self.read(|input| input.varint()).expect("the server closed the connection");
            answer.packets.push(packet);
            match packet {
                1 => {
                    let block = self.block(self.is_compressed);
                    answer.blocks.push(block);
                    if is_insert {
                        return Ok(answer);
                    }
                }
                2 => return Err(self.exception()),
                3 => {
                    let revision = self.revision;
                    answer.read_rows += self
                        .read(|input| {
                            let rows = input.varint()?;
                            let numbers = 2
                                + usize::from(revision >= 54_463)
                                + 2 * usize::from(revision >= 54_420)
                                + usize::from(revision >= 54_460);
                            (0..numbers).try_for_each(|_| input.varint().map(drop))?;
                            Ok(rows)
                        })
                        .unwrap();
                }
                5 => return Ok(answer),
                6 => {
                    let revision = self.revision;
                    self.read(|input| {
                        (0..3).try_for_each(|_| input.varint().map(drop))?;
                        input.byte()?;
                        input.varint()?;
                        input.byte()?;
                        if revision >= 54_469 {
                            input.byte()?;
                            input.varint()?;
                        }
                        Ok(())
                    })
                    .unwrap();
                }
                7 => answer.totals = Some(self.block(self.is_compressed)),
                8 => answer.extremes = Some(self.block(self.is_compressed)),
                10 | 14 => drop(self.block(false)),
                11 => self
                    .read(|input| {
                        input.string(1000)?;
                        input.string(1 << 20).map(drop)
                    })
                    .unwrap(),
                17 => self.read(|input| input.string(1000).map(drop)).unwrap(),
                other => panic!("packet {other}"),
            }
        }
    }

    fn run(&mut self, text: &str) -> Result<Answer, Exception> {
        self.send_query(text, "", &[]);
        self.follow(false)
    }

    fn insert(&mut self, text: &str, blocks: &[Block]) -> Result<Answer, Exception> {
        self.send_query(text, "", &[]);
        self.follow(true)?;
        for block in blocks.iter().chain([&nothing()]) {
            let packet = self.data_packet("", block);
            self.send(&packet);
        }
        self.follow(false)
    }

    /// Reads what the server says before it closes the connection.
    fn last_words(&mut self) -> Option<Exception> {
        let exception = match self.read(|input| input.varint()) {
            Some(2) => Some(self.exception()),
            Some(other) => panic!("packet {other}"),
            None => None,
        };
        assert!(self.read(|input| input.byte()).is_none(), "the connection is still open");
        exception
    }
}

fn nothing() -> Block {
    Block::empty(Arc::new(Schema::default()))
}

fn numbers(rows: u64) -> Block {
    let values: Vec<u64> = (0..rows).collect();
    let column = Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values);
    Block::new(Arc::new(Schema::new([("n", DataType::UInt64)])), vec![column], rows as usize)
}

#[test]
fn queries_and_inserts_at_every_revision() {
    let server = TestServer::start();
    for revision in REVISIONS {
        for is_compressed in [false, true] {
            let mut client = server.connect(revision);
            client.is_compressed = is_compressed;
            assert_eq!(client.run("SELECT 1").unwrap().value(), Value::UInt64(1), "{revision}");
            let answer = client.run("SELECT number FROM numbers(200000)").unwrap();
            assert_eq!((answer.rows(), answer.read_rows), (200_000, 200_000));
            // First the columns, last nothing.
            assert!(answer.blocks.first().is_some_and(|block| block.is_empty() && block.columns().len() == 1));
            assert!(answer.blocks.last().is_some_and(|block| block.columns().is_empty()));
            client.run("CREATE TABLE t (n UInt64) ENGINE = Memory").unwrap();
            client.insert("INSERT INTO t VALUES", &[numbers(10), numbers(100_000)]).unwrap();
            assert_eq!(client.run("SELECT count() FROM t").unwrap().value(), Value::UInt64(100_010));
            let answer = client.run("SELECT n % 2 AS k, count() FROM t GROUP BY k WITH TOTALS").unwrap();
            assert!(answer.totals.is_some());
            assert_eq!(client.run("SELECT nothing").unwrap_err().0, 47);
            client.run("DROP TABLE t").unwrap();
            client.send(&[4]);
            assert_eq!(client.read(|input| input.byte()), Some(4), "pong");
            client.send_query("SELECT number FROM numbers(3)", "", &[("extremes", 1), ("max_threads", 2)]);
            assert_eq!(client.follow(false).unwrap().extremes.unwrap().rows(), 2);
        }
    }
}

#[test]
fn data_in_the_statement_and_conversions() {
    let server = TestServer::start();
    let mut client = server.connect(54_479);
    client.run("CREATE TABLE t (n UInt8, s String DEFAULT toString(n)) ENGINE = Memory").unwrap();
    client.run("INSERT INTO t VALUES (1, 'a'), (2, DEFAULT), (1 + 2, lower('X'))").unwrap();
    // UInt64 where UInt8 is wanted is converted.
    client.insert("INSERT INTO t (n) VALUES", &[numbers(5)]).unwrap();
    assert_eq!(client.run("SELECT count() FROM t WHERE s = toString(n)").unwrap().value(), Value::UInt64(6));
    let packet = client.query_packet("SELECT {x:String}", "", &[], &[("x", "it\\\\\\'s")]);
    client.send(&packet);
    let end = client.data_packet("", &nothing());
    client.send(&end);
    assert_eq!(client.follow(false).unwrap().value(), "it's".into());
}

#[test]
fn who_may_come_in() {
    let server = TestServer::start();
    assert_eq!(server.socket().greet(54_479, "nobody", "").unwrap_err().0, 516);
    assert_eq!(server.socket().greet(54_479, " INTERSERVER SECRET ", "").unwrap_err().0, 516);
    assert_eq!(server.socket().greet(54_479, "default", "nosuch").unwrap_err().0, 81);
    assert_eq!(server.socket().greet(50_000, "default", "").unwrap_err().0, 48);
}

#[test]
fn errors_leave_the_connection_in_order() {
    let server = TestServer::start();
    for is_compressed in [false, true] {
        let mut client = server.connect(54_460);
        client.is_compressed = is_compressed;
        assert_eq!(client.run("SELEC 1").unwrap_err().0, 62);
        // A table that comes with a query is the query's alone; where its blocks differ it is refused, after they were read.
        let letters = Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::UInt8, vec![1u8]);
        let letters = Block::new(Arc::new(Schema::new([("letter", DataType::UInt8)])), vec![letters], 1);
        for (last, expected) in [(numbers(5), Ok(Value::UInt64(55))), (letters, Err(122))] {
            let mut packets = client.query_packet("SELECT sum(n) FROM ext", "", &[], &[]);
            for (name, block) in [("ext", &numbers(10)), ("ext", &last), ("", &nothing())] {
                packets.extend(client.data_packet(name, block));
            }
            client.send(&packets);
            let answer = client.follow(false).map(|answer| answer.value()).map_err(|(code, _)| code);
            assert_eq!(answer, expected);
        }
        assert_eq!(client.run("SELECT sum(n) FROM ext").unwrap_err().0, 60);
        // A block of the wrong type is refused; those behind it are passed over.
        client.run("CREATE TABLE IF NOT EXISTS t (n Array(UInt8)) ENGINE = Memory").unwrap();
        client.send_query("INSERT INTO t VALUES", "", &[]);
        client.follow(true).unwrap();
        for block in [numbers(10), numbers(20), nothing()] {
            let packet = client.data_packet("", &block);
            client.send(&packet);
        }
        assert!(client.follow(false).is_err());
        assert_eq!(client.run("SELECT 5").unwrap().value(), Value::UInt64(5));
        assert_eq!(client.run("SELECT count() FROM t").unwrap().value(), Value::UInt64(0));
    }
}

#[test]
fn cancelling_and_leaving_end_a_query() {
    let server = TestServer::start();
    let mut client = server.connect(54_460);
    client.send_query("SELECT number FROM system.numbers", "endless", &[]);
    client.read(|input| input.byte());
    client.send(&[3]);
    client.received.insert(0, 1);
    client.follow(false).unwrap();
    assert_eq!(client.run("SELECT 1").unwrap().value(), Value::UInt64(1));
    // Nothing is sent meanwhile by this one, and it is cancelled all the same.
    client.send_query("SELECT count() FROM system.numbers", "silent", &[]);
    server.wait_until("the query runs", || server.server.processes.find("silent").is_some());
    client.send(&[3]);
    client.follow(false).unwrap();
    for text in ["SELECT number FROM system.numbers", "SELECT count() FROM system.numbers"] {
        let mut client = server.connect(54_460);
        client.send_query(text, "left", &[]);
        server.wait_until("the query runs", || server.server.processes.find("left").is_some());
        drop(client);
        server.wait_until("the query ends", || server.server.processes.find("left").is_none());
    }
    // A client that leaves in the middle of an INSERT leaves nothing of it behind.
    let mut client = server.connect(54_460);
    client.run("CREATE TABLE t (n UInt64) ENGINE = Memory").unwrap();
    client.send_query("INSERT INTO t VALUES", "half", &[]);
    client.follow(true).unwrap();
    let packet = client.data_packet("", &numbers(1000));
    client.send(&packet);
    drop(client);
    server.wait_until("the INSERT ends", || server.server.processes.find("half").is_none());
    let mut client = server.connect(54_460);
    assert_eq!(client.run("SELECT count() FROM t").unwrap().value(), Value::UInt64(0));
}

#[test]
fn malformed_packets_end_the_connection() {
    let server = TestServer::start();
    // Before the greeting.
    let mut client = server.socket();
    client.send(&[9]);
    assert_eq!(client.last_words().unwrap().0, 99);
    let mut client = server.socket();
    client.send(&[1]);
    assert_eq!(client.last_words().unwrap().0, 101);
    let mut client = server.socket();
    client.send(&[&[0][..], &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]].concat());
    assert_eq!(client.last_words().unwrap().0, 131);
    let mut client = server.socket();
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    let mut answer = Vec::new();
    client.stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 400 "));
    // After it.
    let mut client = server.connect(54_460);
    client.send(&[77]);
    assert_eq!(client.last_words().unwrap().0, 99);
    let mut client = server.connect(54_460);
    client.send(&[2]);
    assert_eq!(client.last_words().unwrap().0, 101);
    let mut client = server.connect(54_460);
    client.is_compressed = true;
    let mut packets = client.query_packet("SELECT 1", "", &[], &[]);
    let mut end = client.data_packet("", &nothing());
    *end.last_mut().unwrap() ^= 1;
    packets.extend(end);
    client.send(&packets);
    assert_eq!(client.last_words().unwrap().0, 40);
    // A block that announces more rows than there can be.
    let mut client = server.connect(54_460);
    let mut packets = client.query_packet("SELECT 1", "", &[], &[]);
    packets.extend_from_slice(&[2, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
    client.send(&packets);
    assert_eq!(client.last_words().unwrap().0, 117);
    // Every beginning of a good conversation, and then nothing.
    let client = server.connect(54_460);
    let mut packets = client.query_packet("SELECT 1", "", &[], &[]);
    packets.extend(client.data_packet("", &nothing()));
    for length in (0..packets.len()).step_by(7) {
        let mut client = server.connect(54_460);
        client.send(&packets[..length]);
    }
    // Bytes without sense.
    let mut state = 1_u64;
    for _ in 0..50 {
        let mut client = server.connect(54_460);
        let bytes: Vec<u8> = (0..500)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            })
            .collect();
        client.send(&[&[1][..], &bytes].concat());
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        while client.read(|input| input.byte()).is_some() {}
    }
    assert_eq!(server.connect(54_460).run("SELECT 1").unwrap().value(), Value::UInt64(1));
}

//! nginx before a server under test: started with a scenario's configuration on a port of its own, as a child of the suite, and stopped with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};

use super::values::fill;
use crate::process::{end, end_with_us, find_program, free_port, open_files_max};

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections of a worker, for which it has room from the beginning on.
const CONNECTIONS_MAX: u64 = 32_768;

/// A running nginx. Dropped, it is stopped.
#[derive(Debug)]
pub struct Nginx {
    process: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Nginx {
    /// Starts it before `upstream`. In its configuration `{port}` is where it listens, `{upstream}` the server and `{connections}` what the system
    /// allows a worker; relative paths mean `folder`, in which there is a folder `temp`.
    ///
    /// # Errors
    /// Where it is not installed, or refuses its configuration.
    pub async fn start(config: &str, upstream: SocketAddr, folder: &Path) -> Result<Self> {
        let program = find_program("nginx").ok_or_else(|| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, "nginx is not installed (Debian's package is called nginx)")
        })?;
        let cannot = |what: &dyn std::fmt::Display| {
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot start nginx in {}: {what}", folder.display()))
        };
        let port = free_port()?;
        let connections = open_files_max().min(CONNECTIONS_MAX).to_string();
        let values = [("port", port.to_string()), ("upstream", upstream.to_string()), ("connections", connections)];
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        std::fs::create_dir_all(folder.join("temp")).map_err(|error| cannot(&error))?;
        let folder = folder.canonicalize().map_err(|error| cannot(&error))?;
        let (file, console) = (folder.join("nginx.conf"), folder.join("stderr.log"));
        std::fs::write(&file, fill(config, &values)).map_err(|error| cannot(&error))?;
        let stderr = std::fs::File::create(&console).map_err(|error| cannot(&error))?;
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).arg("-c").arg(&file).args(["-g", "daemon off;"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        end_with_us(&mut command);
        let process = command.spawn().map_err(|error| cannot(&error))?;
        let mut nginx = Nginx { process, address: SocketAddr::from(([127, 0, 0, 1], port)), folder };
        let begun = Instant::now();
        while tokio::net::TcpStream::connect(nginx.address).await.is_err() {
            if matches!(nginx.process.try_wait(), Ok(Some(_))) || begun.elapsed() > PATIENCE {
                return Err(cannot(&std::fs::read_to_string(&console).unwrap_or_default().trim()));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(nginx)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        end(&mut self.process);
        // Its configuration and logs stay.
        let _ = std::fs::remove_dir_all(self.folder.join("temp"));
    }
}

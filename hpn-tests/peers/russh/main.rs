//! A client of russh and russh-sftp:
//!
//!     peer sftp|many|exec get|put HOST PORT KEY SOURCE COPY

use std::error::Error;
use std::sync::Arc;

use russh::client::{self, Handle, Handler};
use russh::keys::{load_secret_key, PrivateKeyWithHashAlg};
use russh::keys::PublicKeyOrCertificate;
use russh::{ChannelMsg, Disconnect};
use russh_sftp::client::{Config, SftpSession};
use tokio::fs::File;
use tokio::io::{copy_buf, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PART: usize = 1 << 18; // bytes handed over at once
const MANY: usize = 256; // requests under way; 16 is russh-sftp's default

struct Anyone;

impl Handler for Anyone {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        _: &PublicKeyOrCertificate,
    ) -> std::result::Result<bool, russh::Error> {
        Ok(true)
    }
}

async fn copy<R, W>(from: R, mut to: W) -> Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    copy_buf(&mut BufReader::with_capacity(PART, from), &mut to).await?;
    to.shutdown().await?;
    Ok(())
}

async fn sftp(
    ssh: &Handle<Anyone>,
    config: Config,
    get: bool,
    source: &str,
    copied: &str,
) -> Result<()> {
    let channel = ssh.channel_open_session().await?;
    channel.request_subsystem(true, "sftp").await?;
    let sftp =
        SftpSession::new_with_config(channel.into_stream(), config).await?;
    if get {
        let remote = sftp.open(source).await?;
        copy(remote, File::create(copied).await?).await?;
    } else {
        let remote = sftp.create(copied).await?;
        copy(File::open(source).await?, remote).await?;
    }
    sftp.close().await?;
    Ok(())
}

async fn exec(
    ssh: &Handle<Anyone>,
    get: bool,
    source: &str,
    copied: &str,
) -> Result<()> {
    let mut channel = ssh.channel_open_session().await?;
    let mut status = None;
    if get {
        let mut to = File::create(copied).await?;
        channel.exec(true, format!("cat {source}")).await?;
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } => to.write_all(&data).await?,
                ChannelMsg::ExitStatus { exit_status } => {
                    status = Some(exit_status)
                }
                _ => (),
            }
        }
        to.flush().await?;
    } else {
        channel.exec(true, format!("cat > {copied}")).await?;
        let from = File::open(source).await?;
        channel.data(BufReader::with_capacity(PART, from)).await?;
        channel.eof().await?;
        while let Some(message) = channel.wait().await {
            if let ChannelMsg::ExitStatus { exit_status } = message {
                status = Some(exit_status)
            }
        }
    }
    match status {
        Some(0) => Ok(()),
        _ => Err(format!("cat: {status:?}").into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, direction, host, port, key, source, copied] = &words[..] else {
        return Err("usage: peer MODE get|put HOST PORT KEY SOURCE COPY".into());
    };
    let key = Arc::new(load_secret_key(key, None)?);
    let mut ssh = client::connect(
        Arc::new(client::Config::default()),
        (host.as_str(), port.parse()?),
        Anyone,
    )
    .await?;
    let login = ssh
        .authenticate_publickey("root", PrivateKeyWithHashAlg::new(key, None))
        .await?;
    if !login.success() {
        return Err("login refused".into());
    }
    let get = direction == "get";
    let mut config = Config::default();
    match mode.as_str() {
        "exec" => exec(&ssh, get, source, copied).await?,
        "sftp" => sftp(&ssh, config, get, source, copied).await?,
        _ => {
            config.request_timeout_secs = 100;
            config.max_concurrent_reads = MANY;
            config.max_concurrent_writes = MANY;
            sftp(&ssh, config, get, source, copied).await?
        }
    }
    ssh.disconnect(Disconnect::ByApplication, "", "").await?;
    Ok(())
}

"""A client of paramiko, and a server:

    paramiko_peer.py sftp|exec get|put HOST PORT KEY SOURCE COPY
    paramiko_peer.py serve PORT HOSTKEY USERKEY.pub [SOFTWARE]
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading

import paramiko

CHUNK = 1 << 20


def client(mode, direction, host, port, key, source, copy):
    ssh = paramiko.SSHClient()
    ssh.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    ssh.connect(host, int(port), "root", allow_agent=False, banner_timeout=300,
                pkey=paramiko.Ed25519Key(filename=key))
    if mode == "sftp":
        getattr(ssh.open_sftp(), direction)(source, copy)
    elif direction == "get":
        _, stdout, _ = ssh.exec_command(f"cat {source}", bufsize=CHUNK)
        with open(copy, "wb") as f:
            shutil.copyfileobj(stdout, f, CHUNK)
    else:
        stdin, stdout, _ = ssh.exec_command(f"cat > {copy}")
        with open(source, "rb") as f:
            shutil.copyfileobj(f, stdin, CHUNK)
        stdin.channel.shutdown_write()
        if stdout.channel.recv_exit_status() != 0:
            sys.exit("cat failed")
    ssh.close()


class Handle(paramiko.SFTPHandle):
    """Paramiko reads and writes its readfile and writefile by itself."""

    def stat(self):
        return paramiko.SFTPAttributes.from_stat(
            os.fstat((self.readfile or self.writefile).fileno()))

    def chattr(self, attributes):
        return paramiko.SFTP_OK


class Files(paramiko.SFTPServerInterface):
    def stat(self, path):
        try:
            return paramiko.SFTPAttributes.from_stat(os.stat(path))
        except OSError as e:
            return paramiko.SFTPServer.convert_errno(e.errno)

    lstat = stat

    def chattr(self, path, attributes):
        return paramiko.SFTP_OK

    def open(self, path, flags, attributes):
        try:
            fd = os.open(path, flags, 0o644)
        except OSError as e:
            return paramiko.SFTPServer.convert_errno(e.errno)
        handle = Handle(flags)
        handle.readfile = handle.writefile = os.fdopen(
            fd, "wb" if flags & os.O_WRONLY else "rb")
        return handle


class Server(paramiko.ServerInterface):
    def __init__(self, user):
        self.user = user

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        return paramiko.AUTH_SUCCESSFUL if key.get_base64() == self.user \
            else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        threading.Thread(target=self.exec, args=(channel, command),
                         daemon=True).start()
        return True

    def exec(self, channel, command):
        if command.startswith(b"cat >"):
            process = subprocess.Popen(command, shell=True,
                                       stdin=subprocess.PIPE)
            shutil.copyfileobj(channel.makefile("rb"), process.stdin, CHUNK)
            process.stdin.close()
        else:
            process = subprocess.Popen(command, shell=True,
                                       stdout=subprocess.PIPE)
            while data := process.stdout.read1(CHUNK):
                channel.sendall(data)
        channel.send_exit_status(process.wait())
        channel.close()


def serve(port, host_key, user_key, software=None):
    with open(user_key) as f:
        user = f.read().split()[1]
    listener = socket.create_server(("", int(port)))
    while True:
        transport = paramiko.Transport(listener.accept()[0])
        if software:
            transport.local_version = f"SSH-2.0-{software}"
        transport.add_server_key(paramiko.Ed25519Key(filename=host_key))
        transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
        # Whatever a client sends in its key exchange ends its connection only
        with contextlib.suppress(Exception):
            transport.start_server(server=Server(user))


if sys.argv[1] == "serve":
    serve(*sys.argv[2:])
else:
    client(*sys.argv[1:])

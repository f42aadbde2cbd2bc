"""rawtcp.py send PORT BYTES | recv HOST PORT: plain TCP, the reference. send
waits for one connection and writes BYTES zeroes; recv copies what it gets to
standard output (which is the socket itself, for whoever is run after --)."""

import os
import socket
import sys


def send(port, count):
    listener = socket.create_server(("", port))
    connection, _ = listener.accept()
    block = memoryview(bytes(1 << 18))
    while count > 0:
        count -= connection.send(block[:min(count, len(block))])
    connection.close()


def recv(host, port, command):
    connection = socket.create_connection((host, port))
    os.dup2(connection.fileno(), 0)
    os.execvp(command[0], command)


if sys.argv[1] == "send":
    send(int(sys.argv[2]), int(sys.argv[3]))
else:
    recv(sys.argv[2], int(sys.argv[3]), sys.argv[5:])

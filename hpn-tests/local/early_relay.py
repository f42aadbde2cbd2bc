"""A relay in front of an sshd, which sees what a client sends before the
server has said anything, and may answer in its place."""

import contextlib
import select
import socket
import threading
import time

PORT = 3333
NEWKEYS, REPLY = 21, 31
QUIET_S = 0.5           # until the client has sent all that it sends unasked


class Connection:
    def __init__(self):
        self.early = b""        # what came before the server's banner
        self.sent = b""         # all that the client sent
        self.left_s = None      # when the client closed it, if it was to hang


class Relay:
    """mode: what becomes of a connection whose client has sent more than its
    banner: "pass"; "close"; "hang"; or bytes to send, and then to close. With
    always it becomes of every connection. inject is sent behind the server's
    banner, before in front of it, slow_s earlier if something came early, or
    with always. hangs_with is sent before it hangs. With forge, the signature
    of the server's key exchange has a wrong bit."""

    def __init__(self, place, mode="pass", inject=b"", always=False,
                 before=b""):
        self.mode, self.inject, self.always = mode, inject, always
        self.before, self.slow_s, self.hangs_with = before, 0, b""
        self.forge = False
        self.place, self.connections = place, []
        self.listener = place.inside(self.listen)
        threading.Thread(target=self.serve, daemon=True).start()

    @staticmethod
    def listen():
        return socket.create_server(("127.0.0.1", PORT))

    def close(self):
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                connection = Connection()
                self.connections.append(connection)
                threading.Thread(target=self.one, args=(client, connection),
                                 daemon=True).start()

    def one(self, client, connection):
        with client, contextlib.suppress(OSError):
            connection.early = self.unasked(client)
            connection.sent = connection.early
            banner = connection.early.find(b"\n") + 1
            if self.mode != "pass" and (
                    self.always or len(connection.early) > banner):
                if self.mode == "hang":
                    client.sendall(self.hangs_with)
                    while client.recv(4096):
                        pass
                    connection.left_s = time.monotonic()
                elif self.mode != "close":
                    client.sendall(self.mode)
                return
            client.sendall(self.before)
            if (self.always or len(connection.early) > banner) and \
                    select.select([client], [], [], self.slow_s)[0]:
                return              # the client has closed it
            self.both(client, connection)

    @staticmethod
    def unasked(client):
        data = b""
        while select.select([client], [], [],
                            QUIET_S if data else 30)[0]:
            if not (piece := client.recv(65536)):
                break
            data += piece
        return data

    @staticmethod
    def server():
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", 2222))

    def both(self, client, connection):
        if (server := self.place.inside(self.server)) is None:
            return
        with server:
            server.sendall(connection.early)
            inject, seen, held = self.inject, b"", b""
            while True:
                for end in select.select([client, server], [], [])[0]:
                    if not (piece := end.recv(65536)):
                        return
                    if end is client:
                        connection.sent += piece
                        server.sendall(piece)
                        continue
                    if self.forge and NEWKEYS not in kinds(seen):
                        seen += piece
                        held += piece
                        if REPLY in kinds(seen) and NEWKEYS not in kinds(seen):
                            continue
                        piece, held = forged(seen, held), b""
                    if inject:
                        head, newline, piece = piece.partition(b"\n")
                        piece = head + newline + inject + piece
                        inject = b""
                    client.sendall(piece)

    def counted(self, seconds=0):
        """The number of connections since the last call."""
        time.sleep(seconds)
        number = len(self.connections)
        self.connections = []
        return number


def packets(data):
    """The packets behind a banner, as (type, payload), until NEWKEYS."""
    found, at = [], data.find(b"\n") + 1
    while at + 6 <= len(data):
        length, padding = int.from_bytes(data[at:at + 4], "big"), data[at + 4]
        payload = data[at + 5:at + 4 + length - padding]
        found.append((payload[0], payload))
        if payload[0] == NEWKEYS:
            break
        at += 4 + length
    return found


def kinds(data):
    return [kind for kind, _ in packets(data)]


def forged(seen, data):
    """The last of what a server has sent, with another signature: its last
    byte is the last one of the reply."""
    for kind, reply in packets(seen):
        if kind == REPLY:
            data = data.replace(reply, reply[:-1] + bytes([reply[-1] ^ 1]))
    return data


def packet(payload):
    """A packet of bytes, unencrypted."""
    padding = 8 - (5 + len(payload)) % 8
    padding += 8 if padding < 4 else 0
    return (1 + len(payload) + padding).to_bytes(4, "big") + \
        bytes([padding]) + payload + bytes(padding)

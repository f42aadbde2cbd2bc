"""A path to an sshd: a relay that delays what it passes on, and may cut the
first connection at any byte."""

import contextlib
import queue
import socket
import threading
import time

PORT = 3333
CLIENT, SERVER = "client", "server"     # whose bytes


class Wire:
    """Port 3333 is sshd's. delay_s: of each way. cut: (whose, n): the next
    connection ends once it has passed on n bytes of the client or the server;
    the other ones are whole. passed: by connection, the bytes of each.
    changed(data): what becomes of the server's bytes."""

    def __init__(self, place):
        self.delay_s, self.cut, self.passed = 0, None, []
        self.changed = bytes
        self.place, self.listener = place, place.inside(self.listen)
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
                server = self.place.inside(
                    lambda: socket.create_connection(("127.0.0.1", 2222)))
                passed, cut = {CLIENT: 0, SERVER: 0}, self.cut
                self.cut = None
                self.passed.append(passed)
                for whose, source, target in ((CLIENT, client, server),
                                              (SERVER, server, client)):
                    most = cut[1] if cut and cut[0] == whose else None
                    self.pump(whose, source, target, passed, most)

    def pump(self, whose, source, target, passed, most):
        """Both threads of one direction."""
        waiting = queue.SimpleQueue()

        def read():
            data = True
            while data:
                data = b""
                with contextlib.suppress(OSError):
                    data = source.recv(65536)
                waiting.put((time.monotonic() + self.delay_s, data))

        def write():
            while True:
                due_s, data = waiting.get()
                time.sleep(max(0, due_s - time.monotonic()))
                if whose == SERVER:
                    data = self.changed(data)
                if most is not None:
                    data = data[:most - passed[whose]]
                with contextlib.suppress(OSError):
                    if data:
                        passed[whose] += len(data)
                        target.sendall(data)
                        if passed[whose] != most:
                            continue
                        source.shutdown(socket.SHUT_RDWR)
                    target.shutdown(socket.SHUT_WR)
                return

        for function in (read, write):
            threading.Thread(target=function, daemon=True).start()

    def counted(self):
        """The connections since the last call."""
        passed, self.passed = self.passed, []
        return passed

"""relay.py FRONT BACK SCRIPT [DELAY_S [RATE]]: a TCP relay on loopback, from
port FRONT to port BACK (or an ADDRESS:PORT), that hands over everything
DELAY_S later, at most RATE bytes a second, and does to each connection what
SCRIPT says: a JSON list of

    {"from": "client" or "server", "at": K, "do": WHAT, ...}

carried out when K bytes of that direction have passed:

    stall      "seconds"          nothing passes in this direction
    hold                          the same, until a line comes on our input
    freeze     "seconds"          what is due is handed over at once, so much
                                  later; needs DELAY_S
    flip       "mask"             the next byte, exclusive or mask
    duplicate  "bytes"            the next bytes pass twice
    lose       "bytes"            they don't pass at all
    fragment   "bytes", "size"    they pass in pieces of size bytes
    truncate                      nothing more passes, and the receiver is
                                  told that this was the end
    reset                         both ends get a RST, and the relay ends

SIGUSR1: what the server says on the connections that there are is kept back.

Says on its output what it does, a JSON object a line: {"listening": FRONT},
and each action as it is done."""

import contextlib
import json
import os
import queue
import signal
import socket
import struct
import sys
import threading
import time

READ = 65536                            # bytes
DELAYED = 4096                          # reads
LATE_S = 0.005          # a read that comes so late doesn't lower the rate


def say(what):
    os.write(1, (json.dumps(what) + "\n").encode())


def exactly(source, count):
    """Reads count bytes, or fewer at the end."""
    data = b""
    while len(data) < count and (part := source.recv(count - len(data))):
        data += part
    return data


class Later:
    """Sends to a socket what it is given, but delay_s later."""

    def __init__(self, sink, delay_s):
        self.sink, self.delay_s = sink, delay_s
        self.frozen_s = 0               # until when
        self.waiting = queue.Queue(DELAYED)
        threading.Thread(target=self.run, daemon=True).start()

    def sendall(self, data):
        self.waiting.put((time.monotonic() + self.delay_s, data))

    def shutdown(self, _):
        self.sendall(b"")

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                due_s, data = self.waiting.get()
                while (now_s := time.monotonic()) < max(due_s, self.frozen_s):
                    time.sleep(max(due_s, self.frozen_s) - now_s)
                if not data:
                    return self.sink.shutdown(socket.SHUT_WR)
                self.sink.sendall(data)


class Pace:
    """Waits so that no more than rate bytes a second pass."""

    def __init__(self, rate):
        self.rate, self.next_s = rate, 0

    def wait(self, count):
        now_s = time.monotonic()
        self.next_s = max(self.next_s, now_s - LATE_S) + count / self.rate
        time.sleep(max(self.next_s - now_s, 0))


class Direction(threading.Thread):
    def __init__(self, source, sink, script, rate):
        super().__init__(daemon=True)
        self.source, self.sink = source, sink
        self.pace = Pace(rate) if rate else None
        self.script = sorted(script, key=lambda action: action["at"])
        self.passed = 0
        self.kept = False

    def run(self):
        with contextlib.suppress(OSError):
            while self.step():
                pass
        with contextlib.suppress(OSError):
            self.sink.shutdown(socket.SHUT_WR)

    def step(self):
        """Whether there is more to do."""
        if self.script and self.passed >= self.script[0]["at"]:
            action = self.script.pop(0)
            say(action)
            return getattr(self, action["do"])(action)
        count = READ
        if self.script:
            count = min(count, self.script[0]["at"] - self.passed)
        data = self.take(count)
        while self.kept:
            time.sleep(0.01)
        self.sink.sendall(data)
        if self.pace:
            self.pace.wait(len(data))
        return data

    def take(self, count, read=socket.socket.recv):
        data = read(self.source, count)
        self.passed += len(data)
        return data

    def stall(self, action):
        time.sleep(action["seconds"])
        return True

    def freeze(self, action):
        self.sink.frozen_s = time.monotonic() + action["seconds"]
        return True

    def hold(self, _):
        sys.stdin.readline()
        return True

    def flip(self, action):
        data = self.take(1)
        self.sink.sendall(bytes(b ^ action["mask"] for b in data))
        return data

    def duplicate(self, action):
        data = self.take(action["bytes"], exactly)
        self.sink.sendall(data + data)
        return data

    def lose(self, action):
        return self.take(action["bytes"], exactly)

    def fragment(self, action):
        end = self.passed + action["bytes"]
        while self.passed < end:
            if not (data := self.take(action["size"])):
                return False
            self.sink.sendall(data)
        return True

    def truncate(self, _):
        self.sink.shutdown(socket.SHUT_WR)
        while self.take(READ):
            pass
        return False

    def reset(self, _):
        """A socket that another thread reads isn't closed before that thread
        is done: so all of them end at once."""
        for s in (self.source, self.sink):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
        os._exit(0)


def address(text):
    """(host, port) of PORT or ADDRESS:PORT."""
    host, _, port = text.rpartition(":")
    return host or "127.0.0.1", int(port)


def serve(client, back, script, delay_s, rate, servers):
    server = socket.create_connection(back)
    for s in (client, server):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways = {name: Direction(source, Later(sink, delay_s) if delay_s else sink,
                            [a for a in script if a["from"] == name], rate)
            for name, source, sink in (("client", client, server),
                                       ("server", server, client))}
    servers.append(ways["server"])
    for way in ways.values():
        way.start()
    for way in ways.values():
        way.join()
    time.sleep(2 * delay_s)
    client.close()
    server.close()


def main():
    front, back = map(address, sys.argv[1:3])
    script = json.loads(sys.argv[3])
    delay_s = float(sys.argv[4]) if len(sys.argv) > 4 else 0
    rate = float(sys.argv[5]) if len(sys.argv) > 5 else 0
    listener = socket.create_server(front)
    servers = []
    signal.signal(signal.SIGUSR1, lambda *_: say({"kept": [
        setattr(way, "kept", True) for way in servers]}))
    say({"listening": front[1]})
    while True:
        threading.Thread(target=serve, daemon=True, args=(
            listener.accept()[0], back, script, delay_s, rate,
            servers)).start()


if __name__ == "__main__":
    main()

"""Reads what a transfer left in its folder. MB are 10^6 bytes."""

import json
import os
import re
import statistics

WINDOW_STOCK = 2 << 20              # bytes, CHAN_SES_WINDOW_DEFAULT

ADJUST = re.compile(r"channel \d+: window (\d+) sent adjust (\d+)")
CHANWIN = re.compile(r"channel (\d+): chanwin (t_us=.*)")

# Bytes, at most, that SSH and SFTP send after the last of the data
CLOSING = 4096


class Missing(Exception):
    """The transfer did not get where one wants to measure."""


class Series:
    """What had arrived by when: (seconds, bytes), in order of time."""

    def __init__(self, text):
        self.rows = [(float(t), int(n)) for t, n in
                     (line.split() for line in text.splitlines())]
        self.total = self.rows[-1][1] if self.rows else 0

    def at(self, count):
        """Seconds at which that many bytes had arrived."""
        for t, n in self.rows:
            if n >= count:
                return t
        raise Missing(f"only {self.total} of {count} bytes arrived")

    def first_s(self):
        return self.at(1)

    def seconds(self, count=None):
        """From the first byte to the one numbered count (the last)."""
        return self.at(count or self.total) - self.first_s()

    def arrived(self, t_s):
        """Bytes that had arrived at t_s, between two lines of the series."""
        before = (self.rows[0][0], 0)
        for row in self.rows:
            if row[0] >= t_s:
                part = (t_s - before[0]) / max(row[0] - before[0], 1e-9)
                return before[1] + part * (row[1] - before[1])
            before = row
        return self.total

    def between(self, start_s, end_s):
        """Mean MB/s between two moments, in seconds since the first byte."""
        first_s = self.first_s()
        return (self.arrived(first_s + end_s) -
                self.arrived(first_s + start_s)) / (end_s - start_s) / 1e6

    def goodput(self, after_s=0.0):
        """Mean MB/s from after_s seconds after the first byte to the last."""
        after_s = min(self.first_s() + after_s, self.rows[-1][0])
        return self.from_row(next((t, n) for t, n in self.rows
                                  if n > 0 and t >= after_s))

    def late(self, rate_mbit, window_s):
        """Mean MB/s over the second half of the bytes. It begins where no
        more than the link carries comes in the time after: until then it is
        what a lost segment had held up."""
        most = rate_mbit * 125000 * window_s
        return self.from_row(next(
            (t, n) for t, n in self.rows if n >= self.total // 2 and
            self.arrived(t + window_s) - n <= most))

    def from_row(self, row):
        t, n = row
        end_s = self.at(self.total)
        if end_s <= t:
            raise Missing(f"the transfer was over {t - self.first_s():.2f} s "
                          "after its first byte")
        return (self.total - n) / (end_s - t) / 1e6


class Transfer:
    """What one transfer left in its folder. series is that of its first
    channel, channels has all."""

    def __init__(self, spec, folder):
        self.spec = spec
        self.folder = folder
        self.result = json.loads(self.read("result.json") or "{}")
        self.channels = [
            Series(self.read("series" + (f".{i}" if i else "")))
            for i in range(spec.channels or 1)]
        self.series = self.channels[0]

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def receiver_log(self):
        return self.read("ssh.log" if self.spec.direction == "get"
                         else "sshd.log")

    def samples(self):
        return [json.loads(line) for line in self.read("samples").splitlines()]

    def shared_s(self):
        """Seconds from when the connection that is shared was there."""
        return self.result["start_s"] + self.result["seconds"] - \
            float(self.read("shared"))

    def goodput(self, after_s=0.0):
        return self.series.goodput(after_s)

    def steady(self, after_s):
        """Mean MB/s that the sender's TCP delivered, from the first look at
        it after_s after the first byte to the last while it had more to
        send of the data: that files and channels are closed comes round trips
        later. What a segment lost near the end holds up was delivered, too:
        its reader gets it once the sender has nothing more."""
        looks = [(t_s, n) for t_s, n in (
            (t_s, self.sent(text)) for t_s, text in self.sender_samples())
            if n["delivered"] > 0]      # else the connection is gone
        if not looks:
            raise Missing("nobody looked at the sender")
        # Once it is gone, what another one delivered is less
        peak = max(n["delivered"] for _, n in looks)
        looks = looks[:1 + max(i for i, (_, n) in enumerate(looks)
                               if n["delivered"] == peak)]
        last = max(n["new"] for _, n in looks)
        total = max(last, self.spec.bytes) - CLOSING
        start_s = self.series.first_s() + after_s
        inside = [(t_s, n) for t_s, n in looks if t_s >= start_s and
                  (n["notsent"] > 0 or n["new"] < total)]
        if len(inside) < 3:
            raise Missing(f"the sender was looked at {len(inside)} times in "
                          "its steady part")
        (t0_s, first), (t1_s, end) = inside[0], inside[-1]
        # of it what is not SSH's own
        payload = min(self.spec.bytes / (last + looks[-1][1]["notsent"]), 1)
        return (end["delivered"] - first["delivered"]) * end["segment"] * \
            payload / (t1_s - t0_s) / 1e6

    @staticmethod
    def sent(text):
        """Of a look at a host, the connection that carries most: segments
        delivered and their mean size, bytes sent for the first time and
        bytes not sent."""
        found = {"delivered": 0, "new": 0, "notsent": 0, "segment": 0}
        for socket in text.split("ESTAB"):
            n = {k: int(v) for k, v in
                 re.findall(r"\b(\w+):(\d+)(?= |$)", socket)}
            if n.get("delivered", 0) > found["delivered"]:
                found = {"delivered": n["delivered"],
                         "new": n["bytes_sent"] - n.get("bytes_retrans", 0),
                         "notsent": n.get("notsent", 0),
                         "segment": n["bytes_sent"] / n["data_segs_out"]}
        return found

    def late(self):
        return self.series.late(self.spec.rate_mbit, self.spec.rtt_us / 1e6)

    # The window, from the receiver's log at -vv

    def window_trace(self):
        """A dict for each adjust of ours; see channel-report.c."""
        return [dict({k: int(v) if v.isdigit() else v for k, v in
                      (word.split("=") for word in m.group(2).split())},
                     channel=int(m.group(1)))
                for m in CHANWIN.finditer(self.receiver_log())]

    def peak_window(self):
        """Bytes; of stock peers too, which never leave their first window."""
        return max([WINDOW_STOCK] +
                   [int(m[1]) + int(m[2])
                    for m in ADJUST.finditer(self.receiver_log())])

    def path_stalls(self):
        """[start_s, end_s] of each time in which nothing passed either way.
        (A relay holds up the data's way only.)"""
        stalls = self.spec.stalls
        if not stalls or stalls["what"] != "path" or self.spec.via == "relay":
            return []
        return [[float(t) for t in line.split()]
                for line in self.read("stalls").splitlines()]

    def unspent(self):
        """Bytes of credit that the sender had received and not yet sent, at
        each sample of its socket.

        Credit is on its way for half an RTT (the way back has no queue), and if
        it is due while the path stalls, until that is over. Where the sender's
        log was read as well, it says what credit has come. What the sender
        wrote to its socket is that much more than channel data: handshake, then
        packet headers in a constant ratio."""
        rows = [(s["t_s"], s["written"]) for s in self.samples()
                if s.get("written")]
        received = {s["t_s"]: s["credit"] for s in self.samples()
                    if s.get("credit")}
        trace = self.window_trace()
        total = max(written for _, written in rows)
        start = max([w for t, w in rows if t < self.series.first_s()] or [0])
        ratio = self.spec.bytes / (total - start)
        result, i, granted = [], 0, WINDOW_STOCK
        stalls = self.path_stalls()

        def due_s(adjust):
            at_s = adjust["t_us"] / 1e6 + self.spec.rtt_us / 2e6
            return next((end_s for start_s, end_s in stalls
                         if start_s <= at_s < end_s), at_s)

        for t_s, written in rows:
            while i < len(trace) and due_s(trace[i]) <= t_s:
                granted = trace[i]["granted"]
                i += 1
            granted = received.get(t_s, granted)
            sent = max(written - start, 0) * ratio
            if sent < self.spec.bytes * 0.999:
                result.append((t_s, granted - sent))
        return result

    # What it cost

    def memory(self, end):
        """(seconds, bytes resident) of an end's program, over time."""
        names = {"client": ["ssh"], "server": ["sshd-session", "sshd"]}[end]
        return [(s["t_s"], next(s[n] for n in names if s[n] or n == names[-1]))
                for s in self.samples() if names[0] in s]

    def peak_memory(self, end):
        peak = self.result["peak_memory"]
        return peak["ssh"] if end == "client" else \
            peak["sshd-session"] or peak["sshd"]

    # What sshtrace said

    def traced(self, host):
        """Its rows of the transfer's connection at an end, in mid-transfer."""
        rows = [json.loads(line)
                for line in self.read(f"trace.{host}").splitlines()]
        return [row for row in rows if row["pid"] and
                row["t_s"] - row["interval_us"] / 1e6 >= self.series.first_s()
                and row["t_s"] <= self.series.at(self.series.total)]

    # What ss -ti said of the sender's socket

    def sender_samples(self):
        """(seconds, text) of each look at the sender's end."""
        sender = "server" if self.spec.direction == "get" else "client"
        parts = re.split(r"^([\d.]+) (client|server)$", self.read("ss.log"),
                         flags=re.M)[1:]
        return [(float(t_s), text) for t_s, host, text in
                zip(parts[::3], parts[1::3], parts[2::3]) if host == sender]

    def loaded_rtt_ms(self):
        """The RTT that the sender's TCP had, median over the transfer: of
        the path with what queue the transfer made."""
        return statistics.median(
            float(rtt) for _, text in self.sender_samples()
            for rtt in re.findall(r"\brtt:([\d.]+)/", text))

    def held_up(self):
        """Of each look in mid-transfer: whether the congestion window had
        room (a tenth of it) and nothing waited to be sent. It ends when
        something waited for the last time: to mend what was lost of the end
        may take long."""
        start_s = self.series.first_s() + 1
        end_s = self.series.at(self.series.total) - 1
        looks, last = [], 0
        for t_s, text in self.sender_samples():
            n = {k: int(v) for k, v in re.findall(
                r"\b(cwnd|unacked|notsent|mss):(\d+)", text)}
            if "cwnd" in n and start_s < t_s < end_s:
                waits = n.get("notsent", 0) >= n["mss"]
                looks.append(n.get("unacked", 0) < 0.9 * n["cwnd"] and
                             not waits)
                last = len(looks) if waits else last
        return looks[:last]

    def mean_segment(self):
        """Bytes in a segment that the sender's TCP sent, of its MSS; of what
        it sent again it has its own way (BBR's sometimes in halves)."""
        n = {"bytes_retrans": 0, "retrans": 0}
        for _, text in self.sender_samples():
            n.update((k, int(v)) for k, v in re.findall(
                r"\b(bytes_sent|bytes_retrans|data_segs_out|mss|retrans)"
                r":(?:\d+/)?(\d+)", text))
        return (n["bytes_sent"] - n["bytes_retrans"]) / \
            (n["data_segs_out"] - n["retrans"]) / n["mss"]

    def lost(self):
        """Share of the segments that the sender's TCP sent again."""
        counts = [re.findall(r"\b(?:data_segs_out:|retrans:\d+/)(\d+)", text)
                  for _, text in self.sender_samples()]
        pairs = [sorted(map(int, c)) for c in counts if len(c) == 2]
        return pairs[-1][0] / pairs[-1][1] if pairs else 0

    def cpu_s(self):
        """CPU time of the programs of a bare transfer: in UML that of all
        that ran in the guest, its kernel excepted."""
        return sum(map(int, self.read("lab.cpu").split())) / 1e6

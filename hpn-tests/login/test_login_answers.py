"""The login and servers that answer in other ways than sshd: to software that
is not known the login is stock's, and whatever is answered, ssh ends as stock's
does, over one connection."""

import contextlib
import pathlib
import select
import socket
import subprocess

import pytest

from hostile import (PATIENCE_S, Client, Hostile, Raw, ext_info, paramiko)
from login_tools import (ACCEPT, CHANNEL_REQUEST, CONFIRM, FAILURE, HOST, OPEN,
                         PK_OK, REQUEST, SERVICE, SUCCESS, flow, plain,
                         sent_before)
from loopback import OURS, PORT, STOCK, read, stands_still, wait_until

ALGORITHMS = ext_info(b"server-sig-algs", b"ssh-ed25519")
DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, EXT_INFO, BANNER = 1, 2, 3, 4, 7, 53
REFUSE = 92
OPENSSH = "SSH-2.0-OpenSSH_9.6"
KNOWN = [OPENSSH, "SSH-2.0-OpenSSH_10.0p1 Debian-7"]
UNKNOWN = ["SSH-2.0-Cisco-1.25", "SSH-2.0-OpenSS", "SSH-2.0-MyOpenSSH_9.6",
           "SSH-2.0-1.00 FlowSsh: WinSSHD",
           # These accept "none" from whom it suffices, and end at the query
           "SSH-2.0-Go", "SSH-2.0-libssh_0.11.2"]


def messages(place, tree, version, extensions):
    """Those of a login to a server with that banner."""
    client = Client(place, tree, options=["-vvv"], extensions=extensions,
                    version=version)
    assert client.works()
    assert client.end()[0] == 0, client.log()
    return flow(client.log())


@pytest.mark.parametrize("version, extensions", [
    *((version, ALGORITHMS) for version in UNKNOWN), (OPENSSH, None)],
    ids=[*UNKNOWN, "no EXT_INFO"])
def test_stocks_login_to_other_software(place, version, extensions):
    """Message for message, and so for a server without EXT_INFO."""
    stock, ours = (messages(place, tree, version, extensions)
                   for tree in (STOCK, OURS))
    end = stock.index((False, CONFIRM))
    assert ours[:end] == stock[:end]
    assert sent_before(stock, FAILURE) == [SERVICE, REQUEST]


@pytest.mark.parametrize("version", KNOWN)
def test_in_one_flight_to_known_software(place, version):
    """But no channel request before the answer to its opening, as that was not
    announced."""
    kinds = messages(place, OURS, version, ALGORITHMS)
    assert sent_before(kinds, ACCEPT) == [SERVICE, REQUEST, REQUEST]
    assert CHANNEL_REQUEST not in sent_before(kinds, CONFIRM)


# Answers

NO, YES = Raw(b"\0"), Raw(b"\1")
SERVES = (ACCEPT, b"ssh-userauth")
REFUSES, PARTLY = (FAILURE, b"publickey", NO), (FAILURE, b"publickey", YES)
PASSWORD = (FAILURE, b"password", NO)
# What a server says to the first request of a kind, where it is not what all
# say. early: before any.
ANSWERS = {
    "honest": {},
    "none-succeeds": {"none": [(SUCCESS,)], "query": [REFUSES]},
    "none-succeeds-and-query-is-ignored": {
        "none": [(SUCCESS,)], "query": []},
    "none-succeeds-and-query-is-unknown": {
        "none": [(SUCCESS,)], "query": [(UNIMPLEMENTED, 5)]},
    "none-succeeds-and-query-is-taken": {
        "none": [(SUCCESS,)], "query": ["takes"]},
    "no-publickey": {"none": [PASSWORD], "query": [PASSWORD]},
    "no-methods": {"none": [(FAILURE, b"", NO)], "query": [(FAILURE, b"", NO)]},
    "query-refused": {"query": [REFUSES]},
    "query-refused-for-good": {"query": [PASSWORD]},
    "query-succeeds": {"query": [(SUCCESS,)]},
    "query-succeeds-in-part": {"query": [PARTLY]},
    "none-succeeds-in-part": {"none": [PARTLY]},
    "another-key": {"query": [(PK_OK, b"ssh-ed25519", b"another")]},
    "another-algorithm": {"query": [(PK_OK, b"ssh-rsa", b"another")]},
    "torn-answer": {"query": [(PK_OK, b"ssh-ed25519")]},
    "empty-answer": {"query": [(PK_OK,)]},
    "signature-refused": {"signature": [REFUSES]},
    "signature-in-part": {"signature": [PARTLY]},
    "another-service": {"service": [(ACCEPT, b"ssh-connection")]},
    "no-service": {"service": [(DISCONNECT, 7, b"no service", b"")]},
    "messages-between": {
        "none": [(BANNER, b"words\n", b""), (IGNORE, b"x"),
                 (DEBUG, NO, b"x", b""), REFUSES],
        "query": [(BANNER, b"more words\n", b""), "takes"]},
    "algorithms-again": {"service": [SERVES, (EXT_INFO, Raw(ALGORITHMS))]},
    "algorithms-late": {"early": None,
                        "service": [SERVES, (EXT_INFO, Raw(ALGORITHMS))]},
    "algorithms-later": {"early": None, "none": [
        (EXT_INFO, Raw(ALGORITHMS)), REFUSES]},
    "leaves-after-none": {"none": [(DISCONNECT, 2, b"enough", b"")]},
    "leaves-after-query": {"query": [(DISCONNECT, 2, b"enough", b"")]},
    "session-before-success": {"none": [(CONFIRM, 0, 0, 1 << 20, 1 << 15)]},
    "leaves-after-signature": {"signature": [(DISCONNECT, 2, b"x", b"")]},
    "taken-twice": {"query": ["takes", "takes"]},
    "one-answer-too-many": {"query": ["takes", REFUSES]},
}
# Stock's ssh does not ask for a key before it knows the answer to "none".
# There is nothing to compare with: ssh ends, or logs in.
OURS_ONLY = {
    "none-is-unknown": {"none": [(UNIMPLEMENTED, 4)]},
    "in-another-order": {"none": [], "query": ["takes", REFUSES]},
    "one-answer-for-both": {"none": [], "query": [REFUSES]},
    "one-good-answer-for-both": {"none": [], "query": ["takes"]},
    "failed-twice": {"none": [REFUSES, REFUSES]},
    "failed-three-times": {"none": [REFUSES, REFUSES, REFUSES]},
}


class Server(Hostile):
    """Answers the requests of a login as it is told to, in their order, and
    refuses sessions."""

    def __init__(self, sock, answers):
        super().__init__(sock, answers.get("early", ALGORITHMS))
        self.local_version = OPENSSH
        self.answers, self.requests = dict(answers), []

    def listen(self):
        message, m = super().listen()
        if message in (SERVICE, REQUEST, OPEN):
            self.answer(message, m.asbytes())
            return IGNORE, m
        return message, m

    def answer(self, message, body):
        m = paramiko.Message(body)
        if message == SERVICE:
            what, usual = "service", [SERVES]
        elif message == OPEN:
            m.get_string()
            what, usual = "session", [(REFUSE, m.get_int(), 1, b"", b"")]
        else:
            method = [m.get_string() for _ in range(3)][2]
            what, usual = "none", [REFUSES]
            if method == b"publickey":
                signed = m.get_boolean()
                taken = m.get_string(), m.get_string()
                what = "signature" if signed else "query"
                usual = [(SUCCESS,)] if signed else ["takes"]
        self.requests.append(what)
        for said in self.answers.pop(what, usual):
            with contextlib.suppress(EOFError, OSError):
                self.say(*((PK_OK, *taken) if said == "takes" else said))


def outcome(place, tree, answers, level="INFO"):
    """Status and words of ssh, and the requests that it made."""
    pathlib.Path(place.path("known_hosts")).unlink(missing_ok=True)
    listener = place.inside(lambda: socket.create_server(("127.0.0.1", PORT)))
    log = place.path("ssh.log")
    pathlib.Path(log).unlink(missing_ok=True)
    ssh = place.start(place.ssh("-E", log, HOST, "command", tree=tree,
                                level=level),
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    listener.settimeout(PATIENCE_S)
    server = Server(listener.accept()[0], answers)
    server.add_server_key(paramiko.Ed25519Key(filename=place.path("host")))
    with contextlib.suppress(EOFError, OSError, paramiko.SSHException):
        server.start_server(server=paramiko.ServerInterface())
    # Nothing comes any more: what ssh waits for now it waits for, for ever
    wait_until("ssh's end", lambda: quiet(server, ssh))
    if ssh.poll() is not None:
        server.join(PATIENCE_S)         # it has read all that ssh sent
    server.close()
    status = ssh.wait(PATIENCE_S)
    again = select.select([listener], [], [], 0)[0]
    listener.close()
    assert not again, "a second connection"
    assert ssh.stdout.read() == b""
    return status, plain(read(log)), server.requests


def quiet(server, ssh):
    """Whether an ssh still waits, long after its server said the last word."""
    heard = len(server.heard)
    with contextlib.suppress(subprocess.TimeoutExpired):
        ssh.wait(2)
    return ssh.returncode is not None or \
        stands_still(ssh.pid) and len(server.heard) == heard


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_end_as_with_stock(place, name):
    stock, ours = (outcome(place, tree, ANSWERS[name])
                   for tree in (STOCK, OURS))
    assert ours[:2] == stock[:2]
    for what in ("signature", "session"):
        assert ours[2].count(what) == stock[2].count(what), what
    assert ours[2].count("none") <= 1


@pytest.mark.parametrize("name", OURS_ONLY)
def test_answers_that_do_not_fit_end_the_login(place, name):
    """One key is not signed with twice, and no session opened before the login
    succeeded."""
    status, said, requests = outcome(place, OURS, OURS_ONLY[name])
    assert status == 255 and said
    assert requests.count("signature") <= 1
    assert "session" not in " ".join(requests).partition("signature")[0]


def test_signature_waits_for_both_answers(place):
    """asyncssh answers the query first, and loses a signature that comes before
    it has answered "none"."""
    _, _, requests = outcome(place, OURS, OURS_ONLY["in-another-order"],
                             level="DEBUG3")
    kinds = flow(read(place.path("ssh.log")))
    assert sent_before(kinds, FAILURE).count(REQUEST) == 2
    assert requests.count("session") == 1

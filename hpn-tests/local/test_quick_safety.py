"""QuickStart and what makes a login less simple: certificates, prompts, keys
that need somebody, and servers that have changed since. What a user sees is
what stock shows."""

import os
import re
import subprocess

import pytest

from loopback import (OURS, STOCK, place, read,     # noqa: F401
                      wait_until)
from quick_login import (ASKED, CHANNEL_REQUEST, HOST, OPEN,    # noqa: F401
                         REQUEST, authorize, home, is_quick, key, login,
                         outcome, remember, restart, stop)

PAST, PRESENT = "-2h:-1h", "-1h:+1h"


def certify(home, name, validity, *arguments):
    """NAME-cert.pub, by the key "ca"."""
    if not os.path.exists(home.path("ca")):
        key(home, "ca")
    subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-s", home.path("ca"), "-I",
                    name, "-V", validity, *arguments,
                    home.path(f"{name}.pub")], check=True)


def test_expired_certificate(home):
    """A certificate never signs at once, so nothing is sent early once it has
    expired; nor does the key that it is for, which stock would try later."""
    certify(home, "user", PRESENT, "-n", "root")
    first = ["-o", f"CertificateFile={home.path('user-cert.pub')}"]
    home.sshd(OURS, authorize(home, ""),
              f"TrustedUserCAKeys {home.path('ca')}.pub")
    for _ in range(2):
        done = login(home, *first)
        assert done.returncode == 0 and done.early == ASKED, done.stderr
        assert "ED25519-CERT" in done.stderr
    certify(home, "user", PAST, "-n", "root")
    said = [outcome(home, *first, quick=quick) for quick in ("yes", "no")]
    assert said[0] == said[1] and said[0][0] == 255
    assert "Permission denied" in said[0][2]
    # The server takes the key alone
    authorize(home, read(home.path("user.pub")))
    for _ in range(2):
        done = login(home, *first)
        assert done.returncode == 0 and OPEN not in done.early
        assert done.early[:2] == ASKED[:2]


def test_expired_certificate_in_an_agent(home):
    """As above, where nothing but the agent has it."""
    os.mkdir(home.path("elsewhere"))
    env = {**os.environ, "SSH_AUTH_SOCK": home.path("agent")}
    home.start([f"{STOCK}/ssh-agent", "-D", "-a", home.path("agent")],
               stdout=subprocess.DEVNULL)
    wait_until("the agent", lambda: os.path.exists(home.path("agent")))
    home.sshd(OURS, authorize(home, ""),
              f"TrustedUserCAKeys {home.path('ca')}.pub")

    def certified(validity):
        certify(home, "user", validity, "-n", "root")
        for words in (["-D"], [home.path("user")],
                      ["-d", "-k", home.path("user")]):
            done = home.run([f"{STOCK}/ssh-add", "-q", *words], env=env)
            assert done.returncode == 0, done.stderr

    def away(there):
        for name in ("user", "user.pub", "user-cert.pub"):
            ways = [home.path(name), home.path(f"elsewhere/{name}")]
            os.rename(*ways[::1 if there else -1])

    certified(PRESENT)
    away(True)
    for _ in range(2):
        done = login(home, drop=["IdentitiesOnly"], env=env)
        assert done.returncode == 0 and done.early == ASKED, done.stderr
    away(False)
    certified(PAST)
    away(True)
    said = [outcome(home, quick=quick, drop=["IdentitiesOnly"], env=env)
            for quick in ("yes", "no")]
    assert said[0] == said[1] and said[0][0] == 255


def test_certificate_beside_the_key(home):
    """The key is remembered. A certificate that has come since goes first."""
    home.sshd()
    remember(home)
    assert is_quick(login(home), True)
    certify(home, "user", PAST, "-n", "root")
    assert is_quick(login(home), True)      # as stock tries the key first
    first = ["-o", f"CertificateFile={home.path('user-cert.pub')}"]
    done = login(home, *first)
    assert done.returncode == 0 and done.early[:2] == ASKED[:2]
    assert "signing at once" not in done.stderr


def test_expired_host_certificate(home):
    """Nothing but the key exchange goes to it, and stock's message comes."""
    certify(home, "host", PRESENT, "-h", "-n", "127.0.0.1")
    option = f"HostCertificate {home.path('host-cert.pub')}"
    with open(home.path("known_hosts"), "w") as f:
        f.write("@cert-authority * " + read(home.path("ca.pub")))
    strict = ["-o", "UpdateHostKeys=no"]
    home.sshd(OURS, option)
    for quick in ("yes", "yes", "no"):
        assert outcome(home, *strict, quick=quick, drop=["Strict"])[:2] == \
            (0, "ran\n")
    assert is_quick(login(home), True)
    certify(home, "host", PAST, "-h", "-n", "127.0.0.1")
    restart(home, OURS, option)
    said = [outcome(home, *strict, quick=quick, drop=["Strict"])
            for quick in ("yes", "no")]
    assert said[0] == said[1] and said[0][0] == 255
    assert "expired" in said[0][2]
    done = login(home, drop=["Strict"])
    assert done.returncode == 255 and 5 not in done.early
    assert "signing at once" not in done.stderr


# Prompts

ASKPASS = """#!/bin/sh
echo "$1" >> {log}
{script}
"""


class Prompts:
    """A program that answers prompts, and how often it was asked."""

    def __init__(self, home, script="echo secret"):
        self.program, self.log = home.path("askpass"), home.path("asked")
        self.says(script)
        self.env = {**os.environ, "SSH_ASKPASS": self.program,
                    "SSH_ASKPASS_REQUIRE": "force"}

    def says(self, script):
        with open(self.program, "w") as f:
            f.write(ASKPASS.format(log=self.log, script=script))
        os.chmod(self.program, 0o755)

    def taken(self):
        """What was asked since the last call."""
        said = read(self.log)
        with open(self.log, "w"):
            pass
        return said


def has_pam(tree):
    return re.search(r"^#define USE_PAM 1", read(f"{tree}/config.h"), re.M)


@pytest.fixture
def pam(home):
    """pam(account, tree, *options): an sshd with PAM, whose only password is
    "secret"."""
    if not has_pam(OURS):
        pytest.skip("sshd is built without PAM")
    if not os.path.isdir("/etc/pam.d"):
        pytest.skip("no /etc/pam.d to put a service over")
    os.mkdir(home.path("pam.d"))
    with open(home.path("check"), "w") as f:
        f.write("#!/bin/sh\n[ \"$(tr -d '\\0')\" = secret ]\n")
    os.chmod(home.path("check"), 0o755)
    done = home.run(["mount", "--bind", home.path("pam.d"), "/etc/pam.d"])
    assert done.returncode == 0, done.stderr

    def serve(*options, account="permit", tree=OURS):
        with open(home.path("pam.d/sshd"), "w") as f:
            f.write("auth required pam_exec.so quiet expose_authtok "
                    f"{home.path('check')}\nauth required pam_permit.so\n"
                    f"account required pam_{account}.so\n"
                    "session required pam_permit.so\n")
        return restart(home, tree, "UsePAM yes", *options)
    return serve


def test_pam_prompt(home, pam):
    """A password besides the key, since: it is asked for once, what is typed
    is the password, and the command runs once, behind the prompt."""
    pam()
    remember(home)
    assert is_quick(login(home), True)
    both = "AuthenticationMethods publickey,keyboard-interactive:pam"
    pam(both)
    prompts, ran = Prompts(home), home.path("ran")
    told = []
    for quick in ("yes", "no", "yes"):
        told.append((*outcome(
            home, quick=quick, env=prompts.env, drop=["BatchMode"],
            typed="not for the prompt", command=f"echo ran >> {ran}; cat"),
            prompts.taken(), read(ran)))
        os.unlink(ran)
    assert told[0] == told[1] == told[2] == \
        (0, "not for the prompt", "", "(root@127.0.0.1) Password: \n", "ran\n")
    # A wrong one
    prompts.says("echo wrong")
    told = [(*outcome(home, quick=quick, env=prompts.env,
                      drop=["BatchMode"], command=f"echo ran >> {ran}"),
             prompts.taken()) for quick in ("yes", "no")]
    assert told[0] == told[1] and told[0][0] == 255
    assert not os.path.exists(ran)


def test_pam_prompt_early(home, pam):
    """The session has gone out with the signature, and is dropped."""
    pam()
    remember(home)
    pam("AuthenticationMethods publickey,keyboard-interactive:pam")
    done = login(home)
    assert done.returncode == 255 and "Permission denied" in done.stderr
    assert done.early[:4] == [5, REQUEST, OPEN, CHANNEL_REQUEST]
    assert "partial success" in done.stderr


def test_pam_only_a_prompt(home, pam):
    """Nothing but the key exchange is early."""
    pam("AuthenticationMethods keyboard-interactive:pam")
    prompts = Prompts(home)
    outcome(home)                       # the host's key is known
    for quick in ("yes", "yes", "always", "no"):
        told = outcome(home, quick=quick, env=prompts.env,
                       drop=["BatchMode"])
        assert (*told, prompts.taken()) == \
            (0, "ran\n", "", "(root@127.0.0.1) Password: \n")


@pytest.mark.parametrize("tree", [OURS, STOCK])
def test_pam_account(home, pam, tree):
    """An account that PAM has closed since: no command, stock's messages."""
    pam(tree=tree)
    quick = "always" if tree == STOCK else "yes"
    remember(home, quick=quick)
    assert is_quick(login(home, quick=quick), True)
    pam(account="deny", tree=tree)
    ran = home.path("ran")
    told = [outcome(home, quick=q, command=f"touch {ran}")
            for q in (quick, "no")]
    assert [re.sub(r"port \d+", "port", t[2]) for t in told] == \
        [re.sub(r"port \d+", "port", told[1][2])] * 2
    assert [t[0] for t in told] == [255, 255]
    assert not os.path.exists(ran)


# Keys that need somebody

@pytest.fixture(scope="module")
def provider(tmp_path_factory):
    """Upstream's security key that is none."""
    if not re.search("^#define ENABLE_SK ", read(f"{OURS}/config.h"), re.M):
        pytest.skip("ssh is built without security keys")
    made = str(tmp_path_factory.mktemp("sk") / "sk-dummy.so")
    sources = [f"{STOCK}/regress/misc/sk-dummy/{name}.c"
               for name in ("sk-dummy", "fatal")]
    done = subprocess.run(
        ["cc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H",
         f"-I{STOCK}", "-o", made, *sources, f"{STOCK}/ed25519.c",
         f"{STOCK}/hash.c", "-lcrypto"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("kind", ["ed25519-sk", "ecdsa-sk"])
@pytest.mark.parametrize("where", ["file", "agent"])
def test_security_keys_are_asked_for(home, provider, kind, where):
    """One touch a login, as with stock, and none for a server that would not
    take the key."""
    env = {**os.environ, "SSH_SK_PROVIDER": provider,
           "SSH_SK_HELPER": f"{OURS}/ssh-sk-helper",
           "SSH_AUTH_SOCK": home.path("agent")}
    for name in ("user", "user.pub"):
        os.unlink(home.path(name))
    done = subprocess.run([f"{STOCK}/ssh-keygen", "-q", "-N", "", "-t", kind,
                           "-f", home.path("user")], env=env,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if where == "agent":
        home.start([f"{STOCK}/ssh-agent", "-P", "*", "-D", "-a",
                    home.path("agent")], env=env, stdout=subprocess.DEVNULL)
        wait_until("the agent", lambda: os.path.exists(home.path("agent")))
        done = home.run([f"{STOCK}/ssh-add", home.path("user")], env=env)
        assert done.returncode == 0, done.stderr
    home.sshd()
    for _ in range(3):
        done = login(home, "-o", f"SecurityKeyProvider={provider}", env=env)
        assert done.returncode == 0 and done.early == ASKED, done.stderr
        assert (f"ready to sign with key {kind.upper()}" in done.stderr) == \
            (where == "file")


def confirming_agent(home, script):
    """An agent that asks before it signs, and its prompts."""
    prompts, path = Prompts(home, script), home.path("agent")
    home.start([f"{STOCK}/ssh-agent", "-D", "-a", path], env=prompts.env,
               stdout=subprocess.DEVNULL)
    wait_until("the agent", lambda: os.path.exists(path))
    prompts.env["SSH_AUTH_SOCK"] = path
    done = home.run([f"{STOCK}/ssh-add", "-q", "-c", home.path("user")],
                    env=prompts.env)
    assert done.returncode == 0, done.stderr
    return prompts


def test_an_agent_that_asks(home):
    """Somebody took their time: the key is never used before the server has
    said that it takes it."""
    home.sshd()
    prompts = confirming_agent(home, "sleep 0.5")
    for _ in range(3):
        done = login(home, env=prompts.env)
        assert done.returncode == 0 and done.early == ASKED, done.stderr
        assert prompts.taken().count("Allow use of key") == 1


def test_an_agent_that_asks_and_is_told_no(home):
    """Of somebody who is fast, it asks as often as with stock."""
    home.sshd()
    prompts = confirming_agent(home, "true")
    for _ in range(2):
        done = login(home, env=prompts.env)
        assert done.returncode == 0
        assert prompts.taken().count("Allow use of key") == 1
    told = []
    for quick in ("yes", "yes", "no"):
        prompts.says("exit 1")
        told.append((*outcome(home, quick=quick, env=prompts.env),
                     prompts.taken()))
    assert told[0] == told[1] == told[2] and told[0][0] == 255, told


# What the server counts

def penalties(home, sshd):
    """Those of an sshd that has seen the ends of all connections."""
    children = f"/proc/{sshd.pid}/task/{sshd.pid}/children"
    wait_until("the connections' end", lambda: read(children) == "")
    stop(home)
    return re.findall(r"penalty of (\S+ seconds for penalty: .*)",
                      read(sshd.log))


REFUSED = "5 seconds for penalty: failed authentication"
UNTRIED = "1 seconds for penalty: connections without attempting authentication"


@pytest.mark.parametrize("since,stock,ours", [
    ("Banner none", [], []),
    ("AuthorizedKeysFile none", [REFUSED], [REFUSED]),
    ("AuthenticationMethods publickey,password", [REFUSED], [REFUSED]),
    # A wrong guess, once a day: a fifteenth of what sshd begins to mind
    ("KexAlgorithms ecdh-sha2-nistp256", [], [UNTRIED])])
def test_penalties(home, since, stock, ours):
    """A login that fails costs what it costs with stock."""
    if not os.path.exists(f"{OURS}/sshd-session"):
        pytest.skip("this base has no PerSourcePenalties")
    home.sshd(OURS, "PerSourcePenalties yes")
    remember(home)
    got = []
    for quick in ("no", "yes", "yes"):
        sshd = restart(home, OURS, "PerSourcePenalties yes", since)
        told = outcome(home, quick=quick)
        assert told[0] == (255 if REFUSED in stock else 0), told
        got.append(penalties(home, sshd))
    assert got == [stock, ours, stock]


def test_one_try(home):
    """MaxAuthTries 1: the signature is the try."""
    options = [authorize(home, read(home.path("user.pub"))), "MaxAuthTries 1"]
    other = key(home, "other")
    home.sshd(OURS, *options)
    remember(home)
    assert is_quick(login(home), True)
    authorize(home, read(home.path("other.pub")))
    told = [outcome(home, "-i", other, quick=quick) for quick in ("yes", "no")]
    told = [(t[0], t[1], re.sub(r"port \d+", "port", t[2])) for t in told]
    assert told[0] == told[1] and told[0][0] == 255
    assert "Too many authentication failures" in told[0][2]


def test_two_keys(home):
    """A second key besides, since: partial success, and the command runs once.
    The next login asks, as it takes more than one signature."""
    other, ran = key(home, "other"), home.path("ran")
    keys = authorize(home, read(home.path("user.pub")), read(other + ".pub"))
    home.sshd(OURS, keys)
    remember(home)
    restart(home, OURS, keys, "AuthenticationMethods publickey,publickey")
    first = login(home, "-i", other, command=f"echo x >> {ran}")
    assert first.returncode == 0 and read(ran) == "x\n", first.stderr
    assert first.early[:4] == [5, REQUEST, OPEN, CHANNEL_REQUEST]
    done, stock = [login(home, "-i", other, quick=quick)
                   for quick in ("yes", "no")]
    assert done.early == stock.early and "partial success" in done.stderr


def test_upgraded_and_downgraded(home):
    """Ours, stock, and ours again: the session is early where the server says
    that it takes it, and the key signs at once in any case."""
    home.sshd()
    remember(home)
    for tree in (OURS, STOCK, STOCK, OURS, OURS):
        restart(home, tree)
        assert is_quick(login(home), with_session=tree == OURS)
        told = outcome(home)
        assert told == (0, "ran\n", "")


def test_machines_with_keys_of_their_own(home):
    """Behind one name, by turns, each with a host key that is known: a key
    signs at once only to the host that it logged in to last."""
    key(home, "second")
    line = read(home.path("second.pub"))
    home.sshd()
    remember(home)
    with open(home.path("known_hosts"), "a") as f:
        f.write(f"[127.0.0.1]:2222 {line}")
    for name, quick in (("second", False), ("second", True), ("host", False),
                        ("second", False)):
        restart(home, OURS, f"HostKey {home.path(name)}")
        done = login(home, drop=["Strict"])
        assert done.returncode == 0, done.stderr
        assert ("signing at once" in done.stderr) == quick
        assert quick or done.early == ASKED


def test_unknown_host(home):
    """quick_hosts has it and known_hosts does not: somebody is asked before
    anything but the key exchange goes out, with stock's words."""
    home.sshd()
    remember(home)
    os.unlink(home.path("known_hosts"))
    prompts = Prompts(home, "echo no")
    told = []
    for quick in ("yes", "no"):
        done = login(home, quick=quick, drop=["Strict", "BatchMode"],
                     env=prompts.env)
        assert done.returncode == 255 and 5 not in done.early
        told.append(prompts.taken())
    assert told[0] == told[1] and "Are you sure" in told[0]


@pytest.mark.parametrize("size,early", [
    (32 * 1024 - 256, True), (32 * 1024 - 255, False)])
def test_command_at_the_edge(home, size, early):
    """A session of 32 KiB, its command and what is around it, is early."""
    home.sshd()
    remember(home)
    command = "echo ran; echo ran >&2; : "
    done = login(home, command=command + "x" * (size - len(command)))
    assert done.stdout == "ran\n", done.stderr
    assert is_quick(done, with_session=early)

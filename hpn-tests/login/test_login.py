"""The login: ssh sends what it will ask for before the answers come, and signs
nothing unasked. What a user, an agent and the server's log see is as with
stock's ssh."""

import glob
import os
import re
import shutil
import subprocess

import pytest

from login_tools import (ACCEPT, CHANNEL_REQUEST, CONFIRM, FAILURE, OPEN,
                         PK_OK, REQUEST, SERVICE, SIGN_REQUEST, SUCCESS, Agent,
                         Case, Prompts, authorize, ended, flow, has_pam, key,
                         keygen, observe, run, sent_before)
from loopback import OURS, STOCK, USER, program, read, user_folder

SERVERS = pytest.mark.parametrize("server", [OURS, STOCK],
                                  ids=["ours", "stock"])
PAST, PRESENT = "-2h:-1h", "-1h:+1h"
# crypt(3) of "word"
WORD = "$6$openssh-bdp$uT0u970C3e8EBD924ZWGW/2p/u9mdqu7P97bspehP6HOO" \
    "D12yc2YznvPFVIbxM07dauYtA8FMpyKjBuen7woz/"
PASSWORD = "PasswordAuthentication yes"
PASSWORD_FIRST = "-o", "PreferredAuthentications=password,publickey"
DENIED, EXT_INFO = 255, 7


# The order of messages

def login(place, tree, *options, server=OURS, **kwargs):
    """The messages of a login that succeeds."""
    sshd = place.sshd(server)
    done = run(place, Case(*options, **kwargs), tree, level="DEBUG3")
    ended(sshd)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    return flow(done.stderr)


@SERVERS
def test_login_goes_out_in_one_flight(place, server):
    """The signature waits for the server to take the key."""
    kinds = login(place, OURS, server=server)
    assert sent_before(kinds, ACCEPT) == [SERVICE, REQUEST, REQUEST]
    assert sent_before(kinds, PK_OK) == [SERVICE, REQUEST, REQUEST]
    assert sent_before(kinds, SUCCESS) == [SERVICE] + 3 * [REQUEST]
    received = [kind for sent, kind in kinds if not sent and kind != EXT_INFO]
    assert received[:received.index(SUCCESS)] == [ACCEPT, FAILURE, PK_OK]


@SERVERS
def test_command_goes_out_with_its_opening(place, server):
    """To a server that announces that it takes it, which stock's doesn't."""
    kinds = login(place, OURS, server=server)
    assert OPEN not in sent_before(kinds, SUCCESS)
    early = sent_before(kinds, CONFIRM)
    assert OPEN in early
    assert (CHANNEL_REQUEST in early) == (server == OURS)


@SERVERS
@pytest.mark.parametrize("option", [
    "PreferredAuthentications=none,publickey",
    "PreferredAuthentications=none,keyboard-interactive,publickey"])
def test_first_method_none_is_stocks_login(place, server, option):
    """Message for message."""
    logins = [login(place, tree, "-o", option, server=server)
              for tree in (STOCK, OURS)]
    stock, ours = (kinds[:kinds.index((False, SUCCESS))] for kinds in logins)
    assert ours == stock
    assert sent_before(stock, ACCEPT) == [SERVICE]


@SERVERS
@pytest.mark.parametrize("option", [
    "PubkeyAuthentication=no",
    "PreferredAuthentications=keyboard-interactive,password"])
def test_no_query_without_publickey(place, server, option):
    place.sshd(server, "PasswordAuthentication no")
    done = run(place, Case("-o", option), OURS, level="DEBUG3")
    assert done.returncode == DENIED
    assert [kind for sent, kind in flow(done.stderr)
            if sent and kind >= REQUEST] == [REQUEST]


# As with stock

def as_stock(place, made, server):
    stock, ours = (observe(place, made, server, tree)
                   for tree in (STOCK, OURS))
    assert stock["status"] == made.status, stock
    if made.logs:
        stock["log"] = sorted(stock["log"] + [made.logs])
    for what in stock:
        assert ours[what] == stock[what], what


CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def with_agent(place, *options, first=(), env=(), seen=(), status=0):
    """An agent that has the user's key, and others before it. Only the public
    half is in a file."""
    agent = Agent(place, env=env)
    for name in first:
        agent.add(key(place, name))
    agent.add(*options, place.path("user"))
    shutil.copy(place.path("user.pub"), place.path("user"))
    return Case(seen=[agent, *seen], status=status)


@case
def agent_only(place):
    """Of three keys the last is the right one."""
    agent = Agent(place)
    for name in ("first", "second"):
        agent.add(key(place, name))
    agent.add(place.path("user"))
    for name in ("user", "user.pub"):
        os.rename(place.path(name), place.path(f"{name}.there"))
    os.rename(place.path("user.pub.there"), place.path("mine.pub"))
    return Case(sshd=[authorize(place, "mine")], drop=["IdentitiesOnly"],
                seen=[agent])


def confirming(place, script, status):
    """An agent that asks somebody before it signs."""
    prompts = Prompts(place, script)
    return with_agent(place, "-c", env=prompts.env, seen=[prompts],
                      status=status)


@case
def agent_that_refuses(place):
    """The next key of the list is taken. Only the agent has the private half
    of the first."""
    agent = Agent(place, refuses=True)
    agent.add(key(place, "first"))
    shutil.copy(place.path("first.pub"), place.path("first"))
    return Case("-i", place.path("first"), sshd=[
        authorize(place, "first", "user")], seen=[agent])


def for_one_host(place, public, status):
    """An agent with a key that is only for the host with that key."""
    with open(place.path("here"), "w") as f:
        f.write(f"here {read(public)}")
    return with_agent(place, "-H", place.path("here"), "-h", "here",
                      status=status)


@case
def key_with_a_passphrase(place):
    prompts = Prompts(place, "echo secret")
    keygen(place, "-p", "-N", "secret", "-P", "", "-f", place.path("user"))
    return Case(seen=[prompts], drop=["BatchMode"])


def certificate(place, validity, status, *keys):
    ca = key(place, "ca")
    keygen(place, "-s", ca, "-I", "user", "-V", validity, "-n", USER,
           place.path("user.pub"))
    return Case("-o", f"CertificateFile={place.path('user-cert.pub')}",
                sshd=[authorize(place, *keys), f"TrustedUserCAKeys {ca}.pub"],
                status=status)


def several(place, accepted, *options, status=0):
    """Keys in an order, of which the server takes one."""
    names = [key(place, name) for name in ("first", "second", "third")]
    return Case(*(word for name in names for word in ("-i", name)),
                sshd=[authorize(place, accepted), *options], status=status)


@case
def no_key_of_four(place):
    key(place, "other")
    return several(place, "other", status=DENIED)


@case
def first_key_of_an_algorithm_that_the_user_may_not_use(place):
    """The server says so in its second EXT_INFO, behind the query."""
    rsa, second = key(place, "rsa", kind="rsa"), place.path("second")
    for end in ("", ".pub"):
        os.rename(place.path(f"user{end}"), f"{second}{end}")
        os.rename(f"{rsa}{end}", place.path(f"user{end}"))
    return Case("-i", second, sshd=[
        authorize(place, "second"), "Match User user",
        "PubkeyAcceptedAlgorithms ssh-ed25519"],
        logs="userauth_pubkey: signature algorithm rsa-sha2-512 not in "
        "PubkeyAcceptedAlgorithms [preauth]")


def with_password(place, *options, script="echo word", sshd=(), **kwargs):
    """The user's password is "word"."""
    shadow(place, f"user:{WORD}:19000:0:99999:7:::")
    return Case(*options, sshd=[PASSWORD, *sshd],
                seen=[Prompts(place, script)], drop=["BatchMode"], **kwargs)


def shadow(place, line):
    with open(place.path("shadow"), "w") as f:
        f.write(line + "\n")
    place.as_root(f"mount --bind {place.path('shadow')} /etc/shadow")


def empty_password(place, *options, logs=""):
    """Asking for "none" is all of the login."""
    shadow(place, "user::19000:0:99999:7:::")
    return Case(*options, sshd=[PASSWORD, "PermitEmptyPasswords yes"],
                logs=logs)


@case
def account_that_has_expired(place):
    shadow(place, f"user:{WORD}:19000:0:99999:7::1:")
    return Case(status=DENIED)


@case
def banner(place):
    with open(place.path("banner"), "w") as f:
        f.write("Authorized users only\n" * 40)
    return Case(sshd=[f"Banner {place.path('banner')}"])


@case
def agent_forwarded(place):
    agent = Agent(place)
    agent.add(place.path("user"))
    return Case("-A", command=f"{STOCK}/ssh-add -l", seen=[agent])


@case
def penalties(place):
    if not os.path.exists(f"{OURS}/sshd-session"):
        pytest.skip("this base has no PerSourcePenalties")
    return Case(sshd=["PerSourcePenalties yes", "LogLevel DEBUG1",
                      "AuthorizedKeysFile none"], status=DENIED)


CASES |= {
    "key_in_a_file": Case(),
    "key_in_an_agent": with_agent,
    # IdentitiesOnly: those that are not named stay unasked.
    "agent_with_more_keys_than_one": lambda place: with_agent(
        place, first=["first"]),
    "agent_with_a_key_for_this_host_only": lambda place: for_one_host(
        place, place.path("host.pub"), 0),
    "agent_with_a_key_for_another_host_only": lambda place: for_one_host(
        place, key(place, "another") + ".pub", DENIED),
    "agent_that_asks": lambda place: confirming(place, "true", 0),
    "agent_that_asks_and_is_told_no": lambda place: confirming(
        place, "exit 1", DENIED),
    "valid_certificate": lambda place: certificate(place, PRESENT, 0),
    "expired_certificate_and_its_key": lambda place: certificate(
        place, PAST, 0, "user"),
    "third_key_of_four": lambda place: several(place, "second"),
    "one_try_and_the_right_key": Case(sshd=["MaxAuthTries 1"]),
    "one_try_and_a_wrong_key_first": lambda place: several(
        place, "first", "MaxAuthTries 1", status=DENIED),
    "two_tries_and_the_second_key": lambda place: several(
        place, "first", "MaxAuthTries 2"),
    "rsa_with_a_list_of_algorithms": lambda place: Case(
        "-i", key(place, "rsa", kind="rsa"), sshd=[
            authorize(place, "rsa"), "PubkeyAcceptedAlgorithms rsa-sha2-256"]),
    "no_algorithm_in_common": Case(
        "-o", "PubkeyAcceptedAlgorithms=rsa-sha2-512", status=DENIED),
    "key_though_passwords_are_taken": with_password,
    "password_at_a_server_without_publickey": lambda place: with_password(
        place, sshd=["PubkeyAuthentication no"]),
    "password_at_a_client_without_publickey": lambda place: with_password(
        place, "-o", "PubkeyAuthentication=no"),
    "password_before_publickey": lambda place: with_password(
        place, *PASSWORD_FIRST),
    "wrong_password_and_then_the_key": lambda place: with_password(
        place, *PASSWORD_FIRST, script="echo wrong"),
    "empty_password": lambda place: empty_password(
        place, logs="dispatch_protocol_error: type 50 seq N"),
    # It switches compression on, for what ssh sends next.
    "empty_password_and_compression": lambda place: empty_password(
        place, "-C"),
    "methods_that_are_not_built_in": Case(
        "-o", "PreferredAuthentications=gssapi-with-mic,hostbased,publickey"),
    "two_keys_needed": lambda place: Case(
        "-i", key(place, "second"), sshd=[
            authorize(place, "user", "second"),
            "AuthenticationMethods publickey,publickey"]),
    "two_keys_needed_and_one_there": Case(
        sshd=["AuthenticationMethods publickey,publickey"], status=DENIED),
    "key_and_password_needed": lambda place: with_password(
        place, sshd=["AuthenticationMethods publickey,password"],
        command="echo ran; cat", typed="not for the prompt"),
    "password_and_key_needed": lambda place: with_password(
        place, sshd=["AuthenticationMethods password,publickey"]),
    "password_and_one_of_two_keys_needed": lambda place: with_password(
        place, "-i", key(place, "second"), sshd=[
            authorize(place, "user", "second"),
            "AuthenticationMethods password,publickey"]),
    "user_who_is_not_there": Case("-l", "nosuch", status=DENIED),
    "root_with_a_command_only": Case(
        "-l", "root", sshd=["PermitRootLogin forced-commands-only"],
        status=DENIED),
    "forced_command": Case(
        sshd=["ForceCommand echo $SSH_ORIGINAL_COMMAND forced; cat"],
        typed="input"),
    "subsystem": Case("-s", command="sftp",
                      sshd=["Subsystem sftp echo subsystem"]),
    "subsystem_that_is_refused": Case("-s", command="nosuch", status=DENIED),
    "no_sessions": Case(sshd=["MaxSessions 0"], status=DENIED),
    "command_of_40_kb": Case(command="echo ran #" + "x" * 40000),
    "no_command": Case("-T", command="", typed="echo ran; exit 4\n", status=4),
    "terminal": Case("-tt", command="tty >/dev/null && echo terminal"),
    "x11_that_is_refused": Case("-X", env={"DISPLAY": "127.0.0.1:9"}),
    "forwardings": Case(
        "-L", "4444:127.0.0.1:2222", "-R", "4445:127.0.0.1:2222",
        command="sleep 0.2; echo ran"),
    "environment": Case("-o", "SetEnv=BDP_TEST=x", sshd=["AcceptEnv BDP_*"],
                        command="echo $BDP_TEST"),
    "compression": Case("-C"),
    "unknown_host_that_is_taken": lambda place: Case(
        drop=["Strict", "BatchMode"], seen=[Prompts(place, "echo yes")]),
    # Only the key exchange goes to it.
    "unknown_host_that_is_not_taken": lambda place: Case(
        drop=["Strict", "BatchMode"], seen=[Prompts(place, "echo no")],
        status=DENIED),
    "new_keys_on_the_way": Case(
        "-o", "RekeyLimit=100K", command="head -c 1000000 /dev/zero | "
        "wc -c; head -c 400000 /dev/zero | tr '\\0' x"),
}


@pytest.mark.parametrize("name", CASES)
@SERVERS
def test_login_is_as_stocks(place, server, name):
    made = CASES[name]
    as_stock(place, made(place) if callable(made) else made, server)


# PAM

@pytest.fixture
def pam(place):
    """pam(account): an sshd's option, with PAM, whose only password is
    "secret"."""
    if not os.path.isdir("/etc/pam.d"):
        pytest.skip("no /etc/pam.d to put a service over")
    os.mkdir(place.path("pam.d"))
    program(place.path("check"), "[ \"$(tr -d '\\0')\" = secret ]")
    place.as_root(f"mount --bind {place.path('pam.d')} /etc/pam.d")

    def service(account="permit"):
        with open(place.path("pam.d/sshd"), "w") as f:
            f.write("auth required pam_exec.so quiet expose_authtok "
                    f"{place.path('check')}\nauth required pam_permit.so\n"
                    f"account required pam_{account}.so\n"
                    "session required pam_permit.so\n")
        return "UsePAM yes"
    return service


@pytest.mark.parametrize("word, account, methods, status", [
    ("secret", "permit", "keyboard-interactive:pam", 0),
    ("wrong", "permit", "keyboard-interactive:pam", DENIED),
    ("secret", "permit", "publickey,keyboard-interactive:pam", 0),
    ("wrong", "permit", "publickey,keyboard-interactive:pam", DENIED),
    ("secret", "permit", "any", 0),
    ("secret", "deny", "publickey", DENIED)])
@SERVERS
def test_login_by_pam_is_as_stocks(place, pam, server, word, account, methods,
                                   status):
    """The prompts are the same, too, and what is typed is the password."""
    if not has_pam(server):
        pytest.skip("this sshd has no PAM")
    made = Case(sshd=[pam(account), f"AuthenticationMethods {methods}"],
                drop=["BatchMode"], seen=[Prompts(place, f"echo {word}")],
                command="echo ran; cat", typed="not for the prompt",
                status=status)
    as_stock(place, made, server)


# Keys that want a touch

@pytest.fixture(scope="module")
def provider():
    """Upstream's security key that is none."""
    if not re.search("^#define ENABLE_SK ", read(f"{OURS}/config.h"), re.M):
        pytest.skip("this ssh has no security keys")
    folder = user_folder()
    made = str(folder / "sk-dummy.so")
    sources = [f"{STOCK}/regress/misc/sk-dummy/{name}.c"
               for name in ("sk-dummy", "fatal")]
    done = subprocess.run(
        ["cc", "-w", "-shared", "-fPIC", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H",
         f"-I{STOCK}", "-o", made, *sources, f"{STOCK}/ed25519.c",
         # Before 10.5, it needs the latter.
         *(glob.glob(f"{STOCK}/ed25519-openssl.c") or [f"{STOCK}/hash.c"]),
         "-lcrypto"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    yield made
    shutil.rmtree(folder)


@pytest.mark.parametrize("authorized", ["user", "other"])
@pytest.mark.parametrize("kind", ["ed25519-sk", "ecdsa-sk"])
@SERVERS
def test_login_by_security_key_is_as_stocks(place, provider, server, kind,
                                            authorized):
    """One touch a login, and none for a server that does not take the key."""
    env = {"SSH_SK_PROVIDER": provider,
           "SSH_SK_HELPER": f"{STOCK}/ssh-sk-helper"}
    for name in ("user", "user.pub"):
        os.unlink(place.path(name))
    keygen(place, "-N", "", "-t", kind, "-f", place.path("user"),
           env={**os.environ, **env})
    key(place, "other")
    made = Case("-o", f"SecurityKeyProvider={provider}", env=env,
                sshd=[authorize(place, authorized)],
                status=0 if authorized == "user" else DENIED)
    as_stock(place, made, server)
    place.sshd(server, *made.sshd)
    done = run(place, made, OURS, level="DEBUG1")
    assert done.stderr.count("ready to sign with key") == \
        (authorized == "user")


@SERVERS
def test_agent_signs_once(place, server):
    """And nothing at a server that takes none of its keys."""
    agent = Agent(place)
    for name in ("first", "second"):
        agent.add(key(place, name))
    os.unlink(place.path("user"))
    for accepted, status, signed in (("second", 0, 1), ("user", DENIED, 0)):
        made = Case(sshd=[authorize(place, accepted)], seen=[agent],
                    drop=["IdentitiesOnly"], status=status)
        ours = observe(place, made, server, OURS)
        assert ours["status"] == status, ours
        assert ours["seen"][0][SIGN_REQUEST] == signed

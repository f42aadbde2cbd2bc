"""practice.py: rsync, git and backups over a path of 200 ms, a page each, of
what `make check-tools` measured. Each is a list: title, verdict, the rest."""

from content import bars, fill, grid, steps_of

BUFFERS = {"package": "those of the package openssh-bdp-tuning (64 MiB)",
           "raised": "raised to 512 MiB"}
ENDS = ("stock", "client", "server", "both")
HOW = """\
Times are elapsed seconds at 1 Gbit/s x 200 ms without loss. In the column
"client", only the client is ours (openssh-bdp), in "server" only the server.
TCP's buffers at both ends are {buffers}. "TCP" is the time in which raw TCP
transfers the same bytes, without a login."""


def measured(rows, tool):
    """The tool's rows at 200 ms, with the package's buffers if there are."""
    found = {r["buffers"]: r for r in rows if r["tool"] == tool and
             r["rtt_ms"] == 200 and "steps" in r}
    return next(found[b] for b in BUFFERS if b in found)


def gain(seconds, end="both"):
    return seconds["stock"] / seconds[end]


def in_all(row):
    return "In every column, TCP's buffers at both ends are " \
        f"{BUFFERS[row['buffers']]}."


def table(steps):
    return grid(["what", *ENDS, "TCP"], [
        [what, *(f"{seconds[end]:.1f}" for end in ENDS),
         f"{tcp:.1f}" if tcp else ""] for what, seconds, tcp in steps])


def of(title, verdict, says, row, commands):
    steps = list(steps_of(row))
    # one that takes many minutes would leave nothing of the others
    shown = [(what, s["stock"], s["both"]) for what, s, _ in steps
             if s["stock"] < 100]
    return [title, verdict, bars(shown, "s"),
            fill(HOW.format(buffers=BUFFERS[row["buffers"]])),
            table(steps), fill(says), commands,
            f"Measured with {row['version']}. [Tools](tools.md) also has the "
            "times at 20 and 100 ms."]


def rsync(rows):
    row = measured(rows, "rsync")
    by = {s["name"]: s["seconds"] for s in row["steps"]}
    return of(
        "rsync over openssh-bdp",
        "With ours at both ends and an RTT of 200 ms, the upload of a large "
        f"file is {gain(by['file up']):.1f} times as fast, and the download "
        f"{gain(by['file down']):.1f} times. A tree of small files is "
        f"{gain(by['tree up']):.1f} times as fast. rsync itself pipelines "
        "small files, so only the login gets shorter. " + in_all(row),
        "A patched server speeds up uploads, and a patched client downloads.",
        row, """\
    rsync -a tree/ host:tree/                          # ssh of our packages
    rsync -a -e /opt/openssh-bdp/bin/ssh tree/ host:tree/   # of a prefix""")


def git(rows):
    row = measured(rows, "git")
    by = {s["name"]: s["seconds"] for s in row["steps"]}
    return of(
        "git over openssh-bdp",
        "At an RTT of 200 ms, a clone of 27 MB is "
        f"{gain(by['clone']):.1f} times as fast with ours at both ends, and "
        f"{gain(by['clone'], 'client'):.1f} times with ours at the client "
        "only. With ours at both ends, a fetch of nothing new takes "
        f"{by['fetch']['both']:.1f} s instead of {by['fetch']['stock']:.1f} "
        "s. " + in_all(row),
        "The login's and git's own round trips limit a command with little "
        "data. TCP's slow start limits one with much data.",
        row, """\
    git clone host:project.git                         # ssh of our packages
    GIT_SSH=/opt/openssh-bdp/bin/ssh git fetch         # or of a prefix
    git config core.sshCommand /opt/openssh-bdp/bin/ssh""")


def backups(rows):
    row = measured(rows, "borg")
    create, extract = (s["seconds"] for s in row["steps"][1:])
    return of(
        "Backups over openssh-bdp",
        "With ours at both ends and an RTT of 200 ms, borg writes a backup "
        f"{gain(create):.1f} times as fast, and reads it "
        f"{gain(extract):.1f} times as fast.",
        "For a backup over a long path, choose a tool that keeps much data in "
        "flight, such as borg. At a92e744, restic's backup over sftp took 690 "
        "s with ours and 692 s with stock, as restic waits a round trip for "
        "each write of 32 KiB.",
        row, """\
    borg create --rsh /opt/openssh-bdp/bin/ssh host:repo::monday ~
    ssh host 'pg_dump base' > base.sql""")

"""scp of a tree over several streams, and over sessions of one connection."""

from scene import scenario
from several import compare, copy, several
from spec import MIB

TREE = {"bytes": 40 * 24 * MIB, "tree": [1, 40, 24 * MIB]}


@scenario("streams-tree-get", "netem", **several("get", **TREE))
@scenario("streams-tree-put", "netem", **several("put", **TREE))
def test_tree(scene, measured):
    compare(scene, measured)


@scenario("streams-shared", "netem", **{
    key: copy("put", tcp_buffers="raised", shared=True, **fields)
    for key, fields in {"one": {}, "eight": {"streams": 8}}.items()})
def test_shared(scene, measured):
    """Eight sessions of one connection, which is there, each have a window of
    2 MiB at a stock server."""
    def took_s(key):
        done = scene[key]
        return (done.result["start_s"] + done.result["seconds"] -
                float(done.read("shared")))

    measured.at_least("goodput of eight, of that of one",
                      took_s("one") / took_s("eight"), 6, "{:.2f}")

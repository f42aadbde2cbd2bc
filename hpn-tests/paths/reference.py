"""reference.py [--check]: writes the tables of hpn-tests/README.md, of all
fields and requirements, from the code; or checks that they are there."""

import dataclasses
import inspect
import os
import sys

HPN_TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(HPN_TESTS, "harness"))
import documents                        # noqa: E402
import requirements                     # noqa: E402
import scenarios                        # noqa: E402
import spec                             # noqa: E402


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(
        cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def values(f):
    """What a field's may be, as text."""
    check = f.metadata["check"]
    return "" if inspect.isfunction(check) else str(check)


def of_fields(fields):
    rows = []
    for f in fields:
        text, tools = f.metadata["text"], f.metadata.get("tools", spec.TOOLS)
        if f.metadata["needed"]:
            text = f"{text} (needed)" if text else "(needed)"
        if tools == spec.OPENSSH:
            text += " (not of raw)" if text else "(not of raw)"
        elif tools != spec.TOOLS:
            text += f" (of {', '.join(tools)})"
        rows.append([f"`{f.name}`", text, values(f)])
    return table(["field", "what it is", "values"], rows)


def of_requirements():
    rows = []
    for name, r in requirements.REQUIREMENTS.items():
        text = " ".join(inspect.getdoc(r.measure).split())
        needs = [f"`{n}`" for n in r.needs] + \
            [f"{r.least_bytes} bytes"] * (r.least_bytes > 1)
        rows.append([f"`{name}`", text,
                     {True: "at most", False: "at least"}.get(r.at_most, "is"),
                     str(r.limit), ", ".join(needs)])
    return table(["requirement", "what is measured", "limit", "values",
                  "needs"], rows)


def tables():
    transfer = [f for n, f in spec.SPEC_FIELDS.items()
                if n not in spec.PATH_FIELDS]
    return "\n".join((
        "A row:\n", of_fields(dataclasses.fields(scenarios.Row)),
        "Its transfer:\n", of_fields(transfer),
        "The path of the transfer, and of raw TCP:\n",
        of_fields(spec.PATH_FIELDS.values()),
        "What a row can require:\n", of_requirements()))


if __name__ == "__main__":
    documents.update({os.path.join(HPN_TESTS, "README.md"):
                      {"tables": tables()}})

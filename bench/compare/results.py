# SPDX-License-Identifier: Apache-2.0
"""Reads the results that compare.py --json has written, and refuses what is not like them by file and field."""
import json
import math

from jobs import COLLECTIVES, TRANSPORTS
from sheet import comparison

OURS = "rondo"
USUAL_WIDTH = 10.0  # percent, if the results are older than --width
KINDS = {str: "text", int: "a whole number", float: "a number", dict: "an object", list: "an array"}


class BadResults(Exception):
    """The file, the field and what is wrong with it."""


class Field:
    """A value and where it is, for messages."""

    def __init__(self, value, place):
        self.value, self.place = value, place

    def fail(self, wrong):
        raise BadResults(f"{self.place}: {wrong}")

    def must_be(self, kind):
        number = kind in (int, float) and not isinstance(self.value, bool)
        right = isinstance(self.value, (int, float) if kind is float else kind) and (number or kind not in (int, float))
        if not right or (number and not math.isfinite(self.value)):
            self.fail(f"is {shown(self.value)}: it must be {KINDS[kind]}")
        return self.value

    def at(self, name, kind):
        """The value of a field of this object."""
        return self.inside(name).must_be(kind)

    def inside(self, name):
        self.must_be(dict)
        if name not in self.value:
            self.fail(f"has no field {name}")
        return Field(self.value[name], f"{self.place}: {name}" if self.place[-1] != "]" else f"{self.place}.{name}")

    def above_zero(self, name):
        field = self.inside(name)
        if field.must_be(float) <= 0:
            field.fail(f"is {field.value}: it must be above 0")
        return field.value

    def each(self):
        return [Field(value, f"{self.place}[{number}]") for number, value in enumerate(self.must_be(list))]


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def read(path):
    """Returns what the results say of themselves, and their rows, each with interval, noisy and state."""
    try:
        with open(path, encoding="utf-8") as file:
            whole = Field(json.load(file), path)
    except OSError as error:
        raise BadResults(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # of JSON, or of UTF-8
        raise BadResults(f"{path}: is not JSON: {error}") from error
    about = whole.inside("about")
    check_about(about)
    rows, seen = [], set()
    for field in whole.inside("rows").each():
        rows.append(row_of(field, about.value))
        cell = tuple(rows[-1][name] for name in ("transport", "collective", "ranks", "bytes"))
        if cell in seen:
            field.fail("is of the same collective, ranks and size as a row before it")
        seen.add(cell)
    if not rows:
        whole.inside("rows").fail("is empty")
    return about.value, rows


def check_about(about):
    for name in ("date", "command", "processor", "type"):
        about.at(name, str)
    about.at("cores", int)
    versions = about.inside("contestants")
    for name in versions.must_be(dict):
        versions.at(name, str)
    if OURS not in versions.value:
        versions.fail(f"has no {OURS}")


def row_of(field, about):
    for name, known in ("transport", TRANSPORTS), ("collective", COLLECTIVES):
        if field.at(name, str) not in known:
            field.inside(name).fail(f"is '{field.value[name]}': it must be one of {', '.join(known)}")
    for name, least in ("ranks", 2), ("bytes", 0):
        if field.at(name, int) < least:
            field.inside(name).fail(f"is {field.value[name]}: it must be at least {least}")
    contestants = field.inside("contestants")
    for name in contestants.must_be(dict):
        check_contestant(contestants, name, about)
    row = {**field.value, "state": field.value.get("state")}
    if row["state"] not in (None, "near", "far"):
        field.inside("state").fail(f"is {shown(row['state'])}: it must be near, far or null")
    if field.inside("speed").value is None:
        return {**row, "best_peer": None, "interval": None, "noisy": None}
    field.above_zero("speed")
    peer = field.at("best_peer", str)
    if peer not in row["contestants"]:
        field.inside("best_peer").fail(f"is '{peer}', which is not among the contestants of the row")
    return {**row, **noise_of(row, about.get("width_percent", USUAL_WIDTH))}


def check_contestant(contestants, name, about):
    one = contestants.inside(name)
    if name not in about["contestants"]:
        one.fail("is not among the contestants that about names")
    one.above_zero("median_us")
    rounds = one.inside("rounds_us")
    for time in rounds.each():
        if time.must_be(float) <= 0:
            time.fail(f"is {time.value}: it must be above 0")
    if not rounds.value:
        rounds.fail("is empty")


def noise_of(row, width):
    """As measured, or of the rounds, if the results are older than intervals."""
    if "interval" in row and "noisy" in row:
        return {}
    times = {name: dict(enumerate(one["rounds_us"])) for name, one in row["contestants"].items()}
    found = comparison(times, {name: row["contestants"][name] for name in (OURS, row["best_peer"])}, width)
    return {"interval": found["interval"], "noisy": found["noisy"]}

"""Reads what a program under the library `copies` has counted, and tells where in the sources its callers are.

The file's format is that of tests/bench/copies/tally.h.
"""
import collections
import functools
import pathlib
import struct
import subprocess
import typing

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEAD, SITE = struct.Struct("<QQ"), struct.Struct("<Q24sQQQQ")


class Place(typing.NamedTuple):
    what: str  # the function called
    where: str  # file and function of the caller


class Count(typing.NamedTuple):
    calls: int
    bytes: int


Counts = dict[Place, Count]


def read(file: pathlib.Path, program: pathlib.Path) -> Counts:
    data = file.read_bytes()
    load_address, spilt = HEAD.unpack_from(data)
    if spilt:
        raise ValueError(f"{program.name} called from more places than can be told apart")
    counts = collections.Counter(), collections.Counter()
    for key, what, caller, outer, calls, size in SITE.iter_unpack(data[HEAD.size:]):
        if key:
            place = Place(what.rstrip(b"\0").decode(), _where(program, caller - load_address, outer - load_address if outer else 0))
            counts[0][place] += calls
            counts[1][place] += size
    return {place: Count(counts[0][place], counts[1][place]) for place in counts[0]}


def less(after: Counts, before: Counts) -> Counts:
    none = Count(0, 0)
    return {p: Count(n.calls - before.get(p, none).calls, n.bytes - before.get(p, none).bytes) for p, n in after.items()}


@functools.cache
def _where(program: pathlib.Path, caller: int, outer: int) -> str:
    """The innermost of our functions that is no tool of base/, or else base's; memcpy is often called by way of the standard library."""
    ours = [frame for address in (caller, outer) for frame in _frames(program, address)]
    return next((frame for frame in ours if not frame.startswith("base/")), ours[0] if ours else "a library")


@functools.cache
def _frames(program: pathlib.Path, address: int) -> list[str]:
    """Our functions at an address, inlined ones first."""
    if not 0 < address < program.stat().st_size:
        return []
    call = address - 1  # it is one to return to
    out = subprocess.run(["addr2line", "-ifC", "-e", str(program), hex(call)], capture_output=True, text=True, check=True).stdout.splitlines()
    frames = []
    for function, line in zip(out[::2], out[1::2]):
        file = _of_ours(line.partition(":")[0])
        if file:
            frames.append(f"{file} {function.partition('(')[0].split('::')[-1]}")
    return frames


@functools.cache
def _of_ours(path: str) -> str | None:
    """The path inside this tree, whatever folder it was compiled in: a compiler cache may have served another."""
    parts = pathlib.PurePath(path).parts
    tails = (pathlib.PurePath(*parts[i:]) for i in range(1, len(parts)))
    return next((str(tail) for tail in tails if ".." not in tail.parts and (ROOT / tail).is_file()), None)

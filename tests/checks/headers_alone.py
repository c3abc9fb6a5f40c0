#!/usr/bin/env python3
"""Compiles every header on its own (syntax only), so that none leans on what another happens to include."""
import concurrent.futures
import pathlib
import subprocess
import sys

FOLDERS = ("base", "rdmap", "iscsi", "iser", "config", "target", "initiator")


def compile_alone(root: pathlib.Path, header: pathlib.Path) -> str:
    source = f'#include "{header.relative_to(root)}"\n'
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root}", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{header.relative_to(root)}:\n{done.stderr}"


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    headers = [h for folder in FOLDERS for h in sorted((root / folder).rglob("*.h"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [f for f in pool.map(lambda h: compile_alone(root, h), headers) if f]
    print("".join(faults) + f"{len(headers)} headers, {len(faults)} do not stand alone")
    return 1 if faults or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

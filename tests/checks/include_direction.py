#!/usr/bin/env python3
"""Fails when an #include runs against the arrows of the architecture, or names a third-party library where it may not."""
import os
import pathlib
import re
import sys

# What each folder may include of ours.
ALLOWED = {
    "base": {"base"},
    "rdmap": {"base", "rdmap"},
    "iscsi": {"base", "iscsi"},
    "iser": {"base", "iser", "iscsi", "rdmap/rcap.h"},
    "config": {"base", "config"},
    "target": {"base", "rdmap", "iscsi", "iser", "config", "target"},
    "initiator": {"base", "rdmap", "iscsi", "iser", "config", "initiator"},
}
# Third-party headers, by the start of their name, and where they may stand.
THIRD_PARTY = {
    "boost/asio": {"rdmap/tcp", "rdmap/verbs", "target", "initiator"},
    "boost/system": {"base"},
    "isa-l": {"base"},
    "spdlog": {"base"},
    "fmt": {"base"},
    "openssl": {"iscsi", "base", "initiator"},
    "yaml-cpp": {"config"},
    "liburing": {"target", "rdmap/tcp"},
    "fuse": {"initiator/mount"},
    "libmount": {"initiator/mount"},
    "iscsi/iscsi.h": {"initiator"},
    "iscsi/scsi-lowlevel.h": {"initiator"},
    "CLI": {"target/main.cc", "initiator/main.cc"},
    "nlohmann": {"config", "target", "initiator"},
    "infiniband": {"rdmap/verbs"},
    "rdma": {"rdmap/verbs"},
}
# Headers too heavy to stand in a header of ours.
HEAVY = ("boost/asio", "spdlog", "nlohmann", "yaml-cpp", "CLI")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def faults_of(path: pathlib.Path) -> list[str]:
    name = path.as_posix()
    folder = path.parts[0]
    faults = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, included = match[1] == '"', match[2]
        where = f"{name}:{number}"
        if quoted:
            allowed = ALLOWED[folder]
            if included.split("/")[0] not in allowed and included not in allowed:
                faults.append(f"{where}: {folder} may not include {included}")
            continue
        for library, places in THIRD_PARTY.items():
            if included.startswith(library) and not any(name.startswith(place) for place in places):
                faults.append(f"{where}: {included} belongs to {', '.join(sorted(places))} only")
        if path.suffix == ".h" and included.startswith(HEAVY):
            faults.append(f"{where}: {included} is too heavy for a header of ours")
    return faults


def main() -> int:
    os.chdir(sys.argv[1])
    faults, files = [], 0
    for folder in ALLOWED:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                files += 1
                faults += faults_of(path)
    for fault in faults:
        print(fault)
    print(f"{files} files read, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

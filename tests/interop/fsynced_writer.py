#!/usr/bin/env python3
"""Writes PREFIX-0, PREFIX-1 and so on, files of 4 to 200 KiB. Each is fsynced, and only then noted in NOTES with its checksum, as
sha256sum -c takes it: what is noted has to survive whatever comes. Ends with status 1 at the first error."""
import argparse
import hashlib
import itertools
import os
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prefix")
    parser.add_argument("notes")
    parser.add_argument("--count", type=int, help="end after so many files")
    parser.add_argument("--until", default="", help="end once this file is there")
    parser.add_argument("--pause", type=float, default=0, help="seconds between files")
    words = parser.parse_args()
    with open(words.notes, "a", buffering=1) as notes:
        for i in itertools.count():
            if i == words.count or os.path.exists(words.until):
                break
            name = f"{words.prefix}-{i}"
            data = os.urandom(4096 + i * 7919 % 200000)
            with open(name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            notes.write(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
            time.sleep(words.pause)


if __name__ == "__main__":
    main()

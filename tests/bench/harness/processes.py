"""Programs that are run to their end, and daemons that are ended by their process id."""
import atexit
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time


class Failed(Exception):
    pass


def on_core(core: int, command: list[str]) -> list[str]:
    return ["taskset", "-c", str(core), *command]


def run(command: list[str], timeout: float = 60) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{shlex.join(command)}: not done within {timeout:g} s") from late
    if done.returncode != 0:
        raise Failed(f"{shlex.join(command)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def run_json(command: list[str], timeout: float = 60) -> dict:
    out = run(command, timeout)
    try:
        return json.loads(out)
    except json.JSONDecodeError as error:
        raise Failed(f"{shlex.join(command)}: not JSON: {error}: {out[:200]}") from error


class Daemon:
    """A child that logs to a file. It ends by stop(), and with this program at the latest."""

    def __init__(self, command: list[str], log: pathlib.Path):
        self.log, self.name = log, pathlib.Path(command[0]).name
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, condition, what: str, seconds: float = 15):
        """The first true value of condition(), which is asked again and again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise Failed(f"{self.name}: {what}: {self.log.read_text(errors='replace')[-400:]}")

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self, seconds: float = 10) -> None:
        if self.process.poll() is not None:
            return
        self.resume()
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

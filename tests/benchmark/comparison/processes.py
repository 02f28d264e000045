"""Programs under measurement.

Two things of Linux spoil such measurements. With autogroups (kernel.sched_autogroup_enabled), `nice` has no effect between
sessions: each program gets a session of its own, whose group is given the priority. And where transparent huge pages are
"madvise", programs that do not ask for them read their weights from 4 KiB pages: that is how the programs are, and the
setting is part of the report.
"""

import os
import pathlib
import shlex
import subprocess
import time

_PRIORITY = -10
# Of the Python that runs this (run_compare.sh).
_OWN_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")


class ProgramError(Exception):
    """A program failed; the message has its command and last lines."""


def _prioritise(pid):
    """True if the session of the process now runs before those of other users of the machine."""
    try:
        pathlib.Path(f"/proc/{pid}/autogroup").write_text(str(_PRIORITY), encoding="ascii")
        return True
    except OSError:
        return False


def start(command, log, env=None):
    """Starts a program in a session of its own; its standard error goes to the file `log`."""
    with open(log, "ab") as errors:
        errors.write(f"$ {shlex.join(command)}\n".encode())
        errors.flush()
        inherited = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                   start_new_session=True, env={**inherited, **(env or {})})
    _prioritise(process.pid)
    return process


def stop(process, timeout=20):
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def run(command, log, timeout, env=None):
    """The standard output of a program that must succeed."""
    process = start(command, log, env)
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        process.kill()
        process.communicate()
        raise ProgramError(f"took more than {timeout} s: {shlex.join(command)}") from expired
    except BaseException:  # Ctrl-C does not reach a session of its own.
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        raise ProgramError(f"exit code {process.returncode}: {shlex.join(command)}\n{last_lines(log)}")
    return out.decode("utf-8", "replace")


def last_lines(log, count=8):
    lines = pathlib.Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-count:])


def memory(pids):
    """(resident, proportional) bytes of the processes together. Proportional counts a shared page once."""
    resident = proportional = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Rss:"):
                resident += int(line.split()[1]) * 1024
            elif line.startswith("Pss:"):
                proportional += int(line.split()[1]) * 1024
    return resident, proportional


def peak_memory(pids):
    """The sum of each process's greatest resident size, in bytes."""
    total = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                total += int(line.split()[1]) * 1024
    return total


class Machine:
    """What the machine did beside the measurement, since the object was made."""

    def __init__(self):
        self._begin = self._cpu_times()
        self._begin_time = time.time()
        self._loads = []

    @staticmethod
    def _cpu_times():
        return [int(field) for field in pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]

    def note_load(self):
        """Call between measurements: what runs then is none of ours."""
        self._loads.append(os.getloadavg()[0])

    def report(self):
        spent = [b - a for a, b in zip(self._begin, self._cpu_times())]
        return {
            "cpu": _cpu_name(),
            "cpu_count": len(os.sched_getaffinity(0)),
            "kernel": os.uname().release,
            "transparent_huge_pages": _setting("/sys/kernel/mm/transparent_hugepage/enabled"),
            "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self._begin_time)),
            "minutes": round((time.time() - self._begin_time) / 60, 1),
            "steal_percent": round(100 * spent[7] / max(sum(spent[:8]), 1), 2),
            "load_averages": [round(load, 2) for load in self._loads],
            "autogroup_priority": _prioritise("self"),
        }


def _setting(path):
    try:
        text = pathlib.Path(path).read_text(encoding="ascii")
    except OSError:
        return "unknown"
    return text[text.find("[") + 1:text.find("]")] if "[" in text else text.strip()


def _cpu_name():
    name, flags = "unknown", ""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
        elif line.startswith("flags"):
            flags = line
            break
    extensions = [shown for shown, flag in (("AVX-512", "avx512f"), ("AVX512-VNNI", "avx512_vnni"), ("AVX512-BF16", "avx512_bf16"),
                                            ("AVX-VNNI", "avx_vnni"), ("AMX", "amx_tile")) if f" {flag} " in flags + " "]
    return f"{name} ({', '.join(extensions) or 'AVX2'})"

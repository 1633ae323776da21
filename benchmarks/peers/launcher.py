"""Runs one command and prints what it cost, as JSON.

A process of its own, and a small one: on Linux the most memory of a command is never less than
that of the process that started it.

    python -I -S launcher.py SECONDS COMMAND...
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time


def main() -> None:
    seconds, *command = sys.argv[1:]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=float(seconds))
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        status = None
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": used.ru_utime + used.ru_stime,
                "memory": used.ru_maxrss / scale,
                "status": status,
                "output": output.decode("utf-8", "replace"),
                "errors": errors.decode("utf-8", "replace"),
            }
        )
    )


if __name__ == "__main__":
    main()

"""A redis-server, or a valkey-server, for as long as a check needs one."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import time

# Debian's redis-tools has the server only as redis-check-rdb, which is the same program under another name.
PROGRAM = next(filter(None, map(shutil.which, ("redis-server", "valkey-server", "redis-check-rdb"))), None)


@contextlib.contextmanager
def redis_server(folder):
    """Runs a server that keeps nothing. Gives its unix socket and its process. REQUIRES: PROGRAM."""
    address = str(pathlib.Path(folder) / "redis.sock")
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", address, "--save", "", "--dir", str(folder)],
                               executable=PROGRAM, stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(address):
            if process.poll() is not None:
                raise RuntimeError(f"{PROGRAM} ended with exit code {process.returncode}")
            time.sleep(0.01)
        yield address, process
    finally:
        process.kill()
        process.wait()

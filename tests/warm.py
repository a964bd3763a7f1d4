"""Start commands of titer without waiting for imports.

Most of the time of a short command is the import of PyTorch. A server imports everything once and computes nothing;
for each command it forks a process, which gets the folder, the environment and the standard streams of the caller. All
processes of a test session share one server, which ends with the last of them.

As a program: ``warm.py serve SOCKET`` is the server, and ``warm.py call SOCKET WORDS...`` runs a command, passes
signals on, and ends with the exit code of the command. As for Python, ``-c CODE`` instead of a command runs a program.
With ``WARM_WORKERS`` in its environment, a command that starts others does so in the same way, and with
``QUICK_EVENTS`` it trains small event models.
"""

import atexit
import json
import os
import selectors
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

NUMBER = struct.Struct("<q")
USER = -1
"""Instead of a request: the server stays until this connection ends."""
WARM_WORKERS, QUICK_EVENTS = "WARM_WORKERS", "QUICK_EVENTS"


def send(connection: socket.socket, words: Sequence[str], folder: str, environment: Mapping[str, str],
         streams: Sequence[int]) -> int:  # fmt: skip
    """Ask the server for a process, and return its id."""
    request = json.dumps([list(words), folder, dict(environment)]).encode()
    socket.send_fds(connection, [NUMBER.pack(len(request))], list(streams))
    connection.sendall(request)
    return receive_number(connection)


def use(path: str) -> socket.socket:
    """Return a connection that keeps the server until it is closed. An error is raised if there is no server."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        connection.sendall(NUMBER.pack(USER))
        receive_number(connection)
    except OSError:
        connection.close()
        raise
    return connection


def receive_number(connection: socket.socket) -> int:
    return NUMBER.unpack(_receive(connection, NUMBER.size))[0]


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionError("the server of warm processes has ended")
        parts += part
    return bytes(parts)


def serve(path: str) -> list[str] | None:
    """Fork a process for each request while it has users; return the words of the command in each of them."""
    from preloading import import_everything  # a call needs none of it

    import_everything()
    chosen = selectors.DefaultSelector()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    chosen.register(listener, selectors.EVENT_READ)
    children: dict[int, tuple[int, socket.socket]] = {}  # process id and connection by descriptor
    users = dict[int, socket.socket]()  # connections by descriptor
    print("ready", flush=True)
    if os.fork():  # the server is no child of the process that starts it, which may end before others that use it
        os._exit(0)
    with Path(os.devnull).open("r+b") as nothing:
        for stream in (0, 1):
            os.dup2(nothing.fileno(), stream)
    while True:
        for key, _ in chosen.select():
            if key.fd in users:
                chosen.unregister(key.fd)
                users.pop(key.fd).close()
                if not users:
                    return None
                continue
            if key.fd in children:
                chosen.unregister(key.fd)
                os.close(key.fd)
                child, connection = children.pop(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                with connection:
                    try:
                        connection.sendall(NUMBER.pack(code))
                    except OSError:
                        continue  # the caller has ended
                continue
            connection, _ = listener.accept()
            header, streams, _, _ = socket.recv_fds(connection, NUMBER.size, 3)
            size = NUMBER.unpack(header)[0]
            if size == USER:
                users[connection.fileno()] = connection
                chosen.register(connection, selectors.EVENT_READ)
                connection.sendall(header)
                continue
            words, folder, environment = json.loads(_receive(connection, size))
            child = os.fork()
            if child == 0:
                for inherited in (
                    chosen,
                    listener,
                    connection,
                    *users.values(),
                    *(one for _, one in children.values()),
                ):
                    inherited.close()
                _become(folder, environment, streams)
                return words
            for stream in streams:
                os.close(stream)
            connection.sendall(NUMBER.pack(child))
            ended = os.pidfd_open(child)
            children[ended] = child, connection
            chosen.register(ended, selectors.EVENT_READ)


def _become(folder: str, environment: dict[str, str], streams: list[int]) -> None:
    """Take over the folder, environment and standard streams of a caller."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    added = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in added if path and path not in sys.path]
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


PROGRAM = """#!/bin/sh
if [ "$1" = "-u" ]; then
    shift
fi
if [ "$1 $2" = "-m titer" ]; then
    shift 2
    exec "{python}" -S "{script}" call "{socket}" "$@"
fi
exec "{python}" "$@"
"""


def write_program(path: str) -> str:
    """Write a Python interpreter that runs ``-m titer WORDS...`` as a process of the server, and return its path.

    It ignores the option ``-u`` (unbuffered output), which torchrun adds.
    """
    program = Path(path).with_name("python")
    program.write_text(PROGRAM.format(python=sys.executable, script=__file__, socket=path))
    program.chmod(0o755)
    return str(program)


def run(words: list[str], program: str) -> NoReturn:
    """Run a command in this process, which ends with it."""
    from titer.cli.main import main

    is_program = words[0] == "-c"
    sys.argv = ["-c", *words[2:]] if is_program else ["titer", *words]
    if os.environ.pop(WARM_WORKERS, None):
        sys.executable = program
    if os.environ.pop(QUICK_EVENTS, None):
        from quick_events import use_quick_events

        use_quick_events()
    try:
        if is_program:
            exec(words[1], {"__name__": "__main__"})
            sys.exit()
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        # Clearing all modules would take longer than most commands, as it copies the memory shared with the server.
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code or 0)
    sys.exit()


def call(path: str, words: list[str]) -> int:
    """Run a command as a process of the server, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        child = send(connection, words, str(Path.cwd()), os.environ, [0, 1, 2])
        for passed in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(passed, lambda number, _: os.kill(child, number))
        code = receive_number(connection)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    if sys.argv[1] == "call":
        sys.exit(call(sys.argv[2], sys.argv[3:]))
    program = write_program(sys.argv[2])
    if (command := serve(sys.argv[2])) is not None:
        run(command, program)

"""What a power cut could still destroy, from a recording of system calls by strace."""

import re
from pathlib import Path

CALLS = "openat,open,creat,write,pwrite64,writev,pwritev,ftruncate,fallocate,fsync,fdatasync,sync_file_range"
NAMES = "rename,renameat,renameat2,link,linkat,mkdir,mkdirat,unlink,unlinkat,rmdir,sendto,sendmsg"
CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<arguments>.*?)\) += (?P<result>-?\d+)", re.DOTALL)
RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
DESCRIPTOR = re.compile(r"^\d+<([^>]*)>")


def strace(out: Path) -> list[str]:
    """Return the beginning of a command whose system calls are recorded in a file."""
    # The tracer is not the parent of the command, so signals reach the command itself, and only sees these calls.
    return ["strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "32", "-e", f"trace={CALLS},{NAMES}", "-o", str(out)]


class Disk:
    """The files and folders below a root whose latest changes are not on disk yet."""

    def __init__(self, root: Path):
        self.root = str(root.resolve())
        self.unsynced: set[str] = set()

    def follow(self, trace: str, until: str | None = None) -> None:
        """Follow a recording, up to the first call that contains a text if one is given."""
        for line in _calls(trace):
            if until is not None and until in line:
                return
            found = CALL.match(line)
            if found is not None and int(found["result"]) >= 0:
                self._apply(found["name"], found["arguments"], line)
        assert until is None, f"no call has {until!r}"

    def _apply(self, name: str, arguments: str, line: str) -> None:
        paths = [self._path(text) for text in QUOTED.findall(arguments)]
        descriptor = DESCRIPTOR.match(arguments)
        match name:
            case "fsync" | "fdatasync" if descriptor:
                self.unsynced.discard(descriptor[1])
            case "write" | "pwrite64" | "writev" | "pwritev" | "ftruncate" | "fallocate" if descriptor:
                self._change(descriptor[1])
            case "openat" | "open" | "creat" if "O_CREAT" in arguments or name == "creat":
                self._change(str(Path(paths[0]).parent))
            case "openat" | "open" if "O_TRUNC" in arguments:
                self._change(paths[0])
            case "mkdir" | "mkdirat" | "link" | "linkat":
                self._change(str(Path(paths[-1]).parent))
            case "rename" | "renameat" | "renameat2":
                self._rename(*paths, exchanged="RENAME_EXCHANGE" in line)
            case _:
                pass  # what is removed needs not survive

    def _change(self, path: str) -> None:
        if path == self.root or path.startswith(f"{self.root}/"):
            self.unsynced.add(path)

    def _rename(self, old: str, new: str, *, exchanged: bool) -> None:
        moved = {path for path in self.unsynced if path == old or path.startswith(f"{old}/")}
        back = {path for path in self.unsynced if path == new or path.startswith(f"{new}/")}
        self.unsynced -= moved | back  # what was at the new place is replaced
        self.unsynced |= {new + path[len(old) :] for path in moved}
        if exchanged:
            self.unsynced |= {old + path[len(new) :] for path in back}
        self._change(str(Path(new).parent))
        self._change(str(Path(old).parent))

    def _path(self, text: str) -> str:
        return str(Path(self.root, text))


def _calls(trace: str) -> list[str]:
    """Return the calls of a recording in the order of their ends, each in one piece."""
    begun: dict[str, str] = {}
    calls: list[str] = []
    for line in trace.splitlines():
        process = line.partition(" ")[0]
        if line.endswith("<unfinished ...>"):
            begun[process] = line.removesuffix("<unfinished ...>").rstrip()
        elif RESUMED.search(line):
            calls.append(begun.pop(process, "") + RESUMED.split(line, maxsplit=1)[1])
        else:
            calls.append(line)
    return calls

"""The launcher's output: the lines of many processes, each prefixed with the name of its process.

Whoever reads the output may pause or go away. Neither must stop the processes, so writing never waits for the reader:
unread output is buffered, and when the buffer is full lines are dropped and a note says how many.
"""

import contextlib
import os
import select

BUFFER_SIZE = 1_000_000  # bytes
WRITE_SIZE = 4_096  # bytes that a pipe takes without blocking once it is ready (PIPE_BUF)
LONGEST_LINE = 65_536  # bytes; a longer line is broken

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # ANSI foregrounds that are legible on dark and on light


class Output:
    """Writes prefixed lines to a file descriptor; in colour if that is a terminal and NO_COLOR is not set."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.heard: set[str] = set()
        """The processes that have written a line."""
        self._in_colour = os.isatty(fd) and not os.environ.get("NO_COLOR")
        self._buffer = bytearray()
        self._dropped = 0
        self._colours: dict[str, int] = {}
        self._width = 0

    @property
    def is_waiting(self) -> bool:
        """Whether output is waiting for the reader."""
        return bool(self._buffer)

    def expect(self, names: list[str]) -> None:
        """Makes the prefix wide enough for these names, so that the lines are aligned from the first one."""
        self._width = max(self._width, *(len(name) for name in names))

    def line(self, name: str, text: bytes | str) -> None:
        """Writes one line of the process `name`."""
        self.heard.add(name)
        data = text.encode() if isinstance(text, str) else text
        prefix = f"{name:{self._width}} | "
        if self._in_colour:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            prefix = f"\x1b[{colour}m{prefix}\x1b[0m"
        self._add(prefix.encode() + data + b"\n")

    def plain(self, text: str) -> None:
        """Writes text without prefix or colour."""
        self._add(text.encode() + b"\n")

    def flush(self, *, wait: float = 0.0) -> None:
        """Writes as much as the reader takes, and waits up to `wait` seconds at each step for a slow reader."""
        ready = select.poll()
        ready.register(self.fd, select.POLLOUT)
        while self._buffer and ready.poll(wait * 1000):
            try:
                written = os.write(self.fd, self._buffer[:WRITE_SIZE])
            except OSError:  # the reader is gone, and the output with it
                written = len(self._buffer)
            del self._buffer[:written]
            if not self._buffer and self._dropped:
                dropped, self._dropped = self._dropped, 0
                self.line("up", f"{dropped} lines dropped here, because nobody read them")

    def _add(self, data: bytes) -> None:
        if len(self._buffer) + len(data) > BUFFER_SIZE:
            self._dropped += 1
        else:
            self._buffer += data


class LinePipe:
    """The reading end of a process's output: turns what arrives into lines."""

    def __init__(self, fd: int, *, name: str, output: Output) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._name = name
        self._output = output
        self._rest = b""

    def read(self) -> bool:
        """Reads what is there. False once the other end has been closed; then this end is closed, too."""
        try:
            data = os.read(self.fd, LONGEST_LINE)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._rest and (not data or len(self._rest) >= LONGEST_LINE):
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._output.line(self._name, line)
        if not data:
            self.close()
        return bool(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.fd)

"""The launcher's output: the lines of many processes, each with the name of its process before it.

Whoever reads the output may stop reading, or go. Neither may stop the processes, so this never waits for its reader: it
keeps a stock of what was not read yet, and leaves out lines, with a note that says how many, when the stock is full.
"""

import contextlib
import os
import select

STOCK = 1_000_000  # bytes
AT_ONCE = 4_096  # bytes that a pipe takes without blocking when it says that it is ready (PIPE_BUF)
LONGEST_LINE = 65_536  # bytes; a longer one is broken

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # ANSI foregrounds that can be read on dark and on light


class Output:
    """Writes prefixed lines to a file descriptor; in colour if that is a terminal and NO_COLOR is not set."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._in_colour = os.isatty(fd) and not os.environ.get("NO_COLOR")
        self._stock = bytearray()
        self._left_out = 0
        self._colours: dict[str, int] = {}
        self._width = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there is anything to write as soon as the reader takes it."""
        return bool(self._stock)

    def expect(self, names: list[str]) -> None:
        """Makes room for these names, so that the lines stand in one column from the first on."""
        self._width = max(self._width, *(len(name) for name in names))

    def line(self, name: str, text: bytes | str) -> None:
        """Writes one line of the process `name`."""
        data = text.encode() if isinstance(text, str) else text
        prefix = f"{name:{self._width}} | "
        if self._in_colour:
            colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
            prefix = f"\x1b[{colour}m{prefix}\x1b[0m"
        self._add(prefix.encode() + data + b"\n")

    def plain(self, text: str) -> None:
        """Writes text as it is, with neither prefix nor colour."""
        self._add(text.encode() + b"\n")

    def flush(self, *, wait: float = 0.0) -> None:
        """Writes what the reader takes, and waits `wait` seconds, at each step, for a reader who is slow."""
        ready = select.poll()
        ready.register(self.fd, select.POLLOUT)
        while self._stock and ready.poll(wait * 1000):
            try:
                written = os.write(self.fd, self._stock[:AT_ONCE])
            except OSError:  # the reader has gone: nothing that is said matters any more
                written = len(self._stock)
            del self._stock[:written]
            if not self._stock and self._left_out:
                left_out, self._left_out = self._left_out, 0
                self.line("up", f"{left_out} lines left out here, as nobody read them")

    def _add(self, data: bytes) -> None:
        if len(self._stock) + len(data) > STOCK:
            self._left_out += 1
        else:
            self._stock += data


class LinePipe:
    """The reading end of a process's output: turns what arrives into lines."""

    def __init__(self, fd: int, *, name: str, output: Output) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._name = name
        self._output = output
        self._rest = b""

    def read(self) -> bool:
        """Takes what is there. False when the other end has been closed, and this one with it."""
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

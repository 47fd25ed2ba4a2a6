"""Runs a command on a pseudo-terminal of its own: standard input is what is typed there, standard output what it shows."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))


def leave(*_):
    os.killpg(pid, signal.SIGKILL)
    sys.exit(1)


signal.signal(signal.SIGTERM, leave)
watched = [terminal, 0]
while True:
    ready, _, _ = select.select(watched, [], [])
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            watched.remove(0)
    if terminal in ready:
        # Linux reports the end of a pseudo-terminal as an error of input.
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)

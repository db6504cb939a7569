"""Types into an interactive shell on a terminal, as a person would.

    typing.py SETUP TYPED WORDS SHELL...

runs SETUP in the shell, types TYPED, in which a tab is a key like others, and waits until every one of WORDS (a space
between) is on the screen. Prints what was shown; exit code 1 when a word never came.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

setup, typed, words, *shell = sys.argv[1:]
PATIENCE_S = 30
READY = "ready-to-type"

child, terminal = pty.fork()
if child == 0:
    os.execvp(shell[0], shell)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))


def shown_until(is_enough):
    """What the terminal shows until it is enough, or the shell is silent for too long."""
    shown, end = "", time.monotonic() + PATIENCE_S
    while not is_enough(shown) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError:
                break
            shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>()][0B]?|\x1b\][^\x07]*\x07|[\x00-\x09\x0e-\x1f]", "", shown)
    return shown


# Typed with a quote in it, so that the echo of the line is not taken for its answer.
os.write(terminal, f"{setup}; echo {READY[:5]}''{READY[5:]}\n".encode())
shown = shown_until(lambda shown: READY in shown)
os.write(terminal, typed.encode())
answer = shown_until(lambda shown: all(word in shown for word in words.split()))
print(shown, answer, sep="\n---- typed\n")
os.kill(child, 9)
os.waitpid(child, 0)
sys.exit(0 if all(word in answer for word in words.split()) else 1)

"""Becomes another program under another account; run as a script, so only the standard library is there.

A program between ours and the server makes this safe in a process with threads: nothing of ours runs
between fork and exec. The parent-death signal is set after the change of account, which clears it, and the
output file is opened as the account, which nobody can trick into writing what only root may write.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with(parent: int, death_signal: signal.Signals) -> None:
    """Have the kernel send `death_signal` when the parent ends, however it ends; exit if it ended already."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot set the parent-death signal")
    if os.getppid() != parent:
        sys.exit("the parent process has ended")


def become(uid: int, gid: int) -> None:
    """Give up root for good; without root there is nothing to give up."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def redirect_output(path: str) -> None:
    """Append both output streams to a file that only the account can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def main() -> None:
    """Run as `launch.py UID GID PARENT OUTPUT PROGRAM [ARGUMENT ...]`; OUTPUT may be empty."""
    uid, gid, parent, output, *command = sys.argv[1:]
    become(int(uid), int(gid))
    os.umask(0o077)
    die_with(int(parent), signal.SIGINT)
    if output:
        redirect_output(output)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()

"""What native code of users may ask of the system: nothing that reaches beyond its process.

A filter of system calls (seccomp) that holds for all threads, for what the process starts, and for its life.
Calls that write files, change folders, open sockets, start programs, signal or look into other processes, or
change the system fail with EPERM. Files can still be read, descriptors that were handed over used, and memory
taken up to its limit.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable

#: Of x86-64 Linux. Whatever they are given.
_REFUSED = {
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "accept4": 288,
    "execve": 59, "execveat": 322,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438,
    "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "tkill": 200,
    "creat": 85, "rename": 82, "renameat": 264, "renameat2": 316, "unlink": 87, "unlinkat": 263, "mkdir": 83,
    "mkdirat": 258, "rmdir": 84, "link": 86, "linkat": 265, "symlink": 88, "symlinkat": 266, "truncate": 76,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260,
    "mknod": 133, "mknodat": 259, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "utime": 132,
    "utimes": 235, "futimesat": 261, "utimensat": 280,
    "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64, "mq_open": 240,
    "mount": 165, "umount2": 166, "chroot": 161, "pivot_root": 155, "unshare": 272, "setns": 308,
    "open_tree": 428, "move_mount": 429, "fsopen": 430,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "add_key": 248, "request_key": 249, "keyctl": 250,
    "init_module": 175, "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "setrlimit": 160, "settimeofday": 164, "clock_settime": 227,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "acct": 163, "quotactl": 179,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "openat2": 437,
}  # fmt: skip
#: Refused when they would write: which argument has the flags.
_OPENING = {"open": (2, 1), "openat": (257, 2)}
#: Refused unless they are about this process.
_SIGNALLING = {"kill": 62, "tgkill": 234}
_PRLIMIT, _CLONE3 = 302, 435
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_X86_64 = 0xC000003E
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_SET_MODE_FILTER, _ALL_THREADS, _SYS_SECCOMP, _NO_NEW_PRIVILEGES = 1, 1, 317, 38

Instruction = tuple[int, int, int, int]  # code, where to go if true, if not, number


def confine() -> bool:
    """Confines this process. False where the system has no such filter, or another processor's numbers."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    text = b"".join(struct.pack("<HBBI", *each) for each in program(os.getpid()))
    code = ctypes.create_string_buffer(text, len(text))
    filters = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(text) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    done: int = libc.syscall(_SYS_SECCOMP, _SET_MODE_FILTER, _ALL_THREADS, filters)
    return done == 0


def program(pid: int) -> list[Instruction]:
    """The filter, for the process of that number."""
    made: list[Instruction] = [
        (_LOAD, 0, 0, 4),  # the processor
        (_EQUAL, 1, 0, _X86_64),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # the call
        (_AT_LEAST, 0, 1, 0x40000000),  # other numbers for the same calls
        (_RETURN, 0, 0, _FAIL | _ENOSYS),
        *_when(
            _CLONE3, [(_RETURN, 0, 0, _FAIL | _ENOSYS)]
        ),  # its flags are in memory: the older one is asked
    ]
    for number in _REFUSED.values():
        made += _when(number, [_refuse()])
    for number, argument in _OPENING.values():
        asked = [(_LOAD, 0, 0, _low(argument)), (_ANY_BIT, 0, 1, _WRITING), _refuse(), _allow()]
        made += _when(number, asked)
    for number in _SIGNALLING.values():
        made += _when(number, [(_LOAD, 0, 0, _low(0)), (_EQUAL, 1, 0, pid), _refuse(), _allow()])
    # A new limit is a pointer that isn't null.
    asked = [
        (_LOAD, 0, 0, _low(2)), (_EQUAL, 0, 2, 0), (_LOAD, 0, 0, _low(2) + 4), (_EQUAL, 1, 0, 0), _refuse(),
        _allow(),
    ]  # fmt: skip
    return [*made, *_when(_PRLIMIT, asked), _allow()]


def _when(number: int, then: Iterable[Instruction]) -> list[Instruction]:
    inside = list(then)
    return [(_EQUAL, 0, len(inside), number), *inside]


def _low(argument: int) -> int:
    """Where the lower half of an argument is."""
    return 16 + 8 * argument


def _refuse() -> Instruction:
    return (_RETURN, 0, 0, _FAIL | _EPERM)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)

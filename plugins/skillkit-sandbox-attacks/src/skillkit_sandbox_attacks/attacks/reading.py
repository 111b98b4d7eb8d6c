# ruff: noqa
# mypy: ignore-errors
"""Attacks on secrets: hidden paths, environments, descriptors. What is read goes out, where the secrets are known."""

from __future__ import annotations

import os

from .attack import STAGE, attack, libc, project, quiet


@attack(lack="hide")
def read_hidden():
    found = []
    for path in (*STAGE["hidden"], project("to-hidden")):
        for form in (
            path,
            "/proc/self/root" + path,
            f"{os.path.dirname(path)}/../{os.path.relpath(path, os.path.dirname(path) + '/..')}",
        ):
            with quiet():
                found.append(open(form + "/secret.txt").read())
            with quiet():
                found += os.listdir(form)
    return " ".join(found)


@attack(lack="hide")
def read_hidden_moved():
    parent = os.path.dirname(STAGE["hidden"][1])
    while os.path.dirname(parent) != STAGE["projects"][0]:
        parent = os.path.dirname(parent)
    os.rename(parent, parent + "-moved")
    return open(STAGE["hidden"][1].replace(parent, parent + "-moved") + "/secret.txt").read()


@attack(lack="hide")
def read_hidden_umount():
    for path in STAGE["hidden"]:
        libc.umount2(path.encode(), 2)
    return read_hidden()


@attack
def read_secret_file():
    return open(STAGE["hidden"][2] + "/secret.txt").read()


@attack
def read_own_env():
    return os.environ.get("SUITE_SECRET")


@attack
def read_other_env():
    found = ""
    for pid in [p for p in os.listdir("/proc") if p.isdigit()] + [STAGE["decoy"], STAGE["runner"]]:
        with quiet():
            found += open(f"/proc/{pid}/environ").read()
    return found


@attack
def read_descriptors():
    found = b""
    for fd in [*range(3, 64), "/proc/1/fd", f"/proc/{os.getppid()}/fd"]:
        with quiet():
            if isinstance(fd, int):
                os.lseek(fd, 0, 0)
                found += os.read(fd, 1000)
            else:
                for one in os.listdir(fd):
                    with quiet():
                        if os.path.isfile(f"{fd}/{one}"):
                            found += open(f"{fd}/{one}", "rb").read(1000)
    return found.decode(errors="replace")


@attack(lack="tmp")
def read_tmp():
    found = ""
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        with quiet():
            found += open(f"{folder}/skillkit-suite-{STAGE['id']}").read()
    return found

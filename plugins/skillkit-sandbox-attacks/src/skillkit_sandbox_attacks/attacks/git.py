# ruff: noqa
# mypy: ignore-errors
"""Attacks that plant what the user would run later: hooks and configuration of git, protected files."""

from __future__ import annotations

import os

from .attack import STAGE, attack, done, project, put


def hook(folder):
    put(f"{folder}/post-checkout", "#!/bin/sh\n")


@attack(lack="protect")
def git_hook():
    return done(lambda: hook(project(".git/hooks")), lambda: put(project(".git/hooks/pre-commit.sample")))


@attack(lack="protect")
def git_config():
    def replaced():
        put(project("config.new"), "[core]\n\tfsmonitor = touch pwned\n")
        os.rename(project("config.new"), project(".git/config"))

    return done(
        lambda: put(project(".git/config"), "[core]\n\thooksPath = x\n"),
        replaced,
        lambda: os.unlink(project(".git/config")),
    )


@attack(lack="protect")
def git_rename_parent():
    os.rename(project(".git"), project("old-git"))
    os.makedirs(project(".git/hooks"))
    hook(project(".git/hooks"))
    return "renamed"


@attack(lack="protect")
def git_hooks_dir_swapped():
    hooks = project(".git/hooks")

    def link():
        os.mkdir(project("myhooks"))
        os.symlink(project("myhooks"), project("newlink"))
        os.rename(project("newlink"), hooks)

    return done(lambda: os.rename(hooks, project(".git/hooks-old")), lambda: os.rmdir(hooks), link)


@attack(lack="protect")
def git_missing_created():
    git = STAGE["projects"][1] + "/.git"

    def moved():
        os.makedirs(STAGE["projects"][1] + "/made/hooks")
        os.rename(STAGE["projects"][1] + "/made", git)

    return done(lambda: os.makedirs(git + "/hooks"), moved, lambda: hook(git), lambda: os.rename(git, git + "-old"))


@attack(lack="protect")
def git_file_pointer():
    git = STAGE["projects"][2] + "/.git"
    os.makedirs(STAGE["projects"][2] + "/prepared")

    def pointer():
        os.rmdir(git)
        put(git, "gitdir: prepared\n")

    def renamed():
        put(git + ".new", "gitdir: prepared\n")
        os.rename(git + ".new", git)

    return done(pointer, renamed, lambda: os.symlink("prepared", git))


@attack(lack="protect")
def protected_file_replaced():
    path = project(".mcp.json")

    def replaced():
        put(path + ".new")
        os.rename(path + ".new", path)

    return done(lambda: put(path), replaced, lambda: os.unlink(path), lambda: os.rename(path, path + "-old"))


@attack(lack="protect")
def protected_missing_created():
    path = project(".hostsettings")

    def moved():
        os.mkdir(path + "-made")
        put(path + "-made/x")
        os.rename(path + "-made", path)

    return done(
        lambda: put(path + "/x"),
        lambda: os.makedirs(path + "/sub"),
        moved,
        lambda: os.symlink("x", path),
        lambda: os.rmdir(path),
    )

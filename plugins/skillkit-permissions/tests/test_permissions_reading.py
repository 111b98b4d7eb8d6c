"""Commands that only read run where the tool ``read`` would, and ask where a repository brings settings that run something."""

import subprocess

import pytest
from skillkit_permissions.decide import decide

READS = r"""
ls
ls -la src
ls -lR --color=never
cat README.md
cat -n src/main.py README.md
head -20 README.md
head -n 5 src/main.py
tail -n +2 README.md
wc -l src/main.py
pwd
file README.md
stat -c %s README.md
sort -u README.md
sort -k2,2n -t, README.md
rg -n x src
rg -l --type py x
grep -rn x src
grep -E 'a|b' README.md
find src -name '*.py' -type f
diff -u README.md src/main.py
tree -L 2 src
sha256sum README.md
egrep -n x README.md
du -sh src
sed -n '1,5p' README.md
cut -d: -f1 README.md
cat README.md | sort | uniq -c | head -3
ls src && wc -l README.md; pwd
cat < README.md
ls 2>/dev/null
ls nowhere 2>&1 | head
echo done
test -f README.md && echo yes
cd src && cat main.py
git status
git status -sb
git log --oneline -5
git log --graph --all
git log -p -- src
git diff
git diff --stat HEAD
git diff HEAD -- src/main.py
git show HEAD
git show HEAD:README.md
git blame README.md
git ls-files
git rev-parse --show-toplevel
git --no-pager log -3
git status && git diff | head -50
"""
ASKS = r"""
cat nowhere
cat $F
cat *
cat ~/notes
cat /etc/passwd
ls /etc
ls ..
ls > list
cat README.md > copy
sort -o README.md README.md
sort --compress-program=x README.md
find . -delete
find . -exec cat {} +
find -L / -name x
find -L src -name x
find . -follow
\time -o list ls
/usr/bin/time -ao list ls
rg --pre x y
rg -L x
grep -R x .
diff -r src src
tail --frobnicate README.md
X=1 ls
PATH=. ls
ls | xargs cat
./ls
/bin/ls
env
printenv
less README.md
man ls
cat outside
cat src/../outside
ls -l $(pwd)
sed -i s/a/b/ README.md
sed -n '1e x' README.md
git -c a=b status
git -C /tmp status
git log --output=x
git diff --ext-diff
git log --show-signature
git diff --submodule=diff
git diff --no-index /etc/passwd README.md
git log --frobnicate
git branch -D main
git commit -m x
md5sum -c README.md
date -s now
"""


@pytest.fixture
def project(tmp_path):
    """A repository with a commit, beside a file that is not in the project."""
    home = tmp_path / "home"
    project = home / "app"
    (project / "src").mkdir(parents=True)
    for name in ("README.md", "src/main.py"):
        (project / name).write_text("x\n")
    (home / "secret").write_text("x\n")
    (project / "outside").symlink_to(home / "secret")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "README.md", "src")
    git(project, "-c", "user.name=ana", "-c", "user.email=a@h.test", "commit", "-qm", "One")
    return project


def git(folder, *args):
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def judged(project, lines, mode="ask", **rules):
    place = {"cwd": str(project), "root": str(project), "home": str(project.parent), "mode": mode}
    lines = lines.strip().splitlines() if isinstance(lines, str) else lines
    return {line: decide(rules, {"tool": "bash", "args": {"command": line}, **place})["decision"] for line in lines}


@pytest.mark.smoke
def test_commands_that_only_read_the_project_run_without_a_question(project):
    found = judged(project, READS)
    assert {line: got for line, got in found.items() if got != "allow"} == {}
    assert set(judged(project, READS, mode="read-only").values()) == {"allow"}


def test_what_reads_elsewhere_or_may_do_more_asks(project):
    found = judged(project, ASKS)
    assert {line: got for line, got in found.items() if got != "ask"} == {}


def test_rules_hold_for_commands_that_only_read(project):
    (project / ".env").write_text("KEY=1\n")
    denied = judged(project, ["cat .env", "head -n1 ./.env", "git show HEAD:.env"], deny=["Read(.env)"])
    assert set(denied.values()) == {"deny"}
    asked = ["grep -r x .", "git diff", "git log -p", "git show HEAD", "cat README.md .env"]
    assert "allow" not in judged(project, asked, deny=["Read(.env)"]).values()
    free = ["cat README.md", "git status", "git log --oneline", "grep -r x src", "git diff -- src", "ls -la"]
    assert set(judged(project, free, deny=["Read(.env)"]).values()) == {"allow"}
    assert set(judged(project, ["ls", "git status"], ask=["Bash"]).values()) == {"ask"}
    assert set(judged(project, ["ls"], deny=["Bash(ls:*)"]).values()) == {"deny"}
    assert set(judged(project, ["cat README.md"], deny=["Read"]).values()) == {"deny"}
    assert set(judged(project, ["ls"], allow=["Bash(ls"]).values()) == {"ask"}, "a rule that cannot be read"


SETTINGS = [
    "[core]\n\tfsmonitor = ./x",
    "[core] fsmonitor = ./x",
    '[core]\nfsmonitor="./x"',
    "[core]\n\tFSMonitor = ./x",
    "[core]\n\thooksPath = x",
    "[core]\n\tworktree = /",
    "[core]\n\tpager = ./x",
    "[core]\n\tsshCommand = ./x",
    "[core]\n\tattributesFile = x",
    '[diff "x"]\n\ttextconv = ./x',
    '[diff "x"]\n\tcommand = ./x',
    "[diff]\n\texternal = ./x",
    '[filter "x"]\n\tclean = ./x',
    '[filter "x"]\n\tprocess = ./x',
    "[gpg]\n\tprogram = ./x",
    "[log]\n\tshowSignature = true",
    "[include]\n\tpath = x",
    '[includeIf "gitdir:/"]\n\tpath = x',
    "[extensions]\n\tworktreeConfig = true",
    "[extensions]\n\tpartialClone = origin",
    '[remote "origin"]\n\tpromisor = true',
    "[status]\n\tsubmoduleSummary = true",
    "[core]\n\tabbrev = 7\\\n\tfsmonitor = ./x",
    "[pager]\n\tlog = ./x",
    "[interactive]\n\tdiffFilter = ./x",
    "fsmonitor = ./x",
    "[core.x]\n\tfsmonitor = ./x",
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_git_asks_in_a_repository_whose_settings_may_run_something(project, setting):
    with (project / ".git" / "config").open("a") as file:
        file.write(f"{setting}\n")
    lines = ["git status", "git diff", "git log -p", "git show HEAD"]
    assert set(judged(project, lines).values()) == {"ask"}
    assert set(judged(project, lines, allow=["Bash(git:*)"]).values()) == {"allow"}, (
        "who allows git allows its settings"
    )


def test_git_asks_where_hooks_submodules_or_another_repository_may_run_something(project, tmp_path):
    (project / ".git" / "hooks" / "post-index-change").write_text("x")
    assert judged(project, ["git status"]) == {"git status": "ask"}
    (project / ".git" / "hooks" / "post-index-change").unlink()
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    assert judged(project, ["git status"]) == {"git status": "ask"}
    git(project, "update-index", "--force-remove", "sub")
    assert judged(project, ["git status"]) == {"git status": "allow"}
    bare = project / "src"
    for name in ("objects", "refs"):
        (bare / name).mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert judged(bare, ["git status"]) == {"git status": "ask"}


def test_git_reads_in_a_working_tree_of_a_plain_repository(project):
    git(project, "branch", "topic")
    git(project, "worktree", "add", "-q", "tree", "topic")
    assert judged(project / "tree", ["git status"]) == {"git status": "allow"}
    with (project / ".git" / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./x\n")
    assert judged(project / "tree", ["git status"]) == {"git status": "ask"}


def test_a_repository_above_the_project_asks(project):
    assert judged(project / "src", ["git status", "cat main.py"]) == {"git status": "ask", "cat main.py": "allow"}

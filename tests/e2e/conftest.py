"""Real files for plain requests: a table, JSON, Markdown, copies, a git repository."""

import pytest
from e2e_git import git


@pytest.fixture
def workspace(skillkit_home):
    folder = skillkit_home.cwd
    (folder / "sales.csv").write_text("name,price,region\na,10,east\nb,20,west\nc,,east\nd,40,west\n")
    (folder / "data.json").write_text(
        '{"orders":[{"id":1,"status":"open","total":5},{"id":2,"status":"closed","total":9},{"id":3,"status":"open"}]}'
    )
    (folder / "README.md").write_text(
        "# Title\n\n## Install\n\nSee [this](missing.md).\n\n## Use\n\nSome words here.\n"
    )
    (folder / "photos").mkdir()
    for name, text in (("a.jpg", "same"), ("b.jpg", "same"), ("c.jpg", "other")):
        (folder / "photos" / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start the project")
    return folder

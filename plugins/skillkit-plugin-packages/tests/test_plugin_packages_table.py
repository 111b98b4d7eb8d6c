"""The table says what comes with which package, and packages of others join it."""

import json

import pytest
from skillkit_plugin_packages import brings

TABLE = {
    "acme-rockets": {
        "summary": "Rockets of Acme.",
        "plugins": ["rockets"],
        "commands": ["launch", "skills fly"],
        "config": ["rockets"],
    }
}


@pytest.fixture
def cli(skillkit_cli, tmp_path, monkeypatch):
    """A command line beside a package that knows one of its maker's other packages."""
    site = tmp_path / "site"
    info = site / "acme_packages-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-packages\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.packages]\nacme = acme_packages\n")
    (site / "acme_packages").mkdir()
    (site / "acme_packages" / "__init__.py").write_text("raise SystemExit('nobody imports a table')\n")
    (site / "acme_packages" / "packages.json").write_text(json.dumps(TABLE))
    monkeypatch.setenv("PYTHONPATH", str(site))
    return skillkit_cli


@pytest.mark.smoke
def test_a_missing_command_names_the_package_that_brings_it(cli):
    said = cli("launch")
    assert said.exit_code == 2
    assert (
        "unknown command 'launch'; 'launch' comes with acme-rockets: skillkit plugins install acme-rockets"
        in said.stderr
    )
    assert "comes with" not in cli("lunch").stderr


def test_a_missing_section_names_the_package_that_brings_it_and_nothing_is_guessed(cli, skillkit_home):
    skillkit_home.config_dir.mkdir(parents=True, exist_ok=True)
    (skillkit_home.config_dir / "config.yaml").write_text("rockets: {fuel: 1}\nboats: {sail: 1}\n")
    said = str(cli("doctor"))
    assert "'rockets' comes with acme-rockets: skillkit plugins install acme-rockets" in said
    assert "boats" in said and "skillkit-boats" not in said


def test_a_listed_plugin_that_is_missing_names_its_package(cli, skillkit_home):
    file = skillkit_home.cwd / "d.yaml"
    file.write_text("schema_version: 1\nname: d\nplugins: [plugin-packages, rockets, boats]\n")
    remedies = {
        p["plugin"]: p["remedy"] for p in cli("--distribution", file, "plugins", "doctor", "--json").json["problems"]
    }
    assert remedies["rockets"] == "'rockets' comes with acme-rockets: skillkit plugins install acme-rockets"
    assert remedies["boats"] == "install the package that brings it"


def test_a_command_of_a_plugin_that_is_off_says_which_to_enable(cli):
    said = cli("-P", "no:plugin-packages", "plugins", "install", "x").stderr
    assert "comes with the plugin 'plugin-packages', which does not run: disabled by -P no:plugin-packages" in said
    assert "plugins enable" not in said, "that would not help"


def test_search_looks_at_names_summaries_and_what_comes(cli):
    rows = cli("plugins", "search", "acme", "rocket", "--json").ok().json["packages"]
    assert [row["package"] for row in rows] == ["acme-rockets"] and rows[0]["installed"] is None
    by_command = cli("plugins", "search", "launch", "--json").ok().json["packages"]
    assert by_command[0]["package"] == "acme-rockets" and by_command[0]["matched"] == ["commands launch"]
    known = {row["package"]: row for row in cli("plugins", "search", "--json").ok().json["packages"]}
    assert known["skillkit-skills"]["brings"]["commands"] == ["skills"] and known["acme-packages"]["installed"] == "1.0"
    assert "cannot be searched by words" in cli("plugins", "search", "sandbox").ok().stdout


@pytest.mark.sample(2)
@pytest.mark.parametrize("word", ["transport", "engine", "routing", "oauth"])
def test_search_knows_every_package_of_the_project_and_says_what_it_is(cli, word):
    rows = cli("plugins", "search", word, "--json").ok().json["packages"]
    assert rows and all(row["summary"] for row in rows)
    assert any(word in row["package"] for row in rows)


def test_search_shows_what_an_installed_package_says_of_itself(cli, tmp_path):
    info = tmp_path / "site" / "acme_kites-2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-kites\nVersion: 2\nSummary: Kites of Acme\n")
    (info / "entry_points.txt").write_text("[skillkit.skills]\nkites = acme_kites\n")
    assert "acme-kites  2          Kites of Acme\n" in cli("plugins", "search", "kites").ok().stdout


def test_a_misspelt_package_is_doubted_before_anything_is_installed(cli):
    said = str(cli("plugins", "install", "skilkit-recorder", "--dry-run"))
    assert "'skilkit-recorder' is no package that is known here; did you mean 'skillkit-recorder'?" in said
    assert "did you mean" not in str(cli("plugins", "install", "acme-weather", "--dry-run"))


def test_what_removes_packages_does_not_remove_itself(cli):
    done = cli("plugins", "uninstall", "plugin-packages", "--yes")
    assert done.exit_code == 2
    assert "skillkit-plugin-packages is what removes packages" in done.stderr


def test_a_table_that_is_no_json_is_passed_over(cli, tmp_path):
    (tmp_path / "site" / "acme_packages" / "packages.json").write_text("{")
    said = cli("launch")
    assert said.exit_code == 2 and "unknown command 'launch'" in said.stderr


def test_what_a_plugin_brings_is_found_and_measured_by_a_new_process(skillkit_home):
    found = brings.ask(["skillkit-plugin-packages"])
    (plugin,) = found["plugins"]
    assert plugin["hooks"] == {"registration": ["register_commands"]} and plugin["loaded"]
    assert "plugins install" in plugin["items"]["commands"] and "click>=8.1" in plugin["requires"]
    assert plugin["cost"]["modules"] >= 1 and plugin["cost"]["milliseconds"] > 0


def test_the_readme_that_came_with_a_package_is_shown_by_plugin_and_by_package(cli, tmp_path):
    metadata = tmp_path / "site" / "acme_packages-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text() + "\n# Rockets\n\nThey fly.\x1b[2J\n")

    shown = cli("plugins", "readme", "acme-packages").ok().stdout
    assert shown == "# Rockets\n\nThey fly.\\x1b[2J\n"
    assert cli("plugins", "readme", "acme", "--json").ok().json["readme"].startswith("# Rockets")
    assert "# skillkit-plugin-packages" in cli("plugins", "readme", "plugin-packages").ok().stdout
    unknown = cli("plugins", "readme", "plugin-package")
    assert unknown.exit_code == 2 and "did you mean 'plugin-packages'" in unknown.stderr

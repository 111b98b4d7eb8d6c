"""The wheels, in a fresh environment."""


def test_the_standard_distribution_answers_from_its_wheels_in_an_empty_folder(venv):
    environment = venv("skillkit-default")

    environment.run("skillkit", "plugins", "doctor").ok()
    answer = environment.run("skillkit", "run", "--no-session", "what is 15% of 80").ok()

    assert answer.stdout.strip() == "15% of 80 = 12"


def test_a_released_package_is_found_by_uv_and_by_pip(outside, venv, release):
    (outside.work / "pyproject.toml").write_text(
        '[project]\nname = "skillkit-acme-nothing"\nversion = "1.0"\n'
        '[build-system]\nrequires = ["uv_build>=0.13,<0.14"]\nbuild-backend = "uv_build"\n'
    )
    package = outside.work / "src" / "skillkit_acme_nothing"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NOTHING = 0\n")
    release(outside.work)
    environment = venv("skillkit-acme-nothing", pip=True)

    environment.run("python", "-c", "import skillkit_acme_nothing").ok()
    environment.run("pip", "uninstall", "--quiet", "--yes", "skillkit-acme-nothing").ok()
    environment.run("pip", "install", "--quiet", "skillkit-acme-nothing").ok()

    environment.run("python", "-c", "import skillkit_acme_nothing").ok()

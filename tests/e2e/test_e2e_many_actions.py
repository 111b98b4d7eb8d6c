"""More actions than are compared with each request: the index of skills chooses those that are near."""

import json

PLACES = [f"harbour{n}" for n in range(210)]


def test_a_plain_request_finds_its_action_among_hundreds(skillkit_cli, skillkit_home):
    for place in PLACES:
        action = {
            "name": "show",
            "description": f"Show the tides of {place}.",
            "run": ["echo", f"High water at {place}"],
            "confirm": "never",
        }
        block = {"actions": [action], "examples": [f"show the tides of {place}"]}
        folder = skillkit_home.config_dir / "skills" / f"tides-{place}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: tides-{place}\ndescription: The tides of {place}.\nmetadata: {{skillkit: {json.dumps(block)}}}\n---\n"
        )
    tides = skillkit_cli("run", "show the tides of harbour137").ok()
    assert tides.stdout.strip() == "High water at harbour137", str(tides)
    assert skillkit_cli("run", "what is 15% of 80").ok().stdout == "15% of 80 = 12\n"
    assert skillkit_cli("run", "show the tides of harbour999").exit_code == 1

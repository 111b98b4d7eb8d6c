"""The suite of commands; below it stands what is this command's own."""

from skillkit_testkit.conformance import CommandConformance

import skillkit_acme


class TestCommand(CommandConformance):
    plugin = skillkit_acme
    works = (["acme"], ["acme", "--least", "2"])
    listings = (["acme"],)

    def test_a_host_without_skills_says_so(self, command_host):
        assert self.play(command_host, ["acme"]).output == "There are no skills.\n"

"""The suite of commands; below it stands what is this command's own."""

from skillkit_testkit.conformance import CommandConformance

import skillkit_acme


class TestCommand(CommandConformance):
    plugin = skillkit_acme
    works = (["acme"], ["acme", "--least", "1"])
    listings = (["acme"],)

    def test_each_plugin_is_a_row(self, command_host):
        assert self.play(command_host, ["acme"]).output.splitlines()[1].split() == ["skillkit_acme", "1"]

    def test_nothing_to_show_is_said(self, command_host):
        assert self.play(command_host, ["acme", "--least", "9"]).output == "No plugin implements 9 hooks.\n"

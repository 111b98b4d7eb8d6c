"""The suite of guards plays the calls through the whole loop; below it stands what is this guard's own."""

from skillkit_core.testing import Call
from skillkit_testkit.conformance import GuardConformance

import skillkit_acme


class TestGuard(GuardConformance):
    plugin = skillkit_acme
    refuses = (Call("write", {"path": ".env"}), Call("write", {"path": "src/../.git/config"}))
    asks = (Call("write", {"path": "/etc/motd"}),)
    allows = (Call("write", {"path": "src/main.py"}), Call("write", {"path": ".environment"}))

    def test_a_link_is_judged_by_what_it_leads_to(self, guard_host, ran):
        (guard_host.cwd / "notes").symlink_to(guard_host.cwd / ".env")
        (result,) = self.play(guard_host, ran, [Call("write", {"path": "notes"})])
        assert result.text == "Blocked: .env is protected: leave it as it is"

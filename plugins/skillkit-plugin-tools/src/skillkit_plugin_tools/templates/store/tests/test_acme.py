"""The suite of session stores; below it stands what is this store's own."""

from skillkit_core import SessionHeader
from skillkit_testkit.conformance import SessionStoreConformance

import skillkit_acme


class TestStore(SessionStoreConformance):
    opener = "skillkit_acme:AcmeStore"  # called with a folder, also in a second process


async def test_the_host_keeps_its_sessions_in_the_data_folder(make_host):
    host = make_host(skillkit_acme)
    handle = await host.session_stores.get("acme").create(SessionHeader("one", 1.0))
    await handle.close()
    assert (host.data_dir / "acme" / "one.jsonl").is_file()

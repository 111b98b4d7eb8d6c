"""What providers on official SDKs share: fast requests, and connections that keep nothing of the run that opened them.

Nothing heavy is imported before it is used: the SDK, httpx2 and aiohttp come with the first request.
"""

from .transport import SDKTransport

__all__ = ["SDKTransport"]

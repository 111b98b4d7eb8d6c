"""The client of ``skillkit rpc``, which is that of every live session: see :class:`skillkit_live.RpcClient`."""

from skillkit_live import RpcClient, RpcError

__all__ = ["RpcClient", "RpcError"]

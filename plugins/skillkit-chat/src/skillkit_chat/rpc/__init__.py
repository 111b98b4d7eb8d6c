"""``skillkit rpc``: a live session, steered by another program through JSON-RPC 2.0, a message a line, on stdin and stdout."""

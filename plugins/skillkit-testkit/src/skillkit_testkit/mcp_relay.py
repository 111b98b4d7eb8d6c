"""A process that is an MCP server for its client: it hands lines between its pipes and the socket of the test's server.

It imports as little as it can, because each client starts one: ``python -I -S mcp_relay.py SOCKET``.
"""

import os
import select
import socket
import sys


def main() -> None:
    """Hand on what comes from either side, until one of them ends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(sys.argv[1])
        while True:
            ready, _, _ = select.select([0, server.fileno()], [], [])
            if 0 in ready:
                data = os.read(0, 65_536)
                if not data:
                    return
                server.sendall(data)
            if server.fileno() in ready:
                data = server.recv(65_536)
                if not data:
                    return
                while data:
                    data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()

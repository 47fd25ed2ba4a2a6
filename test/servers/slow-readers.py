"""Readers that ask and do not read: a line of requests in, a line when all are sent, a line of their statuses, and, when
told to, a line with what each read to its end.

Over loopback the system would take 2 MiB for each of them, and after a thousand has no memory left for anyone's
connections. With small windows and segments it takes as much as over a real network: the rest is with the server."""

import json
import resource
import socket
import sys

HEAD_BYTES = 12
TAIL_BYTES = 1_000


def connected(address):
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    reader.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1_400)
    reader.connect(address)
    return reader


def status_of(reader):
    """None: its connection ended without an answer."""
    try:
        head = reader.recv(HEAD_BYTES, socket.MSG_WAITALL)
    except ConnectionError:
        return None
    return int(head[9:]) if len(head) == HEAD_BYTES else None


def rest_of(reader):
    length = 0
    tail = b""
    try:
        while piece := reader.recv(65_536):
            length += len(piece)
            tail = (tail + piece)[-TAIL_BYTES:]
    except ConnectionError:
        pass
    return {"lengthBytes": length, "tail": tail.hex()}


def say(what):
    print(json.dumps(what), flush=True)


_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
address = (sys.argv[1], int(sys.argv[2]))
requests = json.loads(sys.stdin.readline())
readers = []
for request in requests:
    readers.append(connected(address))
    readers[-1].sendall(request.encode())
say(len(readers))
say([status_of(reader) for reader in readers])
if sys.stdin.readline():
    say([rest_of(reader) for reader in readers])

"""The explorer's server against requests that its page would never make: a real server, real sockets."""

import http.client
import random
import socket
import string

import pytest
import websockets.exceptions
from websockets.sync.client import connect

from qdpg.errors import UserError
from qdpg.explorer.app import Explorer
from qdpg.explorer.guard import (
    COOKIE,
    check_address,
    check_host,
    is_local,
    make_token,
    name_for_browsers,
    refuse,
    start_server,
)
from watchable import make_run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of viser and what it imports


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    made = Explorer(start_server("127.0.0.1", 0, None), [make_run(tmp_path_factory.mktemp("run") / "maze")])
    yield made
    made.close()


def get(port, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def protocol():
    import viser

    return [f"viser-v{viser.__version__}"]


def is_alive(explorer):
    return get(explorer.server.get_port())[0] == 200


def test_the_page_itself_is_served(explorer):
    status, page = get(explorer.server.get_port())
    assert status == 200
    assert b"<html" in page[:2000].lower()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:1", "file://"])
def test_a_foreign_origin_cannot_talk_to_it(explorer, origin):
    port = explorer.server.get_port()
    assert get(port, Origin=origin)[0] == 403
    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{port}", origin=origin, subprotocols=protocol())
    with connect(f"ws://127.0.0.1:{port}", origin=f"http://127.0.0.1:{port}", subprotocols=protocol()) as own:
        assert own.recv(timeout=20)


def test_another_host_is_refused_even_if_its_name_leads_here(explorer):
    assert get(explorer.server.get_port(), Host="evil.example")[0] == 403


@pytest.mark.parametrize(
    ("headers", "path", "token", "why"),
    [
        ({"host": "127.0.0.1:80"}, "/", None, None),
        ({"host": "[::1]:80"}, "/", None, None),
        ({"host": "127.0.0.1:81"}, "/", None, "another host"),
        ({}, "/", None, "another host"),
        ({"host": "lab:80", "origin": "http://lab:80"}, "/?token=abc", "abc", None),
        ({"host": "lab:80", "origin": "http://lab:81"}, "/?token=abc", "abc", "another origin"),
        ({"host": "lab:80"}, "/?token=abd", "abc", "no token"),
        ({"host": "lab:80"}, "/?token=", "abc", "no token"),
        ({"host": "lab:80", "cookie": f"{COOKIE}=abc"}, "/", "abc", None),
        ({"host": "lab:80", "cookie": f"{COOKIE}=ab\xe4"}, "/", "abc", "no token"),
        ({"host": "lab:80", "cookie": "]]=;;,"}, "/", "abc", "no token"),
        ({"host": "lab:80", "upgrade": "websocket"}, "/", "abc", "no token"),
    ],
)
def test_who_is_refused_and_why(headers, path, token, why):
    assert refuse(headers, path, 80, token) == why


def test_a_token_is_needed_elsewhere_only():
    assert is_local("127.0.0.1")
    assert is_local("localhost")
    assert is_local("::1")
    assert not is_local("0.0.0.0")
    assert make_token("127.0.0.1") is None
    assert len(make_token("0.0.0.0") or "") >= 32
    assert make_token("0.0.0.0") != make_token("0.0.0.0")


def test_hosts_that_are_none_are_refused():
    for host in ("127.0.0.1", "::1", "0.0.0.0", "::", "localhost", "robot-7.example"):
        check_host(host)
    for host in ("", " ", "a b", "http://x", "x/y", "[::1]", "x?y", "me@x"):
        with pytest.raises(UserError, match="neither a name nor an address"):
            check_host(host)


def test_addresses_that_browsers_understand():
    assert name_for_browsers("127.0.0.1") == "127.0.0.1"
    assert name_for_browsers("::1") == "[::1]"
    assert name_for_browsers("0.0.0.0") == name_for_browsers("::") == socket.gethostname()


def test_it_listens_on_the_newer_kind_of_address_too():
    try:
        server = start_server("::1", 0, None)
    except UserError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    try:
        with socket.create_connection(("::1", server.get_port()), timeout=20) as line:
            line.sendall(f"GET / HTTP/1.1\r\nHost: [::1]:{server.get_port()}\r\n\r\n".encode())
            assert line.recv(12) == b"HTTP/1.1 200"
    finally:
        server.stop()


def test_a_server_with_a_token_wants_it(tmp_path):
    server = start_server("127.0.0.1", 0, "secret")
    try:
        port = server.get_port()
        assert get(port)[0] == 403
        assert get(port, "/?token=secret")[0] == 200
        assert get(port, Cookie=f"{COOKIE}=secret")[0] == 200
        with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{port}", subprotocols=protocol())
        with connect(f"ws://127.0.0.1:{port}/?token=secret", subprotocols=protocol()):
            pass
    finally:
        server.stop()


def test_an_address_that_cannot_be_used_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="choose another --port"):
            check_address("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(UserError, match="from 0 to 65535"):
        check_address("127.0.0.1", 70_000)
    with pytest.raises(UserError, match="cannot listen on"):
        check_address("no.such.host.invalid", 80)


PATHS = [
    "../../../etc/passwd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\secret",
    "config.json",
    "elites/elites.json",
    "//etc/passwd",
]


def bad_request(rng):
    """Bytes that somebody might send to a web server."""
    junk = "".join(rng.choices(string.printable, k=rng.randrange(1, 200)))
    path = rng.choice(
        [*PATHS, junk.replace("\r", "").replace("\n", ""), "/" * 5000, "%00", "%zz", "?token=" + "a" * 999]
    )
    return rng.choice(
        [
            f"GET /{path} HTTP/1.1\r\nHost: HERE\r\n\r\n",
            f"GET /{path} HTTP/1.1\r\n\r\n",
            f"{junk}\r\n\r\n",
            f"POST /{path} HTTP/1.1\r\nHost: HERE\r\nContent-Length: 99999999\r\n\r\n{junk}",
            f"GET / HTTP/1.1\r\nHost: HERE\r\nUpgrade: websocket\r\nSec-WebSocket-Key: {junk}\r\n\r\n",
            f"GET / HTTP/9.9\r\nHost: HERE\r\n{junk}\r\n\r\n",
            "GET / HTTP/1.1\r\n" + "A: b\r\n" * 500 + "\r\n",
            "\x16\x03\x01\x00\x01",
        ]
    )


def bad_message(rng):
    """What somebody might send over a websocket: senseless bytes, or viser's own messages with senseless contents."""
    import msgspec

    junk = rng.choice([None, -1, 10**12, float("nan"), "x" * 1000, [], {}, [[]] * 50, "3,4", {"value": None}])
    kind = rng.choice(
        ["GuiUpdateMessage", "SceneNodeClickMessage", "ShareUrlRequest", "ViewerCameraMessage", "Nothing"]
    )
    fields = {"type": kind, "uuid": junk, "updates": junk, "name": "/archive", "instance_index": junk, "position": junk}
    return rng.choice(
        [rng.randbytes(rng.randrange(0, 300)), "text", msgspec.msgpack.encode(fields), msgspec.msgpack.encode(junk)]
    )


def test_200_malformed_requests_and_messages(explorer, capfd):
    rng, port = random.Random(7), explorer.server.get_port()
    for n in range(200):
        if n % 2:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
                raw.sendall(bad_request(rng).replace("HERE", f"127.0.0.1:{port}").encode("utf-8", "replace"))
                raw.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while part := raw.recv(65536):
                        answer += part
                except ConnectionError:
                    pass
            assert b"root:" not in answer
            assert b'"descriptor_low"' not in answer
            assert b"Traceback" not in answer
        else:
            with connect(f"ws://127.0.0.1:{port}", subprotocols=protocol()) as client:
                try:
                    client.send(bad_message(rng))
                    client.recv(timeout=0.02)
                except (websockets.exceptions.ConnectionClosed, TimeoutError):
                    pass
    assert is_alive(explorer)
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err
    assert "Error" not in said.out + said.err
    before = explorer.playback
    explorer.select(0)
    assert explorer.shown[0].row == 0
    assert explorer.playback is not before


def test_no_tunnel_can_be_asked_for(explorer):
    from viser import _messages

    handlers = explorer.server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers
    assert _messages.ShareUrlDisconnect not in handlers

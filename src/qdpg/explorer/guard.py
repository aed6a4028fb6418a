"""A viser server that only talks to its own page.

viser answers everybody who reaches its port: any page that is open in the same browser could connect. Here a request
must name this server as its host, a websocket must come from a page of this server, and outside of this machine both
need a token. What makes no sense ends the connection that it came from, and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import http
import io
import ipaddress
import logging
import secrets
import socket
from collections.abc import Iterator
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from qdpg.errors import UserError

COOKIE = "qdpg-token"


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server on `host`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(host: str) -> None:
    """Refuse what is no host.

    Raises:
        UserError: It is empty, which would mean every address of this machine, or holds what a host cannot.
    """
    if not host or any(letter.isspace() or letter in "/?#@[]" for letter in host):
        raise UserError(
            f"--host {host!r} is neither a name nor an address; give one such as 127.0.0.1, ::1 or 0.0.0.0."
        )


def name_for_browsers(host: str) -> str:
    """What stands for `host` in an address: this machine's own name where it listens on all its addresses."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if address.version == 6 else host


def make_token(host: str) -> str | None:
    """A token for a server that others can reach, or None."""
    return None if is_local(host) else secrets.token_urlsafe(24)


def refuse(headers: dict[str, str], path: str, port: int, token: str | None) -> str | None:
    """Why a request is refused, or None.

    Args:
        headers: Its headers; names in lower case.
        path: Its path with the query.
        port: Of the server.
        token: What it must hold, in the query or in a cookie; None on this machine only.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if token is None and host not in {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}:
        return "another host"
    if origin is not None and urlsplit(origin).netloc != host:
        return "another origin"
    is_websocket = headers.get("upgrade", "").lower() == "websocket"
    if is_websocket and origin is None and token is None:
        return None  # no browser: browsers always say where a websocket comes from
    if token is not None and not (_same(token, _from_query(path)) or _same(token, _from_cookie(headers))):
        return "no token"
    return None


def _same(token: str, given: str) -> bool:
    return hmac.compare_digest(token.encode(), given.encode())


def _from_query(path: str) -> str:
    try:
        return parse_qs(urlsplit(path).query).get("token", [""])[0]
    except ValueError:
        return ""


def _from_cookie(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def start_server(host: str, port: int, token: str | None) -> Any:
    """Start viser behind the guard; return its `ViserServer`.

    Raises:
        UserError: The address cannot be used, or viser is not installed.
    """
    try:
        import viser
        from viser import _messages
    except ImportError:
        raise UserError(
            'the explorer needs viser and mjviser; install them with `pip install "qdpg[explore]"`.'
        ) from None
    check_address(host, port)
    with _guarded(token), contextlib.redirect_stdout(io.StringIO()):  # it would print a table
        server = viser.ViserServer(host, port, label="qdpg", verbose=False)
    # A page could ask viser to open a public tunnel to this machine.
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)
    server.get_event_loop().set_exception_handler(lambda loop, context: None)  # a senseless message, already dropped
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    return server


def check_address(host: str, port: int) -> None:
    """Try the address first: viser would look for another port, or for ever.

    Raises:
        UserError: It cannot be used.
    """
    if not 0 <= port < 2**16:
        raise UserError(f"the port is {port}, but must be from 0 to 65535.")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise UserError(
            f"cannot listen on {host}:{port} ({error.strerror or error}); choose another --port."
        ) from error


@contextlib.contextmanager
def _guarded(token: str | None) -> Iterator[None]:
    """While a viser server starts, put the guard between it and the library that listens; it has no other place."""
    import websockets.asyncio.server as library

    original = library.serve
    quiet = logging.getLogger("qdpg.explorer")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False

    def serve(handler: Any, *arguments: Any, process_request: Any, **options: Any) -> Any:
        answer = functools.partial(_answer, process_request, token)
        return original(
            functools.partial(_handle, handler), *arguments, process_request=answer, logger=quiet, **options
        )

    library.serve = serve
    try:
        yield
    finally:
        library.serve = original


async def _handle(handler: Any, connection: Any) -> None:
    with contextlib.suppress(Exception):  # the connection that it came from is closed
        await handler(connection)


def _answer(original: Any, token: str | None, connection: Any, request: Any) -> Any:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    def plain(status: http.HTTPStatus) -> Response:
        body = f"{status.phrase}\n".encode()
        headers = Headers({"Content-Type": "text/plain", "Content-Length": str(len(body)), "Connection": "close"})
        return Response(status, status.phrase, headers, body)

    try:
        headers = {name.lower(): value for name, value in request.headers.raw_items()}
        if refuse(headers, request.path, connection.local_address[1], token) is not None:
            return plain(http.HTTPStatus.FORBIDDEN)
        response = original(connection, request)
    except Exception:  # whatever somebody made up
        return plain(http.HTTPStatus.BAD_REQUEST)
    if response is not None:
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        if token is not None:
            response.headers["Set-Cookie"] = f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
    return response

"""The application on waitress, which stops without losing a request."""

import logging
import socket
from time import time

from sklearn_shag.service._requests import SKIPPED
from sklearn_shag.utils._messages import import_optional


class AppServer:
    """A server of an application on waitress, whose internals of one major version it uses.

    Parameters
    ----------
    app : ParserApp
    host : str
    port : int
        0 for any that is free.
    threads : int
        How many requests are answered at once.

    Attributes
    ----------
    port : int
        Where it listens from now on.

    Raises
    ------
    ImportError
        If waitress is not installed.
    OSError
        If it cannot listen there, as where another program does.
    """

    def __init__(self, app, host, port, threads):
        waitress = import_optional("waitress", "service", "serve")
        if port not in range(2**16):  # `create_server` would leave its socket open
            raise OSError(f"The server cannot listen at {host}:{port}: the port must be 0-65535.")
        try:
            listening = socket.create_server((host, port))
        except OSError as error:
            raise OSError(f"The server cannot listen at {host}:{port}: {error.strerror}") from None
        logging.getLogger("waitress").setLevel(logging.ERROR)  # not of clients that leave
        self._server = waitress.create_server(
            app,
            sockets=[listening],
            threads=threads,
            ident=None,
            connection_limit=500,
            channel_timeout=30,  # seconds after which a silent one is closed
            cleanup_interval=1,
            log_socket_errors=False,
            recv_bytes=2**16,
            max_request_body_size=SKIPPED * app.max_bytes,
        )
        self.port, self._stops = int(self._server.effective_port), False

    def stop(self, *signal_and_frame):
        """Let the server answer all requests that have come, and end; a second time, end it."""
        if self._stops:
            raise KeyboardInterrupt
        self._server.pull_trigger()  # wakes the loop
        self._stops = True

    def run(self):
        """Answer requests until the server is told to stop."""
        while not self._stops:
            self._turn()
        self._drain()
        self._server.task_dispatcher.shutdown()
        self._server.close()

    def _turn(self):
        """Wait for connections for a second at most, and let waitress read and write."""
        self._server.asyncore.loop(timeout=1.0, map=self._server._map, count=1)

    def _drain(self):
        """Close the port, drop requests that are half sent, and answer all others."""
        server, channels = self._server, self._server.active_channels
        # Accepts connections and reads all that has come, without waiting for more.
        server.asyncore.loop(timeout=0.0, map=server._map, count=100)
        server.asyncore.dispatcher.close(server)
        while channels:
            server.maintenance(time())  # closes connections that do not take their answers
            for channel in channels.values():
                channel.will_close |= not (channel.requests or channel.total_outbufs_len)
            self._turn()

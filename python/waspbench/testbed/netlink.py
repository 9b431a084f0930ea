"""The few rtnetlink requests that a testbed makes (rtnetlink(7)), and nothing more.

A library would do; this is all that is needed of one, and the holder starts in a fraction of the time.
"""

import ipaddress
import os
import socket
import struct

from waspbench.closeable import Closeable

NLMSG_ERROR = 2
NLM_F_REQUEST = 0x001
NLM_F_ACK = 0x004
NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
SOL_NETLINK = 270
NETLINK_CAP_ACK = 10
NETLINK_EXT_ACK = 11
NLMSGERR_ATTR_MSG = 1

RTM_NEWLINK = 16
RTM_NEWADDR = 20
RTM_NEWROUTE = 24

IFF_UP = 0x1
IFLA_MTU = 4
IFLA_TXQLEN = 13
IFA_ADDRESS = 1
IFA_LOCAL = 2
RTA_DST = 1
RTA_OIF = 4
RTA_PREFSRC = 7
RTA_METRICS = 8
RTAX_LOCK = 1
RTAX_RTT = 4
RTAX_RTTVAR = 5
RTAX_SSTHRESH = 6
RTAX_REORDERING = 9
RTAX_CC_ALGO = 16
CACHED_METRICS = (RTAX_RTT, RTAX_RTTVAR, RTAX_SSTHRESH, RTAX_REORDERING)
"""What the kernel remembers of a connection for the next one with the same peer."""
RT_TABLE_MAIN = 254
RT_TABLE_LOCAL = 255
RTPROT_STATIC = 4
RT_SCOPE_UNIVERSE = 0
RT_SCOPE_LINK = 253
RT_SCOPE_HOST = 254
RTN_UNICAST = 1
RTN_LOCAL = 2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NetlinkError(OSError):
    """The kernel refused a request; `strerror` carries its own explanation when it gave one."""


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute (struct nlattr), padded to four bytes."""
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (-length % 4)


def family(address: Address | Network) -> int:
    """The address family of an address or a network."""
    return socket.AF_INET if address.version == 4 else socket.AF_INET6


class Netlink(Closeable):
    """A routing socket of the current network namespace. Use as a context manager, from one thread."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK):
            self._socket.setsockopt(SOL_NETLINK, option, 1)
        self._sequence = 0

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def set_link(
        self, index: int, *, mtu: int | None = None, queue_length: int | None = None, up: bool = False
    ) -> None:
        """Sets MTU (bytes), transmit queue length (packets) and state of a device.

        Raises:
            NetlinkError: the kernel refuses.
        """
        flags = IFF_UP if up else 0
        body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, flags, flags)
        if mtu is not None:
            body += attribute(IFLA_MTU, struct.pack("=I", mtu))
        if queue_length is not None:
            body += attribute(IFLA_TXQLEN, struct.pack("=I", queue_length))
        self._request(RTM_NEWLINK, 0, body)

    def add_address(self, index: int, address: Address) -> None:
        """Gives a device one address, with no network around it.

        Raises:
            NetlinkError: the kernel refuses.
        """
        body = struct.pack("=BBBBI", family(address), address.max_prefixlen, 0, RT_SCOPE_UNIVERSE, index)
        body += attribute(IFA_LOCAL, address.packed) + attribute(IFA_ADDRESS, address.packed)
        self._request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, body)

    def add_route(
        self, index: int, network: Network, source: Address | None, congestion: str | None, *, forget: bool = False
    ) -> None:
        """Routes a network to a device. `congestion` names the congestion control of the connections on it; with
        `forget` the kernel keeps no metrics of them for later ones.

        Raises:
            NetlinkError: the kernel refuses.
        """
        scope = RT_SCOPE_LINK if network.version == 4 else RT_SCOPE_UNIVERSE
        body = _route(index, network, RT_TABLE_MAIN, scope, RTN_UNICAST)
        if source is not None:
            body += attribute(RTA_PREFSRC, source.packed)
        metrics = b""
        if congestion is not None:
            metrics += attribute(RTAX_CC_ALGO, congestion.encode() + b"\0")
        if forget:
            # A locked metric without a value is neither stored nor used (net/ipv4/tcp_metrics.c). A congestion window
            # is used only where it is locked, as a limit: it must not be.
            metrics += attribute(RTAX_LOCK, struct.pack("=I", sum(1 << metric for metric in CACHED_METRICS)))
        if metrics:
            body += attribute(RTA_METRICS, metrics)
        self._request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, body)

    def add_local(self, index: int, network: Network) -> None:
        """Makes every address of a network one of this namespace's own, on a device.

        Raises:
            NetlinkError: the kernel refuses.
        """
        body = _route(index, network, RT_TABLE_LOCAL, RT_SCOPE_HOST, RTN_LOCAL)
        self._request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, body)

    def _request(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        header = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_ACK | flags, self._sequence, 0)
        self._socket.send(header + body)
        raise_refusal(self._socket.recv(65536))


def _route(index: int, network: Network, table: int, scope: int, kind: int) -> bytes:
    """A route to a network by a device (struct rtmsg and its first attributes)."""
    head = struct.pack("=BBBBBBBBI", family(network), network.prefixlen, 0, 0, table, RTPROT_STATIC, scope, kind, 0)
    destination = attribute(RTA_DST, network.network_address.packed)
    return head + destination + attribute(RTA_OIF, struct.pack("=I", index))


def raise_refusal(answer: bytes) -> None:
    """Reads an acknowledgement (struct nlmsgerr) and raises what it refuses.

    Raises:
        NetlinkError: the acknowledgement carries an error.
    """
    length, kind, _, _, _ = struct.unpack_from("=IHHII", answer)
    if kind != NLMSG_ERROR:
        raise NetlinkError(0, f"netlink answered with message type {kind}, not with an acknowledgement")
    (code,) = struct.unpack_from("=i", answer, 16)
    if code == 0:
        return
    explanation = os.strerror(-code)
    offset = 16 + 4 + 16  # after the answer's header, the error and the request's header
    while offset + 4 <= length:
        size, attribute_kind = struct.unpack_from("=HH", answer, offset)
        if size < 4:
            break
        if attribute_kind == NLMSGERR_ATTR_MSG:
            explanation += f" ({answer[offset + 4 : offset + size].rstrip(bytes(1)).decode(errors='replace')})"
        offset += size + (-size % 4)
    raise NetlinkError(-code, explanation)

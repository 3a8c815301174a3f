"""Connections that are made to public addresses only.

An address that a stranger chooses could otherwise lead to this machine, to its network, or to the
metadata service of a cloud, which all trust requests from here.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import anyio

_STARTED, _COMPLETE = ".connect_tcp.started", ".connect_tcp.complete"
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052
_IPV4 = 0xFFFFFFFF
# Metadata services of clouds that `is_global` takes for hosts on the Internet: Oracle's, in the
# addresses of protocols, which older versions of Python lack, and Azure's.
_METADATA = IPv4Network("192.0.0.0/24"), IPv4Network("168.63.129.16/32")


class PrivateAddressError(Exception):
    """A host has an address that is not public."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.host = host


def is_public(address: str) -> bool:
    """Return whether an IP address is that of a host on the Internet.

    Not public are loopback, private, link-local, shared, multicast and reserved addresses, and
    addresses of metadata services, even if an IPv6 address contains them.
    """
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        is_translated = found in _NAT64
        inner = IPv4Address(int(found) & _IPV4) if is_translated else found.ipv4_mapped
        found = inner or found.sixtofour or found
    if any(found in network for network in _METADATA):
        return False
    is_of_site = isinstance(found, IPv6Address) and found.is_site_local
    return found.is_global and not (found.is_multicast or found.is_reserved or is_of_site)


async def public_only(event: str, details: dict[str, Any]) -> None:
    """Refuse connections to addresses that are not public, as the extension `trace` of httpx.

    Addresses are checked before a connection, so that nothing of another network is reached, and
    once there is one, because a name can have another address when it is resolved again.

    Raises:
        PrivateAddressError: The host has such an address.
    """
    if event.endswith(_STARTED):
        host = details["host"]
        try:
            found = await anyio.getaddrinfo(host, details["port"])
        except (OSError, UnicodeError):
            return  # the connection fails in the same way
        if not all(is_public(str(one[4][0])) for one in found):
            raise PrivateAddressError(host)
    elif event.endswith(_COMPLETE):
        stream = details["return_value"]
        peer = stream.get_extra_info("server_addr")
        if not is_public(peer[0]):
            await stream.aclose()
            raise PrivateAddressError(peer[0])

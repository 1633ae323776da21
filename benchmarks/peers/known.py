"""Every peer, in the order of the tables."""

from benchmarks.peers import (
    agnix,
    dbos,
    fastmcp,
    fts5,
    langgraph,
    metier,
    skillport,
    skills_ref,
    skillsaw,
)
from benchmarks.peers.protocol import Peer

METIER = metier.PEER
PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        METIER,
        fts5.PEER,
        skillport.PEER,
        fastmcp.PEER,
        agnix.PEER,
        skillsaw.PEER,
        skills_ref.PEER,
        langgraph.PEER,
        langgraph.AS_SHIPPED,
        dbos.PEER,
    )
}

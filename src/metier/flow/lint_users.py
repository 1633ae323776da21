"""What `metier lint` leaves out without --user, as the catalog knows it."""

from contextlib import closing

from metier.errors import StoreError
from metier.flow.boundary import Boundary
from metier.index.documents import count_of_user
from metier.index.store import Store
from metier.storage.places import state_room
from metier.storage.workspace import CATALOG_FILE, RESTRICTED_FILE


def known_of_user(boundary: Boundary) -> int:
    """How many files of the user's folders the catalog knows; 0 if there is no catalog to ask."""
    name = CATALOG_FILE if boundary.trust.is_trusted else RESTRICTED_FILE
    room = state_room(boundary.workspace)
    if not boundary.config.is_workspace or room.info(name) is None:
        return 0
    try:
        with closing(Store.read_only(room.file(name))) as store:
            return count_of_user(store)
    except StoreError:
        return 0

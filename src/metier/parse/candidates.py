"""What the catalogue knows of a skill → `Candidate`."""

from collections.abc import Mapping
from typing import Any

from metier.core.coerce import capability_names, mapping_of
from metier.errors import ContractError
from metier.parse.contract import parse_contract
from metier.values.candidates import Candidate


def candidate_of(
    name: str, folder: str, source: str, data: Mapping[str, Any], description: str = ""
) -> Candidate:
    """The candidate that a skill is; `data` is its front matter beyond name and description.

    The description may stay away where the catalogue knows its stems.
    """
    if not data:
        return Candidate(name, description, folder, source)
    nested = mapping_of(data.get("metadata"))
    listed = [one for one in capability_names(data.get("capabilities")) if one is not None]
    further = [one for one in capability_names(nested.get("capabilities")) if one is not None]
    listed += [one for one in further if one not in set(listed)]
    contract, problem = None, ""
    text = nested.get("contract")
    if isinstance(text, str):
        try:
            contract = parse_contract(text, "best-effort")
        except ContractError as error:
            problem = f"{error.message} ({error.where})"
    elif text is not None:
        problem = "it is not a text"
    return Candidate(
        name=name,
        description=description,
        folder=folder,
        source=source,
        listed=tuple(listed),
        contract=contract,
        contract_problem=problem,
        compatibility=_compatibility(data.get("compatibility")),
    )


def _compatibility(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ""

"""Python functions that the settings name: `[tools.NAME] function = "package.module:name"`."""

import importlib.util
import json
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier import Catalog, ConfigError, ModelReply
from metier.config import read_settings
from metier.config.described import described
from metier.errors import TrustError
from metier.flow.boundary import power_set
from metier.run.models import ScriptedModel
from metier.values.models import ToolCall
from metier.values.runs import RunResult

MODULE = '''
"""Prices of things."""
from shop.data import PRICES

def price(thing: str) -> int:
    """The price of a thing."""
    return PRICES[thing]

NOT_A_FUNCTION = 3
'''


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] == "shop":
            del sys.modules[name]


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    workspace.write("src/shop/__init__.py", "")
    workspace.write("src/shop/data.py", "PRICES = {'tea': 3}\n")
    workspace.write("src/shop/prices.py", MODULE)
    profile = {"agentId": "seller", "description": "Sells things.", "tools": ["price"]}
    workspace.write("agents/seller.json", json.dumps(profile))
    _settings(workspace)
    return workspace


def _settings(workspace: Workspace, **changed: str) -> None:
    entry = {"function": "shop.prices:price", "folder": "src", **changed}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    workspace.write("metier.toml", f"[tools.price]\n{lines}")


def _sell(workspace: Workspace, *, consent: bool = True) -> tuple[RunResult, ScriptedModel]:
    call = ModelReply("", [ToolCall("1", "price", {"thing": "tea"})])
    model = ScriptedModel([call, "It costs 3."])
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        catalog.agency.consent |= {"price"} if consent else set()
        return catalog.run_sync("seller", "how much is tea?", model=model), model


def _answer(model: ScriptedModel) -> str:
    return model.requests[1].messages[-1].text


def test_an_agent_calls_a_function_that_the_settings_name(shop: Workspace) -> None:
    shop.trust()
    result, model = _sell(shop)
    assert (result.state, result.output, _answer(model)) == ("succeeded", "It costs 3.", "3")
    (spec,) = model.requests[0].tools
    assert (spec.name, spec.description) == ("price", "The price of a thing.")
    assert spec.parameters["required"] == ["thing"]


def test_a_misspelt_function_is_hinted_at_before_any_is_loaded(shop: Workspace) -> None:
    profile = {"agentId": "seller", "description": "Sells things.", "tools": ["prize"]}
    shop.write("agents/seller.json", json.dumps(profile))
    shop.trust()
    result, model = _sell(shop)
    assert (result.errors[0].hint, model.requests) == ("did you mean 'price'?", [])


def test_a_function_needs_consent_like_a_command(shop: Workspace) -> None:
    shop.trust()
    _, model = _sell(shop, consent=False)
    assert "TOOL_PERMISSION_DENIED" in _answer(model)
    assert "shop.prices" in sys.modules


def test_nothing_is_imported_in_a_workspace_that_is_not_trusted(shop: Workspace) -> None:
    with pytest.raises(TrustError):
        _sell(shop)
    assert "shop" not in sys.modules


@pytest.mark.parametrize("changed", ["src/shop/prices.py", "src/shop/__init__.py"])
def test_a_module_that_changed_since_it_was_trusted_is_not_imported(
    shop: Workspace, changed: str
) -> None:
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        shop.write(changed, f"{MODULE}\nEVIL = True\n")
        with pytest.raises(TrustError, match="has changed"):
            catalog.run_sync("seller", "x")
    assert "shop" not in sys.modules


def test_compiled_files_in_the_workspace_are_not_read(shop: Workspace) -> None:
    source = shop.root / "src/shop/prices.py"
    cached = Path(importlib.util.cache_from_source(str(source)))
    code = compile("def price(thing: str) -> int:\n    return 666\n", "prices", "exec")
    flags = (0b01).to_bytes(4, "little")  # by the hash of the source, which nobody checks
    raw = importlib.util.MAGIC_NUMBER + flags + bytes(8) + marshal.dumps(code)
    shop.write(str(cached.relative_to(shop.root)), raw)
    shop.trust()
    assert _answer(_sell(shop)[1]) == "3"


def test_an_agent_that_does_not_name_the_function_does_not_import_it(shop: Workspace) -> None:
    _settings(shop, function="no.such.module:x")
    shop.write("agents/other.json", json.dumps({"agentId": "other", "description": "Sells no."}))
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert catalog.run_sync("other", "x", model=ScriptedModel(["ok"])).success


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("no.such.module:price", "ModuleNotFoundError"),
        ("shop.prices:nothing", "AttributeError"),
        ("shop.prices:NOT_A_FUNCTION", "not callable"),
        ("shop.broken:price", "ZeroDivisionError"),
        ("shop.leaving:price", "SystemExit"),
    ],
)
def test_a_function_that_cannot_be_used_fails_before_anything_is_sent(
    shop: Workspace, function: str, why: str
) -> None:
    shop.write("src/shop/broken.py", "1 / 0\n")
    shop.write("src/shop/leaving.py", "raise SystemExit(0)\n")
    _settings(shop, function=function)
    shop.trust()
    with pytest.raises(ConfigError, match=why) as raised:
        _sell(shop)
    assert raised.value.code == "TOOL_FUNCTION_FAILED"
    assert raised.value.where == "tools.price"


def test_a_file_of_the_workspace_never_hides_an_installed_module(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    shop.write("src/colorsys.py", "def rgb_to_hsv(): ...\n")
    _settings(shop, function="colorsys:rgb_to_hsv")
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        catalog.agency.tools.load_functions(["price"])
    assert not str(sys.modules["colorsys"].__file__).startswith(str(shop.root))


@pytest.mark.parametrize(
    ("toml", "what"),
    [
        ("[tools.x]\ntimeout = 1\n", "either 'argv' or 'function'"),
        ('[tools.x]\nargv = ["a"]\nfunction = "a:b"\n', "either 'argv' or 'function'"),
        ('[tools.x]\nfunction = "a.b"\n', "package.module:name"),
        ('[tools.x]\nfunction = "a.b:"\n', "package.module:name"),
        ('[tools.x]\nfunction = "../a:b"\n', "package.module:name"),
        ('[tools.x]\nfunction = "a:b"\nstdin = "json"\n', "only beside 'argv'"),
    ],
)
def test_a_setting_is_either_a_command_or_a_function(
    workspace: Workspace, toml: str, what: str
) -> None:
    workspace.write("metier.toml", toml)
    with pytest.raises(ConfigError, match=what):
        workspace.trust()


def test_trust_shows_the_function_and_the_files_that_it_is_read_from(shop: Workspace) -> None:
    powers = power_set(read_settings(str(shop.root)))
    assert ("function", "price: shop.prices:price; in src") in described(powers)
    assert set(powers.files) == {"src/shop/__init__.py", "src/shop/prices.py"}

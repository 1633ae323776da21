"""The settings for runs: models, tools, MCP servers."""

from pathlib import Path

import pytest

from conftest import load_config
from metier.config.setting_lines import where_with_line
from metier.errors import ConfigError
from metier.values.run_settings import ModelOptions


def settings(folder: Path, text: str) -> Path:
    (folder / "metier.toml").write_text(text)
    return folder


def test_without_settings_there_is_nothing_to_call(tmp_path: Path) -> None:
    config = load_config(str(tmp_path), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert (config.models.default, config.tools.commands, config.servers) == ("", (), ())


def test_every_setting_is_read(tmp_path: Path) -> None:
    settings(
        tmp_path,
        """
        [models]
        default = "local:tiny"
        [models.local]
        base-url = "http://127.0.0.1:8080/v1"
        api-key-env = "LOCAL_KEY"
        timeout = 60
        tiny = { input = 1, output = 2.5, context = 4096, retries = 2 }
        [tools]
        allow = ["count"]
        [tools.count]
        argv = ["wc", "-l", "{file}"]
        timeout = 5
        output = "json"
        raw = ["file"]
        [mcp.files]
        command = "files-server"
        args = ["--read-only"]
        [mcp.web]
        url = "http://127.0.0.1:9000/mcp"
        """,
    )
    config = load_config(str(tmp_path), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert config.models.default == "local:tiny"
    local = config.models.providers["local"]
    assert (local.base_url, local.api_key_env) == ("http://127.0.0.1:8080/v1", "LOCAL_KEY")
    assert local.options("tiny") == ModelOptions(60.0, 2, 1.0, 2.5, 4096)
    assert local.options("other") == ModelOptions(timeout=60.0, retries=0)
    assert (config.tools.allow, config.tools.requests) == ((), ("count",))
    (command,) = config.tools.commands
    assert (command.name, command.argv) == ("count", ("wc", "-l", "{file}"))
    assert (command.timeout, command.output, command.raw) == (5, "json", ("file",))
    assert [(one.name, one.command, one.args, one.url) for one in config.servers] == [
        ("files", "files-server", ("--read-only",), ""),
        ("web", "", (), "http://127.0.0.1:9000/mcp"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models = 7", "'models' must be a table"),
        ("models.default = 7", "'models.default' must be a string"),
        ("models.default = 'gpt-5'", "'models.default' must be a model such as openai:gpt-5"),
        (
            "models.retries = 7",
            "'models.retries' must be a table for a provider, such as [models.o",
        ),
        ("models.x.api-key-env = 'sk-abc'", "must be the name of an environment variable, which h"),
        ("models.x.base-ulr = 'a'", "unknown setting 'models.x.base-ulr'"),
        ("models.x.colour = 'a'", "'models.x.colour' must be a table for a model, or one of ba"),
        ("models.x.y.prise = 7", "unknown setting 'models.x.y.prise'"),
        ("models.x.y = {input = 1}", "'models.x.y' must be given both 'input' and 'output'"),
        ("models.x.y = {input = -1, output = 1}", "dollars per million tokens"),
        ("models.x.y.context = 0", "'models.x.y.context' must be from 1 to 1,000,000,000, not 0"),
        ("models.x.retries = 99", "'models.x.retries' must be from 0 to 10"),
        ("models.x.y.timeout = 0", "'models.x.y.timeout' must be a number of seconds above 0"),
        ("tools.allow = 'all'", "'tools.allow' must be a list of strings"),
        ("tools.x = {}", "'tools.x' must be a table with either 'argv' or 'function'"),
        ("tools.x.argv = []", "'tools.x.argv' must be a list of strings"),
        ("tools.x = {argv = ['a'], timeout = 0}", "must be a number of seconds above 0"),
        ("tools.x = {argv = ['a'], timeout = true}", "must be a number of seconds above 0"),
        ("tools.x = {argv = ['a'], schema = 'b'}", "'tools.x.schema' must be a table"),
        ("mcp.x = {}", "either 'command' or 'url'"),
        ("mcp.x = {command = 'a', url = 'b'}", "either 'command' or 'url'"),
        ("mcp.x = {command = 'a', args = [1]}", "'mcp.x.args' must be a list of strings"),
    ],
)
def test_a_wrong_setting_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert said in caught.value.message
    assert caught.value.where.endswith("metier.toml")


@pytest.mark.parametrize(
    ("table", "said", "hint"),
    [
        ("argv = ['a', '{{ name }}']", "'{{ name }}' is no placeholder", "write {name} where"),
        ("argv = ['a', '--to={{name.first}}']", "'{{name.first}}' is no placeholder", "{name}"),
        (
            "argv = ['a', '{{ name | upper }}']",
            "'{{ name | upper }}' is no placeholder",
            "write {name}",
        ),
        ("argv = ['./{a}.sh']", "the program cannot come from an argument", ""),
        (
            "argv = ['a', '{b}']\nschema.properties.b.type = 'string'\nschema.required = ['c']",
            "the argument 'b' may be missing",
            'add required = ["c", "b"] to the schema, or give it a default there',
        ),
        ("argv = ['a', '{b}']\nschema.required = 7", "the argument 'b' may be missing", ""),
    ],
)
def test_a_command_that_no_call_could_start_is_a_wrong_setting(
    table: str, said: str, hint: str, tmp_path: Path
) -> None:
    text = f"[tools.x]\n{table}"
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert f"'tools.x.argv': {said}" in f"{caught.value.message} "
    assert hint in caught.value.hint
    assert where_with_line(caught.value).endswith("metier.toml:2")


@pytest.mark.parametrize("element", ["{{.Names}}", "{{json .State}}", "{name}", "{", "{{", "}}"])
def test_braces_that_a_program_reads_itself_are_allowed(element: str, tmp_path: Path) -> None:
    text = f"[tools.x]\nargv = ['docker', '{element}']"
    environ = {"HOME": str(tmp_path)}
    config = load_config(str(settings(tmp_path, text)), environ=environ, is_trusted=True)
    assert config.tools.commands[0].argv == ("docker", element)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("mcp.x = {comand = 'a'}", "command"),
        ("models.defualt = 'lab:small'", "default"),
        ("models.x.base_url = 'http://127.0.0.1:8080/v1'", "base-url"),
        ("models.x.timeuot = 3", "timeout"),
        ("models.x.y.max_tokens = 3", "max-tokens"),
        ("models.x.y.contxt = 3", "context"),
        ("tools.alow = ['count']", "allow"),
    ],
)
def test_a_misspelt_setting_gets_the_nearest_one_as_a_hint(
    text: str, near: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert caught.value.message.startswith("unknown setting '")
    assert caught.value.hint == f"did you mean '{near}'?"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("models.lab.base-url = 'ftp://x'", "models.lab.base-url"),
        ("models.lab.base-url = 'localhost:8080/v1'", "models.lab.base-url"),
        ("models.lab.base-url = 'https://me:word@host/v1'", "models.lab.base-url"),
        ("encoder = {kind = 'http', model = 'm', url = 'https:///v1'}", "encoder.url"),
    ],
)
def test_what_is_no_address_is_refused_when_it_is_read(text: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert caught.value.setting == key
    assert caught.value.message.startswith(f"'{key}' ")
    assert "word" not in caught.value.message.replace("password", "")


def test_the_name_of_a_model_with_a_dot_has_to_be_quoted(tmp_path: Path) -> None:
    text = "[models.openai.gpt-5.1]\ntimeout = 30\n"
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert caught.value.message == "unknown setting 'models.openai.gpt-5.1'"
    assert caught.value.hint == 'a name with a dot is quoted: [models.openai."gpt-5.1"]'


def test_the_table_of_a_model_that_lies_too_deep_is_put_right(tmp_path: Path) -> None:
    text = '[models.openai.models."gpt-5.1"]\ntimeout = 30\n'
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert caught.value.hint == 'the table of a model is [models.openai."gpt-5.1"]'


def test_a_key_in_place_of_its_variable_is_not_repeated(tmp_path: Path) -> None:
    text = "models.x.api-key-env = 'sk-abc-123'"
    with pytest.raises(ConfigError) as caught:
        load_config(str(settings(tmp_path, text)), environ={"HOME": str(tmp_path)}, is_trusted=True)
    assert "sk-abc" not in str(caught.value)

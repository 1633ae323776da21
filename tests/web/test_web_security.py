"""Who gets in: this user's browser alone; and what hostile requests get."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier.serving.endpoint import Endpoint
from metier.web import security
from metier.web.app import all_pages
from metier.web.markdown import rendered
from metier.web.open_browser import way_in
from web_served import ORIGIN, PORT, Inspected, inspected

STATIC = Path(security.__file__).parent / "static"
HTMX = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
"""SHA-256 of dist/htmx.min.js of the npm package htmx.org 4.0.1."""
HTMX_LICENSE = "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"


@pytest.fixture
def outside(workspace: Workspace) -> Iterator[Inspected]:
    workspace.skill("one")
    with inspected(workspace.root, is_in=False) as made:
        yield made


@pytest.fixture
def inside(outside: Inspected) -> Inspected:
    outside.enter()
    return outside


def test_nothing_is_shown_without_the_cookie(outside: Inspected) -> None:
    for path in ("/", "/overview", "/overview.json", "/catalog", "/do/refresh", "/nothing"):
        found = outside.client.get(path)
        assert found.status_code == 401
        assert "one" not in found.text.split()


def test_the_token_works_once(outside: Inspected) -> None:
    address = f"/enter?token={outside.sessions.token}"
    assert outside.client.head(address).status_code == 403
    entered = outside.client.get(address)
    assert (entered.status_code, entered.text.count("<h1>")) == (200, 1)
    outside.client.cookies.clear()
    again = outside.client.get(address)
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert outside.client.get("/overview").status_code == 401


@pytest.mark.parametrize("token", ["", "wrong", "ü" * 20, "%00", "a" * 5_000])
def test_a_wrong_token_does_not_use_up_the_right_one(outside: Inspected, token: str) -> None:
    assert outside.client.get("/enter", params={"token": token}).status_code == 403
    outside.enter()
    assert outside.client.get("/overview").status_code == 200


def test_the_cookie_is_strict_and_its_name_holds_the_port(outside: Inspected) -> None:
    found = outside.client.get(f"/enter?token={outside.sessions.token}")
    name, *flags = [one.strip().lower() for one in found.headers["set-cookie"].split(";")]
    assert name.startswith(f"metier_{PORT}=")
    assert {"httponly", "samesite=strict", "path=/"} <= set(flags)
    assert outside.sessions.token not in found.headers["set-cookie"]


def test_a_cookie_of_another_server_does_not_count(inside: Inspected) -> None:
    value = inside.client.cookies[f"metier_{PORT}"]
    inside.client.cookies.clear()
    assert (
        inside.client.get("/overview", headers={"Cookie": f"metier_1={value}"}).status_code == 401
    )
    shown = {"Cookie": f"metier_{PORT}={value[:-1]}"}
    assert inside.client.get("/overview", headers=shown).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1:80", "127.0.0.1.evil.example", ""]
)
@pytest.mark.parametrize("path", ["/overview", "/static/style.css", "/enter?token=x"])
def test_only_its_own_names_are_answered(inside: Inspected, host: str, path: str) -> None:
    assert inside.client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"{ORIGIN}/", "file://"],
)
def test_a_request_of_another_origin_is_rejected(inside: Inspected, origin: str) -> None:
    assert inside.client.get("/overview", headers={"Origin": origin}).status_code == 403
    assert inside.post("/do/refresh", origin=origin).status_code == 403


def test_another_name_is_answered_if_it_is_allowed(workspace: Workspace) -> None:
    endpoint = Endpoint(port=PORT, names=["box.example"])
    with inspected(workspace.root, endpoint=endpoint) as made:
        assert made.client.get("/overview", headers={"Host": "box.example"}).status_code == 200
        assert made.client.get("/overview", headers={"Host": "other.example"}).status_code == 421


def test_a_form_changes_something_only_with_its_token_and_origin(inside: Inspected) -> None:
    assert inside.post("/do/refresh").status_code == 303
    assert inside.post("/do/refresh", csrf="").status_code == 403
    assert inside.post("/do/refresh", csrf="0" * 64).status_code == 403
    assert inside.post("/do/refresh", origin="").status_code == 403
    assert inside.client.get("/do/refresh").status_code == 405
    body = {"csrf": inside.csrf}
    as_json = inside.client.post("/do/refresh", json=body, headers={"Origin": ORIGIN})
    assert as_json.status_code == 415
    large = inside.post("/do/refresh", more="x" * security.LARGEST_FORM)
    assert large.status_code == 413


@pytest.mark.parametrize(
    "back",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""],
)
def test_a_form_leads_back_to_pages_of_ours_only(inside: Inspected, back: str) -> None:
    assert inside.post("/do/refresh", back=back).headers["location"] == "/overview"
    assert inside.post("/do/refresh", back="/catalog?kind=card").headers["location"] == (
        "/catalog?kind=card"
    )


def test_every_answer_has_the_strict_headers(inside: Inspected) -> None:
    answers = [
        inside.client.get(f"/{page.name}{end}") for page in all_pages() for end in ("", ".json")
    ]
    answers += [
        inside.client.get(path) for path in ("/", "/nothing", "/static/style.css", "/enter")
    ]
    answers += [
        inside.client.get("/", headers={"Host": "evil.example"}),
        inside.post("/do/refresh"),
    ]
    answers += [inside.client.put("/overview", headers={"Origin": ORIGIN})]
    inside.client.cookies.clear()
    answers += [inside.client.get("/overview")]
    for found in answers:
        for name, value in security.HEADERS.items():
            assert found.headers[name] == value, (found.url, name)
    assert "unsafe" not in security.POLICY
    assert "default-src 'none'" in security.POLICY


def test_the_way_in_is_a_file_of_this_user_alone(workspace: Workspace) -> None:
    with way_in("http://127.0.0.1:1/enter?token=a&b") as file:
        assert file.stat().st_mode & 0o777 == 0o600
        assert "url=http://127.0.0.1:1/enter?token=a&amp;b" in file.read_text()
    assert not file.exists()


def test_the_vendored_script_is_the_one_that_was_published() -> None:
    assert hashlib.sha256((STATIC / "htmx.min.js").read_bytes()).hexdigest() == HTMX
    assert hashlib.sha256((STATIC / "htmx.LICENSE").read_bytes()).hexdigest() == HTMX_LICENSE


def test_templates_have_no_inline_script_or_style() -> None:
    files = list((STATIC.parent / "templates").glob("*.html"))
    assert files
    for file in files:
        text = file.read_text()
        assert " style=" not in text
        assert "<style" not in text
        assert " on" not in [one[:3] for one in text.split("<") if "=" in one[:3]]
        assert "|safe" not in text
        assert "hx-on" not in text
        for part in text.split("<script")[1:]:
            assert part.startswith(' src="/static/')


# Hostile texts


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "handler": '<img src=x onerror="alert(1)">',
    "svg": "<svg onload=alert(1)><script>alert(2)</script></svg>",
    "quote": "\"'><b>x</b>",
    "template": "{{ 7 * 7 }} {% raw %}",
    "bidi": "safe \u202e txet \u2066 \u200b hidden \U000e0041",
    "attribute": '" hx-get="/do/refresh" hx-trigger="load" evil="',
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("hostile")
        patch.setenv("HOME", str(folder))
        root = folder / "workspace"
        (root / ".git").mkdir(parents=True)
        made = Workspace(root)
        for name, text in HOSTILE.items():
            made.write(
                f"skills/{name}/SKILL.md",
                f"---\nname: {name}\ndescription: |\n  review {text}\nlicense: |\n  {text}\n"
                f"metadata:\n  owner: {text!r}\n---\n# {text}\n\n{text}\n\n"
                "[link](javascript:alert(1)) [data](data:text/html,x) ![i](https://evil.example/x)\n"
                "\n```\n</code></pre><script>alert(3)</script>\n```\n",
            )
        made.write(
            "skills/huge/SKILL.md", f"---\nname: huge\ndescription: {'review ' * 140_000}\n---\nx"
        )
        with inspected(root) as served:
            yield served


ADDRESSES = [
    "/overview",
    "/which?task=review+%3Cscript%3Ealert(1)%3C%2Fscript%3E&expect=script",
    "/catalog",
    "/catalog?search=%3Cscript%3Ealert(1)%3C%2Fscript%3E&kind=%22%3E%3Cscript%3E",
    *(f"/document?kind=skill&id={name}" for name in [*HOSTILE, "huge"]),
    "/document?kind=skill&id=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/%3Cscript%3E",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_hostile_texts_are_shown_and_do_nothing(hostile: Inspected, address: str) -> None:
    text = hostile.client.get(address).text
    for bad in ("<script>alert", "<img src=x", "<svg onload", "<b>x</b>", 'href="javascript:'):
        assert bad not in text
    assert 'href="data:' not in text
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert "\U000e0041" not in text
    assert ' evil="' not in text
    assert len(text) < 2_000_000


def test_hostile_texts_are_escaped_in_json(hostile: Inspected) -> None:
    found = hostile.client.get("/document.json?kind=skill&id=bidi")
    assert found.headers["content-type"] == "application/json"
    assert "\u202e" not in found.text
    assert "\u202e" in found.json()["description"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))"),
        ("[a](JaVaScRiPt:alert(1))", "[a](JaVaScRiPt:alert(1))"),
        ("[a](data:text/html,x)", "a (data:text/html,x)"),
        ("[a](//evil)", "a (//evil)"),
        ("[a](vbscript:x)", "a (vbscript:x)"),
        ("[a](https://ok\u202e.example)", "a (https://ok\\u202e.example)"),
        ("<a href='javascript:x'>y</a>", "<a href='javascript:x'>y</a>"),
        ("[a](file:///etc)", "a (file:///etc)"),
    ],
)
def test_only_links_to_the_web_are_links(text: str, shown: str) -> None:
    assert "<a " not in rendered(text)
    assert rendered(text).striptags() == shown


def test_a_link_to_the_web_shows_where_it_leads() -> None:
    found = rendered('[good.example](https://evil.example/"onclick="x)')
    assert "(evil.example)" in found
    assert "onclick=" not in found.replace("&quot;onclick=&quot;", "")


def test_markdown_takes_time_in_proportion_to_its_length() -> None:
    for unit in (
        "[",
        "[a](",
        "*a",
        "**",
        "`a``",
        "> ",
        "- a\n",
        "|-",
        "_a ",
        "#",
        "~~~\n",
        " - a\n  - b\n",
        "- a\n\n",
        "    a\n\n",
    ):
        assert len(rendered(unit * (200_000 // len(unit)))) < 10_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "1. a\n   - b\n   - c\n2. d\n",
            '<ol><li value="1">a<ul><li>b</li><li>c</li></ul></li><li value="2">d</li></ol>',
        ),
        ("- a\n\n  b\n- c\n", "<ul><li>a<p>b</p></li><li>c</li></ul>"),
        (
            "1. run:\n   ```sh\n   ls <x>\n   ```\n",
            '<ol><li value="1">run:<pre><code>ls &lt;x&gt;</code></pre></li></ol>',
        ),
        ("- a\nmore\n\nend\n", "<ul><li>a\nmore</li></ul>\n<p>end</p>"),
        ("- a\n1. b\n", '<ul><li>a</li></ul>\n<ol><li value="1">b</li></ol>'),
        (
            "x\n\n    ## y\n    - z\n\nend",
            "<p>x</p>\n<pre><code>## y\n- z</code></pre>\n<p>end</p>",
        ),
        ("\t<b>\n", "<pre><code>&lt;b&gt;</code></pre>"),
    ],
)
def test_lists_nest_and_indented_text_is_code(text: str, expected: str) -> None:
    assert rendered(text) == expected

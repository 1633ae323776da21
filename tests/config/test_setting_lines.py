"""Where a settings file names a setting."""

import pytest

from metier.config.setting_lines import setting_position

TEXT = """\
# teams: "../out"
disabled = ["name"]

[models.a]
name = "one"

[teams.'../out']
owner-name = "x"
name = 1  # name
"""


@pytest.mark.parametrize(
    ("setting", "position"),
    [
        ("disabled", (2, 1)),
        ("models.a.name", (5, 1)),
        ('teams."../out"', (7, 9)),
        ('teams."../out".name', (9, 1)),
        ('teams."../out".other', (7, 9)),
        ("mounts[2].path", None),
    ],
)
def test_a_setting_is_found_behind_the_tables_around_it(
    setting: str, position: tuple[int, int] | None
) -> None:
    assert setting_position(setting, TEXT) == position

"""What a fitted model says of a task."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from metier.core.learned import MOST_DOCUMENTS, Model, grams
from metier.core.terms import plain_words
from metier.core.word_table import shipped_table
from metier.index.fitting import Fitted, Lesson, fit

TASKS = {
    0: ["book a table for two", "reserve a table tonight", "is there a free table"],
    1: ["what is my balance", "how much money do I have", "show my account balance"],
    2: ["play some jazz", "put on a song", "I want to hear music"],
}


def lesson(text: str, place: int) -> Lesson:
    table = shipped_table()
    assert table is not None
    vector = table.vector(plain_words(text))
    return Lesson(grams(text), array("h", vector) if vector else None, place)


def lessons(tasks: dict[int, list[str]]) -> list[Lesson]:
    return [lesson(text, place) for place, texts in tasks.items() for text in texts]


def model_of(fitted: Fitted, documents: int) -> Model:
    rows = [memoryview(row.tobytes()).cast("h") for row in fitted.directions]
    is_logistic = documents <= MOST_DOCUMENTS
    return Model(range(documents), fitted.mean, rows, fitted.unknown, fitted.scale, is_logistic)


def chances(fitted: Fitted, documents: int, task: str) -> dict[int, float]:
    table = shipped_table()
    assert table is not None
    words = {gram: (one[0], memoryview(one[1]).cast("h")) for gram, one in fitted.words.items()}
    vector = table.vector(plain_words(task))
    return model_of(fitted, documents).chances(grams(task), words, vector)


def test_grams_are_words_with_stop_words_then_pairs_each_once() -> None:
    assert grams("the HTTPServer, the end") == [
        "the", "http", "server", "end", "the http", "http server", "server the", "the end",
    ]  # fmt: skip


def test_a_task_like_the_examples_of_a_document_belongs_to_it() -> None:
    fitted = fit(lessons(TASKS), 3)
    for place, task in enumerate(
        ["reserve a table for tomorrow", "show me my balance", "play a song"]
    ):
        found = chances(fitted, 3, task)
        assert max(found, key=lambda key: found[key]) == place
        assert found[place] > 0.3


def test_a_task_that_no_example_is_like_belongs_to_none() -> None:
    found = chances(fit(lessons(TASKS), 3), 3, "compile the kernel with debug symbols")
    assert max(found.values()) < 0.3


def test_a_negative_example_lowers_the_chance() -> None:
    before = chances(fit(lessons(TASKS), 3), 3, "play the video")[2]
    against = [lesson("play the video", -1), lesson("play this video again", -1)]
    after = chances(fit([*lessons(TASKS), *against], 3), 3, "play the video")[2]
    assert after < before


def test_one_document_alone_has_a_chance_too() -> None:
    nothing = [lesson("thanks, go on", -1)]
    fitted = fit([*lessons({0: TASKS[0]}), *nothing], 1)
    assert chances(fitted, 1, "reserve a table")[0] > 0.3
    assert chances(fitted, 1, "thanks, go on")[0] < 0.2


def test_beyond_the_most_documents_the_nearest_mean_example_wins() -> None:
    many = MOST_DOCUMENTS + 1
    tasks = {place: [f"word{place} thing{place}", f"word{place}"] for place in range(many)}
    found = chances(fit(lessons(tasks), many), many, "the word7 thing7")
    assert max(found, key=lambda key: found[key]) == 7


def test_a_task_without_words_has_no_chances() -> None:
    assert chances(fit(lessons(TASKS), 3), 3, "!?") == {}


@given(st.text(max_size=200))
def test_chances_are_shares_that_leave_something_for_nothing(task: str) -> None:
    found = chances(_FITTED, 3, task)
    assert all(0 <= chance <= 1 for chance in found.values())
    assert sum(found.values()) <= 1.00001


_FITTED = fit(lessons(TASKS), 3)


def test_examples_in_another_script_count() -> None:
    tasks = {0: ["预订 餐厅 座位", "订一张桌子"], 1: ["播放 音乐", "放一首歌"]}
    found = chances(fit(lessons(tasks), 2), 2, "预订座位")
    assert found[0] > found[1]

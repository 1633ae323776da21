"""The parts of `tools/make_word_table.py`: texts → encoder → fit → pack."""

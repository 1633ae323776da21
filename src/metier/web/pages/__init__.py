"""The pages. To add one, write two files; nothing else changes.

1. `pages/NAME.py` with a function that takes a `View` and returns the page's data (a mapping of
   JSON values, or of values with `to_json`), and `PAGES = [Page(name=…, title=…, build=…)]`.
   `group` puts it into the sidebar, `order` says where; `command` returns the arguments of the
   command that prints the same; `computes` is for pages that may take long; `is_cached` is for
   pages that depend on the catalog and the query alone. For parts of a page there is
   `view.cached(key, make)`.
2. `templates/NAME.html`, which extends `base.html` and shows `data` in its block `content`.
   Everything is escaped. `address("page", name=value)` makes links, `table(data.rows)` shows a
   `table_of(view, columns, rows)`, and `bar`, `stacked` and `columns` draw. No inline script, no
   `style` attribute: the policy forbids both.

The page is at `/NAME`, its data at `/NAME.json`. Forms that change something post to an `Action`,
listed in `ACTIONS`, at `/do/NAME`, with the hidden field `csrf_name` = `csrf`. Forms that begin a
run are listed in `STARTS`, server-sent events of a live page in `STREAMS`. Tests of all pages
run for yours, too; write its own in `tests/web/test_page_NAME.py`.
"""

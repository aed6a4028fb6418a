from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

from qdpg.report.tables import Table, to_csv, to_html, to_markdown

NASTY = "<script>alert('x')</script> & a|b *c* \\ `d`\nnext"
TABLE = Table("t", "T", ["name", "value"], [[NASTY, "1"]], [{"name": NASTY, "value": 0.1 + 0.2, "none": float("nan")}])


def test_csv_is_read_back_exactly() -> None:
    (record,) = csv.DictReader(io.StringIO(to_csv(TABLE)))
    assert record["name"] == NASTY
    assert float(record["value"]) == 0.1 + 0.2
    assert record["none"] == ""


def test_html_shows_every_text_as_it_is() -> None:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td")

        def handle_data(self, data: str) -> None:
            found.append(data)

    Reader().feed(to_html(TABLE))
    assert NASTY in found


def test_markdown_stays_one_table() -> None:
    head, rule, row = to_markdown(TABLE).splitlines()
    assert head == "| name | value |"
    assert rule == "| --- | ---: |"
    assert row.replace("\\|", "").count("|") == 3, "bars inside cells are escaped"
    assert "\\<script\\>" in row
    assert "\\*c\\*" in row

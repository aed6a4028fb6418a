"""A real browser for tests, or the reason why there is none."""

import contextlib
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # no GPU


def find_browser():
    """The path of Chromium; skips the test if there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium on this machine: `apt-get install chromium` (.ci/run does where it may)")
    return found


@contextlib.contextmanager
def open_page(address, **options):
    """A page, and the list of errors that it reports."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(SOFTWARE))
        try:
            context = browser.new_context(viewport={"width": 800, "height": 500}, **options)
            page, errors = context.new_page(), []
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(address)
            yield page, errors
        finally:
            browser.close()

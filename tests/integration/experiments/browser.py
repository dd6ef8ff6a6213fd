"""A page in a real browser without a network: Chromium, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HIGH = 900
PATIENCE_MS = 120_000


@dataclass
class Seen:
    """A page as it is shown, and what it did: `said` are its errors and warnings, `asked` what it wanted to fetch."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile. A machine without one fails: what is not looked at is not shown."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("Chromium is missing; install it (Debian: apt-get install chromium), the page is looked at with it")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, width: int, scheme: str = "light") -> Iterator[Seen]:
    """The page of a file, once it has drawn everything. Scripts other than its own are reported by its policy."""
    context = browser.new_context(viewport={"width": width, "height": HIGH}, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        seen = Seen(page)
        page.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: seen.said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: seen.asked.append(request.url))
        page.goto(path.resolve().as_uri())
        page.wait_for_selector("html[data-drawn]")
        yield seen
    finally:
        context.close()

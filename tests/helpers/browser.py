"""A page in a real browser.

A script is added to a copy of the page. It tries the page, and writes what it found into it; the browser prints the
page as it is then.
"""

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
NEEDS_BROWSER = pytest.mark.skipif(BROWSER is None, reason=f"no browser: set CHROMIUM, or install one of {NAMES}")

EARLY = """<script>
window.complaints = [];
addEventListener("error", (event) => complaints.push(event.message ?? event.target.outerHTML), true);
addEventListener("securitypolicyviolation", (event) => complaints.push("policy: " + event.blockedURI));
for (const name of ["error", "warn"]) console[name] = (...words) => complaints.push(words.join(" "));
</script>"""
BEFORE = """<script>
(async () => {
  const found = {};
  const pictures = [...document.querySelectorAll("article img")];
  for (const one of pictures) one.loading = "eager";
  const loaded = (one) => one.complete || new Promise((done) => (one.onload = one.onerror = done));
  await Promise.all(pictures.map(loaded));  // the browser's clock stands still while something loads
  found.pictures = pictures.map((one) => one.naturalWidth);
  const root = document.documentElement;
  found.width = [innerWidth, root.scrollWidth];
  const wide = (one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll");
  const all = [...document.body.querySelectorAll("*:not(.skip)")];
  found.outside = all.filter(wide).map((one) => one.outerHTML.slice(0, 99));
"""
AFTER = """
  await new Promise((done) => setTimeout(done, 200));  // what was refused is told a little later
  const asked = performance.getEntriesByType("resource").map((one) => one.name);
  found.requests = asked.filter((one) => !one.startsWith("data:"));
  found.complaints = complaints;
  return found;
})().catch((error) => ({ broken: String(error) })).then((found) => {
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  parent.document.body.append(out);
});
</script>"""


def tried_in_browser(path, tries, width=None, options=()):
    """What a script finds on the page; of that width, in a frame, as a window may not be as narrow as a phone.

    Args:
        path: of the page.
        tries: the script, which adds to an object `found`; that has "pictures" (widths), "width" (of the window and of
            the page), "outside" (elements that stick out), "requests" and "complaints" already.
        width: in pixels.
        options: of the browser.
    """
    late = BEFORE + tries + AFTER
    page = path.read_text().replace("<title>", f"{EARLY}<title>", 1).replace("</body>", f"{late}</body>")
    if width is not None:
        page = f'<body><iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{escape(page)}"></iframe>'
    copy = path.with_name("tried.html")
    copy.write_text(page)
    return json.loads(_found(copy, "--virtual-time-budget=20000", *options))


def _found(page, *options):
    """What a script of the page wrote into it."""
    words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *options]
    words += [f"--user-data-dir={page.parent / 'profile'}", "--window-size=1280,1000"]
    words += ["--disable-background-networking", "--no-first-run", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-500:] + done.stderr[-500:]
    return unescape(found[1])

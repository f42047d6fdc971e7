# SPDX-License-Identifier: Apache-2.0
"""check_site.py SOURCE BUILD: makes the site and follows every link in it, as a reader would without a network."""
import glob
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
NO_NETWORK = 3  # of tools/site: MkDocs cannot be installed
LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.loaded, self.links = set(), [], []
        self.text = read(path)
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag in LOADED and LOADED[tag] in found and found.get("rel") != "canonical":
            self.loaded.append(found[LOADED[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        made = subprocess.run([f"{SOURCE}/tools/site", "--build", BUILD, "--output", scratch.name], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == NO_NETWORK:
            raise unittest.SkipTest(made.stdout.splitlines()[-1])
        if made.returncode != 0:
            raise AssertionError(made.stdout)
        cls.folder = scratch.name
        cls.pages = {path: Page(path) for path in
                     (os.path.realpath(found) for found in glob.glob(f"{scratch.name}/**/*.html", recursive=True))
                     if not path.endswith("404.html")}  # whose links begin at the server's root

    def test_every_link_leads_to_something(self):
        for path, page in self.pages.items():
            for link in page.links + page.loaded:
                where = urllib.parse.urlsplit(link)
                if where.scheme:
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(where.path)))
                target = path if not where.path else target
                with self.subTest(page=os.path.relpath(path, self.folder), link=link):
                    self.assertTrue(os.path.isfile(target))
                    if where.fragment and not where.fragment.startswith("__"):
                        self.assertIn(urllib.parse.unquote(where.fragment), self.pages[target].ids)

    def test_nothing_is_loaded_from_elsewhere(self):
        for path, page in self.pages.items():
            with self.subTest(page=os.path.relpath(path, self.folder)):
                self.assertEqual([link for link in page.loaded if urllib.parse.urlsplit(link).netloc], [])

    def test_it_has_every_document_call_and_algorithm(self):
        documents = {os.path.basename(path) for path in glob.glob(f"{SOURCE}/docs/*.md")}
        self.assertLessEqual({f"{name[:-3]}.html" for name in documents}, set(os.listdir(self.folder)))
        calls = {name for path in glob.glob(f"{SOURCE}/runtime/include/rondo/*.h")
                 for name in re.findall(r"^RONDO_API [^;(]*?\b(rondo_\w+)\(", read(path), re.M)}
        reference = "".join(page.text for path, page in self.pages.items() if "/reference/" in path)
        self.assertEqual([name for name in sorted(calls) if f"{name}()" not in reference], [])
        files = re.findall(r"^  '([a-z_0-9]+)(?:: [^']*)?',$", read(f"{SOURCE}/runtime/algorithms/meson.build"), re.M)
        pictures = os.listdir(f"{self.folder}/movements")
        self.assertGreaterEqual(len(pictures), len(files))
        for picture in pictures:
            self.assertIn("<animate", read(f"{self.folder}/movements/{picture}"), picture)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

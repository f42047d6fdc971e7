# SPDX-License-Identifier: Apache-2.0
"""What MkDocs calls while tools/site makes the site: the README becomes its first page, generated pages join the
documents, and links to files of the tree lead to copies of these in the site."""
import os
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import movements  # noqa: E402
import reference  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=(?:#[^)]*)?\))")
NAMED = re.compile(r"(?<=\[)((?:\w+/)*[\w-]+\.md)(?=\]\()")  # a link whose text is the file's name
MARK = re.compile(r"^[ ]*<!-- not run: .* -->\n\n?", re.M)
LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".py": "python"}
PICTURES = (".svg", ".png")

places = {}  # the path in the tree of each page, by its place in the site


def place_of(path):
    """Where a file of the tree is in the site."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return "tree/" + path + ("" if path.endswith((".md", *PICTURES)) else ".md")


def tree_path(target, path):
    """The file or folder of the tree to which a link in the file `path` leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def page_text(path):
    """The page that shows a file or folder of the tree."""
    if path.endswith(".md"):
        return read(path)
    if os.path.isdir(os.path.join(ROOT, path)):
        return f"# {path}\n\n" + "".join(f"- [{name}]({posixpath.basename(path)}/{name})\n"
                                         for name in sorted(os.listdir(os.path.join(ROOT, path))))
    language = LANGUAGES.get(os.path.splitext(path)[1], "text")
    return f"# {path}\n\n````{language}\n{read(path)}````\n"


def title(path):
    return next(line[2:] for line in read(path).splitlines() if line.startswith("# "))


def on_files(files, config):
    """Adds every page that is made of something else than a document, and what pages link to, as far as that leads."""
    documents = ["docs/" + file.src_uri for file in files if file.src_uri.endswith(".md")]
    waiting, seen = ["README.md", "CHANGELOG.md", "SECURITY.md", *documents], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        place = place_of(path)
        places[place] = path
        if path.endswith(PICTURES):
            if not path.startswith("docs/"):
                files.append(File.generated(config, place, abs_src_path=os.path.join(ROOT, path)))
            continue
        text = page_text(path)
        if path not in documents:
            files.append(File.generated(config, place, content=text))
        waiting += [tree_path(target, path) for target in LINK.findall(text)]
    programs = os.environ["SITE_PROGRAMS"]
    for place, content in {**reference.pages(ROOT, programs), **movements.pages(programs)}.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Leads links that are right in the tree to the same things in the site, and names documents by their titles."""
    place = page.file.src_uri
    if place not in places:
        return markdown
    path = places[place]

    def led(match):
        return posixpath.relpath(place_of(tree_path(match[1], path)), posixpath.dirname(place) or ".")

    def named(match):
        document = next((file for file in (match[1], tree_path(match[1], path)) if file in places.values()), None)
        return title(document) if document else match[1]

    return LINK.sub(led, NAMED.sub(named, MARK.sub("", markdown)))

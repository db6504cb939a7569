"""Writes the licence texts of everything that is in the program, for the packages: python3 packaging/licences.py FILE

Each text stands once, after the names of the crates that come under it. A crate that brings none
and does not come under Apache-2.0 ends this with an error.
"""

import json
import pathlib
import re
import subprocess
import sys

TARGET = "x86_64-unknown-linux-gnu"
# Beside a crate's own, the texts of the C sources that it brings.
TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense)[^/]*", re.IGNORECASE)


def crates():
    """The crates that are linked in, as cargo knows them."""
    metadata = json.loads(
        subprocess.check_output(["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}"])
    )
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, todo = set(), [metadata["resolve"]["root"]]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        for dependency in nodes[name]["deps"]:
            # Those of build scripts and tests are not in the program.
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    packages = [package for package in metadata["packages"] if package["id"] in found]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence texts in a crate, by file."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [file for depth in ("*", "*/*") for file in folder.glob(depth) if file.is_file()]
    if package["source"] is None:
        files = [folder / "LICENSE"]
    named = [file for file in files if TEXTS.fullmatch(file.name) and file.suffix not in (".rs", ".html", ".json")]
    return [text for file in sorted(named) if (text := file.read_text("utf-8", "replace").strip())]


def main(target):
    under = {}
    packages = crates()
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license']})"
        found = texts(package)
        if not found and "Apache-2.0" in package["license"]:
            # Its text is the same for everybody, and ours.
            found = [pathlib.Path("LICENSE").read_text("utf-8").strip()]
        if not found:
            sys.exit(f"{name} has no licence text: find one, and have it written here")
        for text in found:
            under.setdefault(text, []).append(name)
    with open(target, "w", encoding="utf-8") as file:
        print("narwhal-jq contains these crates, the C sources in them, and Rust's standard library", file=file)
        print("(MIT OR Apache-2.0). SQLite, in libsqlite3-sys, is in the public domain.", file=file)
        for text, names in sorted(under.items(), key=lambda entry: entry[1][0]):
            print("\n" + "=" * 100, *names, "-" * 100, text, sep="\n", file=file)
    print(f"{target}: {len(packages)} crates, {len(under)} texts")


if __name__ == "__main__":
    main(sys.argv[1])

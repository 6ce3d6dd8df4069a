"""Prints the bill of materials of the release build's programs, as SPDX 2.3 (JSON).

  SOURCE_DATE_EPOCH=… python3 sbom.py VERSION ROOT

Swift packages are taken from Package.resolved, Swift's runtime from the toolchain, and shared libraries from the Debian
packages they belong to, in the versions installed here.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time

PROGRAMS = ["reel", "reel-probe-worker"]
# Loaded with dlopen, so no program's dynamic section names it.
OPENED = {"reel": ["libcurl.so.4"]}
LICENSES = {
    "swift-argument-parser": "Apache-2.0 WITH Swift-exception",
    "swift-http-types": "Apache-2.0",
}

# The distribution of the packages: debian or ubuntu.
with open("/etc/os-release", encoding="utf-8") as release:
    SYSTEM = re.search(r'^ID="?(\w+)', release.read(), re.MULTILINE)[1]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def needed(program):
    """Returns the names of the libraries that it is directly linked with."""
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", program)))


def loaded(program):
    """Returns the paths of all libraries that are loaded with it, by name."""
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program), re.MULTILINE))
    for path in re.findall(r"^\s*(/\S+) \(0x", output("ldd", program), re.MULTILINE):
        found[os.path.basename(path)] = path
    return found


def opened(names):
    cache = dict(re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.MULTILINE))
    missing = [name for name in names if name not in cache]
    if missing:
        sys.exit(f"sbom.py: not installed here: {', '.join(missing)}")
    return {name: cache[name] for name in names}


def owner(path):
    """Returns the Debian package that owns a file. dpkg may know a file below /usr/lib by its path below /lib, and vice
    versa."""
    real = os.path.realpath(path)
    for name in {path, real, real.removeprefix("/usr"), "/usr" + path}:
        result = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
        # dpkg also prints diversions of the file (the loader of libc6 has one since Debian 13).
        owners = [line for line in result.stdout.splitlines() if not line.startswith("diversion by ")]
        if owners:
            return owners[0].split(": ")[0].split(", ")[0]
    return None


def debian(package):
    form = "${Package}\n${Version}\n${Architecture}\n${source:Package}\n${source:Version}"
    name, version, architecture, source, source_version = output("dpkg-query", "-W", "-f", form, package).split("\n")
    return {
        "SPDXID": identifier(f"deb-{name}-{architecture}"),
        "name": name,
        "versionInfo": version,
        "supplier": f"Organization: {SYSTEM.capitalize()}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from {source} {source_version}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/{SYSTEM}/{name}@{version.replace(':', '%3A').replace('+', '%2B')}"
                f"?arch={architecture}",
            }
        ],
    }


def swift_package(pin):
    name, state = pin["identity"], pin["state"]
    where = pin["location"].removesuffix(".git")
    return {
        "SPDXID": identifier(f"swift-{name}"),
        "name": name,
        "versionInfo": state["version"],
        "downloadLocation": f"git+{where}.git@{state['revision']}",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": LICENSES[name],
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:swift/{where.removeprefix('https://')}@{state['version']}",
            }
        ],
    }


def swift_runtime():
    version = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
    return {
        "SPDXID": "SPDXRef-swift-runtime",
        "name": "swift",
        "versionInfo": version,
        "downloadLocation": f"git+https://github.com/swiftlang/swift.git@swift-{version}-RELEASE",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0 WITH Swift-exception",
        "copyrightText": "NOASSERTION",
        "comment": "The standard library, its runtime, FoundationEssentials and libdispatch, linked in.",
    }


def program(name, version, root):
    with open(f"{root}/.build/release/{name}", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
        "comment": f"SHA-256 before its debug information was stripped: {digest}",
    }


def relation(one, kind, other, comment=None):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} | (
        {"comment": comment} if comment else {}
    )


def main():
    version, root = sys.argv[1:]
    with open(f"{root}/Package.resolved", encoding="utf-8") as file:
        pins = json.load(file)["pins"]
    packages = [program(name, version, root) for name in PROGRAMS]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", identifier(name)) for name in PROGRAMS]
    statics = [swift_runtime(), *map(swift_package, pins)]
    packages += statics
    # The worker has no command line and speaks no HTTP, so it contains no Swift package.
    relations += [relation("SPDXRef-reel", "STATIC_LINK", each["SPDXID"]) for each in statics]
    relations.append(relation("SPDXRef-reel-probe-worker", "STATIC_LINK", "SPDXRef-swift-runtime"))
    relations.append(relation("SPDXRef-reel", "DEPENDS_ON", "SPDXRef-reel-probe-worker", "started, not linked"))
    libraries = {}
    for name in PROGRAMS:
        path = f"{root}/.build/release/{name}"
        direct, late = needed(path), opened(OPENED.get(name, []))
        for library, place in sorted((loaded(path) | late).items()):
            package = owner(place)
            if package is None:
                sys.exit(f"sbom.py: {place} belongs to no Debian package")
            described = libraries.setdefault(package, debian(package))
            kind = "DYNAMIC_LINK" if library in direct or library in late else "DEPENDS_ON"
            comment = library + (", loaded at run time" if library in late else "")
            relations.append(relation(identifier(name), kind, described["SPDXID"], comment))
    packages += [libraries[key] for key in sorted(libraries)]
    content = json.dumps([packages, relations], sort_keys=True).encode()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"reel-{version}",
        # Unique to the content, and reproducible.
        "documentNamespace": f"https://spdx.org/spdxdocs/reel-{version}-{hashlib.sha256(content).hexdigest()}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "creators": ["Tool: reel-scripts-package"],
        },
        "packages": packages,
        "relationships": relations,
    }
    print(json.dumps(document, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()

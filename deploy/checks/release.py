"""Compares the SBOM of a release with THIRD-PARTY, and its POMs with the BOM.

    release.py target/release VERSION
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

release, version = sys.argv[1:]
with open(os.path.join(release, f"berth-{version}-cyclonedx.json")) as file:
    sbom = json.load(file)
assert sbom["bomFormat"] == "CycloneDX", sbom["bomFormat"]
assert sbom["metadata"]["component"]["version"] == version
components = {f"{each['group']}:{each['name']}:{each['version']}" for each in sbom["components"]}
unlicensed = [each["name"] for each in sbom["components"] if not each.get("licenses")]
assert not unlicensed, f"no licence: {unlicensed}"
unhashed = [each["name"] for each in sbom["components"] if not each.get("hashes")]
assert not unhashed, f"no hash: {unhashed}"

with open(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "THIRD-PARTY")) as file:
    listed = set(re.findall(r"^  ([^: ]+:[^: ]+:[^: ]+): ", file.read(), re.M))
missing = listed - components
assert not missing, f"THIRD-PARTY lists what the SBOM lacks: {sorted(missing)}"
print("only in the SBOM, with no class in a jar:", *sorted(components - listed))

space = "{http://maven.apache.org/POM/4.0.0}"
repository = os.path.join(release, "repository/dev/berth")
bom = ElementTree.parse(os.path.join(repository, "berth-bom", version, f"berth-bom-{version}.pom"))
named = {each.findtext(space + "artifactId") for each in bom.iter(space + "dependency")}
assert named | {"berth-bom"} == set(os.listdir(repository)), (named, os.listdir(repository))
print(f"{len(components)} components")

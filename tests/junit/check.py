"""Checks files against the schema of junit.xml that Jenkins uses: check.py SCHEMA FILE... Prints only problems."""

import sys

from lxml import etree

schema = etree.XMLSchema(etree.parse(sys.argv[1]))
for path in sys.argv[2:]:
    try:
        schema.validate(etree.parse(path))
    except etree.XMLSyntaxError as error:
        print(f"{path}: {error}")
    for error in schema.error_log:
        print(f"{path}:{error.line}: {error.message}")

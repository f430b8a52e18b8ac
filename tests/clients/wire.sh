#!/usr/bin/env bash
# curl: puts a record once, and prints its result. Argument: the timeout in seconds.
set -u

status=$(curl --silent --max-time "$1" --output /dev/null --write-out '%{http_code}' -X PUT "$HAPAX_RECORDS_URL/records/a" \
    -H "Authorization: Bearer $HAPAX_RECORDS_KEY" -H 'Content-Type: application/json' -d '{"value": "one"}')
echo "exit $?, status $status"

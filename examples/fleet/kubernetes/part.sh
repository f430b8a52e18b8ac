#!/bin/sh
# One part of a run, as a pod of an indexed Job. A pod that is started again goes on where the killed one stopped.
#
#   kubectl create configmap hapax-scripts --from-file=part.sh
set -u

out=$HAPAX_OUT/$JOB_COMPLETION_INDEX
if [ -s "$out/trials.jsonl" ]; then
    where="--resume $out"
elif [ -e "$out/report.json" ]; then
    exit 0
else
    rm -rf "$out"
    where="--out $out"
fi
# shellcheck disable=SC2086 # Lists of words.
hapax run ${HAPAX_OPTIONS-} --seed "$HAPAX_SEED" --partition auto $where -- "$@"
# Failed and void trials are in the report, which the merge judges. Only a part that did not end is tried again: then there
# is no report, or the journal of an interrupted run beside it.
[ -e "$out/report.json" ] && [ ! -e "$out/trials.jsonl" ]

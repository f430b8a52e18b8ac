#!/bin/bash
# One part of a run, as a task of a Slurm array. Submit it from the folder of your project, which all nodes share:
#
#   HAPAX_SEED=$RANDOM sbatch --export=ALL --array=1-8 job.sh python3 agent.py
#
# and merge when all tasks have ended:
#
#   hapax report merge parts/* --out reports/whole
#
#SBATCH --job-name=hapax
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=hapax-%A-%a.log
set -u

: "${HAPAX_SEED:?set HAPAX_SEED to one number for all parts}"
out=${HAPAX_OUT:-parts}/$SLURM_ARRAY_TASK_ID
part=(--seed "$HAPAX_SEED" --partition auto)
# A word list: the options and filters of `hapax run`.
read -ra options <<<"${HAPAX_OPTIONS-}"

# A task that is requeued goes on where the killed one stopped; one that had ended is not run again. A folder without a
# line about a trial was only begun.
if [ -s "$out/trials.jsonl" ]; then
    where=(--resume "$out")
elif [ -e "$out/report.json" ]; then
    exit 0
else
    rm -rf "$out"
    where=(--out "$out")
fi
hapax run "${options[@]}" "${part[@]}" "${where[@]}" -- "$@"
# Failed and void trials are in the report, which the merge judges. A part that did not end has no report, or the journal of
# an interrupted run beside it: the task fails, and `scontrol requeue` goes on with it.
[ -e "$out/report.json" ] && [ ! -e "$out/trials.jsonl" ]

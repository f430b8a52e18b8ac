//! Which part of a run a machine does: written as `N/M`, or found in the variables of the scheduler that started it. Pure.

use std::fmt;
use std::str::FromStr;

/// More parts than anybody starts; a number that was mistyped must not cost memory.
const MAX_PARTS: u32 = 100_000;

/// A part of a run: each trial belongs to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// The number of the part, from 1.
    pub part: u32,
    /// The number of parts.
    pub of: u32,
}

/// Our own variables, for schedulers that have none.
const PART: &str = "HAPAX_PART";
const PARTS: &str = "HAPAX_PARTS";

/// A scheduler that numbers the copies of a job in two variables.
struct Scheduler {
    name: &'static str,
    index: &'static str,
    count: &'static str,
    /// The number of the first copy.
    first: u32,
}

const SCHEDULERS: [Scheduler; 5] = [
    Scheduler {
        name: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        count: "AWS_BATCH_JOB_ARRAY_SIZE",
        first: 0,
    },
    // Kubernetes tells a pod its index, and not how many there are.
    Scheduler { name: "a Kubernetes indexed Job", index: "JOB_COMPLETION_INDEX", count: PARTS, first: 0 },
    Scheduler { name: "GitLab", index: "CI_NODE_INDEX", count: "CI_NODE_TOTAL", first: 1 },
    Scheduler { name: "CircleCI", index: "CIRCLE_NODE_INDEX", count: "CIRCLE_NODE_TOTAL", first: 0 },
    Scheduler {
        name: "Buildkite",
        index: "BUILDKITE_PARALLEL_JOB",
        count: "BUILDKITE_PARALLEL_JOB_COUNT",
        first: 0,
    },
];

const SLURM_INDEX: &str = "SLURM_ARRAY_TASK_ID";

impl Partition {
    /// The part that the scheduler of this job gives it. `read` is the value of a variable.
    ///
    /// # Errors
    /// What is wrong with the variables, or which were looked for.
    pub fn from_scheduler(read: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variables = Variables { read: &read };
        if variables.is_set(PART) {
            return variables.pair(PART, PARTS, 1);
        }
        let mut found: Vec<(&str, Partition)> = Vec::new();
        if variables.is_set(SLURM_INDEX) {
            found.push(("Slurm", variables.slurm()?));
        }
        for scheduler in SCHEDULERS.iter().filter(|scheduler| variables.is_set(scheduler.index)) {
            found.push((scheduler.name, variables.pair(scheduler.index, scheduler.count, scheduler.first)?));
        }
        let Some((name, partition)) = found.first().copied() else {
            let looked_for: Vec<&str> = [PART, SLURM_INDEX]
                .into_iter()
                .chain(SCHEDULERS.iter().map(|scheduler| scheduler.index))
                .collect();
            return Err(format!(
                "no scheduler numbers this job: none of {} is set; set {PART} and {PARTS}, or write the part as 1/4",
                looked_for.join(", ")
            ));
        };
        if let Some((other, differs)) = found.iter().find(|(_, other)| *other != partition) {
            return Err(format!(
                "{name} says that this is part {partition}, and {other} says {differs}: set {PART} and {PARTS}"
            ));
        }
        if variables.is_set(PARTS) && variables.number(PARTS)? != partition.of {
            return Err(format!(
                "{name} runs {} copies of this job, and {PARTS} is {}: start all parts together, or write the part of \
                 this job as N/M",
                partition.of,
                variables.number(PARTS)?
            ));
        }
        Ok(partition)
    }

    fn new(part: u32, of: u32) -> Result<Self, String> {
        match of {
            0 => Err("the number of parts is 0; there must be at least one".to_owned()),
            1..=MAX_PARTS if (1..=of).contains(&part) => Ok(Partition { part, of }),
            1..=MAX_PARTS => Err(format!("there is no part {part} of {of}; parts are numbered from 1")),
            _ => Err(format!("{of} parts are too many; at most {MAX_PARTS} are possible")),
        }
    }
}

struct Variables<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn is_set(&self, name: &str) -> bool {
        (self.read)(name).is_some_and(|value| !value.is_empty())
    }

    fn number(&self, name: &str) -> Result<u32, String> {
        let value = (self.read)(name).unwrap_or_default();
        match value.trim().parse() {
            Ok(number) => Ok(number),
            Err(_) if value.is_empty() => Err(format!("{name} is not set, which has to go with it")),
            Err(_) => Err(format!("{name} is `{}`, which is not a number", yaml_reader::shown(&value))),
        }
    }

    fn pair(&self, index: &str, count: &str, first: u32) -> Result<Partition, String> {
        let of = self.number(count).map_err(|why| match (index, self.is_set(count)) {
            ("JOB_COMPLETION_INDEX", false) => format!(
                "{index} is set, but {PARTS} is not: Kubernetes does not tell a pod how many there are; set {PARTS} in \
                 the manifest to the number of its completions"
            ),
            (_, false) => format!("{index} is set, but {count} is not: set both"),
            _ => why,
        })?;
        let number = self.number(index)?;
        let outside = || format!("{index} is {number}, which is not one of {of} parts from {first}");
        let part = number.checked_sub(first).and_then(|part| part.checked_add(1)).ok_or_else(outside)?;
        if of > 0 && part > of {
            return Err(outside());
        }
        Partition::new(part, of).map_err(|why| format!("{count}: {why}"))
    }

    /// The part of a task of a Slurm array. A part is known by its position, so an array with gaps, which is what is left
    /// when some tasks are submitted again, is refused.
    fn slurm(&self) -> Result<Partition, String> {
        let [id, count, min, max, step] = [
            SLURM_INDEX,
            "SLURM_ARRAY_TASK_COUNT",
            "SLURM_ARRAY_TASK_MIN",
            "SLURM_ARRAY_TASK_MAX",
            "SLURM_ARRAY_TASK_STEP",
        ]
        .map(|name| self.number(name));
        let (id, count, min, max) = (id?, count?, min?, max?);
        // Slurm leaves it out where it is 1.
        let step = if self.is_set("SLURM_ARRAY_TASK_STEP") { step? } else { 1 };
        let has_gaps = |why: &str| {
            format!(
                "the Slurm array {min}-{max}:{step} with {count} tasks has gaps ({why}): submit it as --array=1-{count}, or \
                 write the part of each task as N/M"
            )
        };
        if step == 0 || min > max || !(min..=max).contains(&id) {
            return Err(format!(
                "{SLURM_INDEX} is {id}, which is not in the Slurm array {min}-{max}:{step}: check the variables of the job"
            ));
        }
        if !(id - min).is_multiple_of(step) {
            return Err(has_gaps(&format!("task {id} is between two steps")));
        }
        let full = (max - min) / step + 1;
        if full != count {
            return Err(has_gaps(&format!("{full} would be without gaps")));
        }
        Partition::new((id - min) / step + 1, count)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (part, of) = text
            .split_once('/')
            .ok_or("write it as PART/OF: 1/4 is the first of four parts; or auto, for the part that a scheduler gives")?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
        Partition::new(number(part)?, number(of)?)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(variables: &str) -> Result<String, String> {
        let read = |name: &str| {
            let pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.into_iter().find(|(have, _)| *have == name).map(|(_, value)| value.to_owned())
        };
        Partition::from_scheduler(read).map(|partition| partition.to_string())
    }

    fn slurm(id: u32, count: u32, min: u32, max: u32, step: u32) -> String {
        format!(
            "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_COUNT={count} SLURM_ARRAY_TASK_MIN={min} \
             SLURM_ARRAY_TASK_MAX={max} SLURM_ARRAY_TASK_STEP={step}"
        )
    }

    #[test]
    fn every_scheduler_gives_a_job_its_part() {
        for (variables, part) in [
            ("HAPAX_PART=2 HAPAX_PARTS=8", "2/8"),
            ("JOB_COMPLETION_INDEX=0 HAPAX_PARTS=8", "1/8"),
            ("AWS_BATCH_JOB_ARRAY_INDEX=7 AWS_BATCH_JOB_ARRAY_SIZE=8", "8/8"),
            ("CI_NODE_INDEX=1 CI_NODE_TOTAL=8", "1/8"),
            ("CI_NODE_INDEX=8 CI_NODE_TOTAL=8 HAPAX_PARTS=8", "8/8"),
            ("CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=4", "1/4"),
            ("BUILDKITE_PARALLEL_JOB=3 BUILDKITE_PARALLEL_JOB_COUNT=4", "4/4"),
            (&slurm(1, 8, 1, 8, 1), "1/8"),
            (&slurm(14, 3, 10, 14, 2), "3/3"),
            (&slurm(0, 4, 0, 7, 2), "1/4"),
            (
                "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=3",
                "2/3",
            ),
            // Our own variables decide, and two schedulers that agree are no problem.
            ("HAPAX_PART=2 HAPAX_PARTS=8 CI_NODE_INDEX=1 CI_NODE_TOTAL=3", "2/8"),
            ("CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=4 CI_NODE_INDEX=1 CI_NODE_TOTAL=4", "1/4"),
        ] {
            assert_eq!(auto(variables).as_deref(), Ok(part), "{variables}");
        }
    }

    #[test]
    fn what_gives_no_part_is_refused_with_what_to_do() {
        let wrong = [
            "",
            "HAPAX_PARTS=8",
            "CI_NODE_TOTAL=1",
            "HAPAX_PART=2",
            "HAPAX_PART=0 HAPAX_PARTS=8",
            "HAPAX_PART=9 HAPAX_PARTS=8",
            "HAPAX_PART=1 HAPAX_PARTS=0",
            "HAPAX_PART=one HAPAX_PARTS=8",
            "HAPAX_PART=1 HAPAX_PARTS=-1",
            "HAPAX_PART=1 HAPAX_PARTS=4294967295",
            "JOB_COMPLETION_INDEX=0",
            "JOB_COMPLETION_INDEX=8 HAPAX_PARTS=8",
            "AWS_BATCH_JOB_ARRAY_INDEX=4294967295 AWS_BATCH_JOB_ARRAY_SIZE=8",
            "CI_NODE_INDEX=1 CI_NODE_TOTAL=3 CIRCLE_NODE_INDEX=1 CIRCLE_NODE_TOTAL=3",
            "CI_NODE_INDEX=1 CI_NODE_TOTAL=3 HAPAX_PARTS=8",
            &slurm(3, 3, 1, 7, 1),
            &slurm(4, 3, 1, 7, 2),
            &slurm(9, 8, 1, 8, 1),
            &slurm(1, 1, 1, 1, 0),
            "SLURM_ARRAY_TASK_ID=2",
        ]
        .map(|variables| format!("{variables}\n  {}", auto(variables).unwrap_err()));
        insta::assert_snapshot!(wrong.join("\n"));
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        for text in ["1/1", "3/4", "100000/100000"] {
            assert_eq!(text.parse::<Partition>().unwrap().to_string(), text);
        }
        for text in ["", "1", "0/4", "5/4", "a/4", "1/0", "1/100001", "-1/4"] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
    }
}

use std::collections::VecDeque;

use super::*;

/// The time between two looks, in milliseconds.
const LOOK: u32 = 25;

/// One trial: the callers, and what each does by turns: uses a core, waits, uses a core and so on, each for
/// so many milliseconds.
#[derive(Debug, Clone)]
struct Trial {
    callers: usize,
    phases: Vec<f64>,
}

impl Trial {
    fn new(phases: &[u32]) -> Self {
        Trial { callers: 1, phases: phases.iter().map(|time| f64::from(*time)).collect() }
    }

    fn of(callers: usize, phases: &[u32]) -> Self {
        Trial { callers, ..Trial::new(phases) }
    }

    fn processor_time(&self) -> f64 {
        self.phases.iter().step_by(2).sum::<f64>() * self.callers as f64
    }

    /// How long it takes on idle cores.
    fn alone(&self, cores: usize) -> f64 {
        let waits: f64 = self.phases.iter().skip(1).step_by(2).sum();
        waits + self.processor_time() / self.callers.min(cores) as f64
    }
}

struct Outcome {
    /// How long the run took, as a multiple of what it needs at least.
    ratio: f64,
    most_runnable: usize,
    most_running: usize,
}

/// Runs the trials in steps of a millisecond. All runnable callers share the cores, of which `taken` are used
/// by others.
fn simulate(trials: &[Trial], cores: usize, taken: f64, policy: &mut AdmissionPolicy) -> Outcome {
    let mut waiting: VecDeque<usize> = (0..trials.len()).collect();
    // The trial of a caller, whether it is runnable, and its phases that are left.
    let mut callers: Vec<(usize, bool, VecDeque<f64>)> = Vec::new();
    let mut left: Vec<usize> = trials.iter().map(|trial| trial.callers).collect();
    let (mut now, mut most_runnable, mut most_running) = (0_u32, 0, 0);
    while !waiting.is_empty() || !callers.is_empty() {
        let runnable = callers.iter().filter(|(_, is_runnable, _)| *is_runnable).count();
        if now.is_multiple_of(LOOK) {
            policy.looked(Load { runnable, room_for: usize::MAX }, 0);
        }
        while let Some(next) = waiting.front().copied().filter(|next| policy.admit(trials[*next].callers)) {
            let phases: VecDeque<f64> = trials[next].phases.iter().copied().collect();
            callers.extend((0..trials[next].callers).map(|_| (next, true, phases.clone())));
            waiting.pop_front();
        }
        let runnable = callers.iter().filter(|(_, is_runnable, _)| *is_runnable).count();
        (most_runnable, most_running) = (most_runnable.max(runnable), most_running.max(callers.len()));
        let share = ((cores as f64 - taken) / runnable.max(1) as f64).min(1.0);
        for (_, is_runnable, phases) in &mut callers {
            phases[0] -= if *is_runnable { share } else { 1.0 };
            if phases[0] <= 0.0 {
                phases.pop_front();
                *is_runnable = !*is_runnable;
            }
        }
        for (trial, ..) in callers.iter().filter(|(.., phases)| phases.is_empty()) {
            left[*trial] -= 1;
            if left[*trial] == 0 {
                policy.ended(trials[*trial].callers);
            }
        }
        callers.retain(|(.., phases)| !phases.is_empty());
        now += 1;
    }
    let longest = trials.iter().map(|trial| trial.alone(cores)).fold(0.0, f64::max);
    let work = trials.iter().map(Trial::processor_time).sum::<f64>() / (cores as f64 - taken);
    Outcome { ratio: f64::from(now) / longest.max(work), most_runnable, most_running }
}

fn adaptive(trials: &[Trial], cores: usize, taken: f64) -> Outcome {
    simulate(trials, cores, taken, &mut AdmissionPolicy::adaptive(cores, 10_000))
}

/// What a run of the golden set is like: light trials, some that wait for a hang or at a barrier, some with
/// many callers.
fn mixed() -> Vec<Trial> {
    let mut trials = vec![Trial::of(12, &[100, 25_000, 20]), Trial::new(&[100, 10_000, 20, 10_000, 20])];
    for number in 0..300 {
        trials.push(match number % 10 {
            0 => Trial::new(&[120, 3_000, 30]),
            1 | 2 => Trial::new(&[120, 500, 10, 500, 10]),
            3 => Trial::of(4, &[120, 200, 10]),
            _ => Trial::new(&[120, 5, 30]),
        });
    }
    trials
}

#[test]
fn a_run_takes_about_as_long_as_its_longest_trial_or_as_its_processor_time_on_all_cores() {
    let runs = [
        ("light and waiting", vec![Trial::new(&[10, 1_000, 10]); 3_000]),
        ("light and short", vec![Trial::new(&[15, 2, 5]); 1_000]),
        ("an interpreter", vec![Trial::new(&[150, 500, 10, 500, 10]); 200]),
        ("heavy", vec![Trial::new(&[2_000]); 40]),
        ("mixed", mixed()),
        ("one", vec![Trial::new(&[10, 100])]),
    ];
    for ((name, trials), cores) in runs.iter().flat_map(|run| [1, 2, 8].map(|cores| (run, cores))) {
        let outcome = adaptive(trials, cores, 0.0);
        assert!(outcome.ratio <= 1.3, "{name} on {cores} cores: {} times what it needs", outcome.ratio);
    }
}

#[test]
fn cores_are_not_overloaded_also_if_others_use_them() {
    for (trials, taken) in [
        (vec![Trial::new(&[2_000]); 40], 0.0),
        (vec![Trial::new(&[2_000]); 40], 1.5),
        (vec![Trial::new(&[150, 500, 10, 500, 10]); 200], 0.0),
        (vec![Trial::new(&[150, 500, 10, 500, 10]); 200], 1.5),
        (vec![Trial::new(&[10, 3_000, 10]); 1_000], 1.5),
    ] {
        let outcome = adaptive(&trials, 2, taken);
        let per_core = outcome.most_runnable as f64 / 2.0;
        assert!(per_core <= 12.0, "{per_core} runnable on each core, {taken} cores taken, {:?}", trials[0]);
    }
}

#[test]
fn trials_that_wait_do_not_hold_up_others_and_heavy_ones_do() {
    let most = |trials: Vec<Trial>| adaptive(&trials, 2, 0.0).most_running;
    assert!(most(vec![Trial::new(&[10, 10_000, 10]); 300]) == 300);
    assert!(most(vec![Trial::new(&[2_000]); 40]) <= 2 * RUNNABLE_PER_CORE.0);
}

#[test]
fn a_number_that_was_asked_for_is_kept_whatever_the_load_is() {
    let mut policy = AdmissionPolicy::fixed(12);
    let outcome = simulate(&vec![Trial::new(&[10, 1_000, 10]); 40], 2, 0.0, &mut policy);
    assert_eq!(outcome.most_running, 12);
    let outcome = simulate(&vec![Trial::new(&[1_000]); 40], 2, 0.0, &mut policy);
    assert_eq!(outcome.most_running, 12);
}

#[test]
fn a_trial_with_many_callers_waits_for_an_idle_core_and_for_memory() {
    let mut policy = AdmissionPolicy::adaptive(2, 100);
    assert!(policy.admit(1));
    let load = |runnable, room_for| Load { runnable, room_for };
    policy.looked(load(2, 100), 0);
    assert!(!policy.admit(12) && policy.admit(4));
    policy.looked(load(0, 100), 2);
    assert!(!policy.admit(12), "two callers are about to start");
    policy.looked(load(1, 11), 0);
    assert!(!policy.admit(12), "there is memory for eleven");
    policy.looked(load(1, 12), 0);
    assert!(policy.admit(12) && !policy.admit(1));
    policy.looked(load(0, 100), 0);
    assert!(!policy.admit(84), "17 run, and the maximum is 100");
    policy.ended(17);
    assert!(policy.admit(200), "alone");
}

//! Splits a history by object: each part is checked by itself, and a part is far smaller than the whole.

use std::collections::HashMap;

use super::{HistoryCall, HistoryModel, Touched};

/// The parts of a history that have no object in common. Where a call can touch everything, there is one part.
pub(super) fn split<'h, M: HistoryModel>(
    model: &M,
    calls: &[HistoryCall<'h, M>],
) -> Vec<Vec<HistoryCall<'h, M>>> {
    let mut parents: Vec<usize> = (0..calls.len()).collect();
    let mut first_with: HashMap<String, usize> = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        let Touched::Objects(objects) = model.touched(call.input) else { return vec![calls.to_vec()] };
        for object in objects {
            let first = *first_with.entry(object).or_insert(index);
            let (one, other) = (root(&mut parents, first), root(&mut parents, index));
            parents[one.max(other)] = one.min(other);
        }
    }
    let mut parts: Vec<Vec<HistoryCall<'h, M>>> = Vec::new();
    let mut part_of_root: HashMap<usize, usize> = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        let part = *part_of_root.entry(root(&mut parents, index)).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(*call);
    }
    parts
}

/// The first call of the part that a call belongs to.
fn root(parents: &mut [usize], mut index: usize) -> usize {
    while parents[index] != index {
        parents[index] = parents[parents[index]];
        index = parents[index];
    }
    index
}

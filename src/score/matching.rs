//! Assigns effects to intents so that as many intents as possible are met: a maximum matching, and among
//! those the one with the best fit. It uses only how well each effect fits each intent, so the order of the
//! effects does not matter.

use std::collections::BTreeMap;

use crate::fit::Fit;

/// How well one effect fits each intent, in the order of the intents.
pub(super) type Row = Vec<Option<Fit>>;

/// For each row the intent that it is assigned to. Rows with the same fit are assigned in their order.
pub(super) fn assign(due: &[u32], rows: &[Row]) -> Vec<Option<usize>> {
    // Effects with the same fit are one node, so that a thousand repetitions cost no more than two.
    let mut kinds: BTreeMap<&Row, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        if row.iter().any(Option::is_some) {
            kinds.entry(row).or_default().push(index);
        }
    }
    let kinds: Vec<(&Row, Vec<usize>)> = kinds.into_iter().collect();
    let mut flow = Flow::new(kinds.len(), due.len());
    for (kind, (row, members)) in kinds.iter().enumerate() {
        flow.supply(kind, members.len());
        for (intent, fit) in row.iter().enumerate() {
            if let Some(fit) = fit {
                flow.allow(kind, intent, members.len(), weight(*fit));
            }
        }
    }
    for (intent, due) in due.iter().enumerate() {
        flow.demand(intent, usize::try_from(*due).unwrap_or(usize::MAX).min(rows.len()));
    }
    flow.fill();
    let mut assigned = vec![None; rows.len()];
    for (kind, (_, members)) in kinds.iter().enumerate() {
        let mut members = members.iter();
        for intent in 0..due.len() {
            for index in members.by_ref().take(flow.sent(kind, intent)) {
                assigned[*index] = Some(intent);
            }
        }
    }
    assigned
}

/// An effect that agrees has priority over one that does not; then the one that carries more fields of the
/// intent.
fn weight(fit: Fit) -> i64 {
    i64::from(fit.agrees) * (i64::from(u16::MAX) + 1) + i64::from(fit.carried)
}

struct Edge {
    to: usize,
    room: usize,
    cost: i64,
}

/// A maximum flow of minimum cost: source, kinds, intents, sink.
struct Flow {
    kinds: usize,
    edges: Vec<Edge>,
    /// The edges of each node. An edge and its reverse edge have consecutive indexes.
    leaving: Vec<Vec<usize>>,
    /// The edge from a kind to an intent.
    between: BTreeMap<(usize, usize), usize>,
}

impl Flow {
    fn new(kinds: usize, intents: usize) -> Self {
        let nodes = kinds + intents + 2;
        Flow { kinds, edges: Vec::new(), leaving: vec![Vec::new(); nodes], between: BTreeMap::new() }
    }

    fn source(&self) -> usize {
        self.leaving.len() - 2
    }

    fn sink(&self) -> usize {
        self.leaving.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, room: usize, cost: i64) -> usize {
        let index = self.edges.len();
        self.edges.push(Edge { to, room, cost });
        self.edges.push(Edge { to: from, room: 0, cost: -cost });
        self.leaving[from].push(index);
        self.leaving[to].push(index + 1);
        index
    }

    fn supply(&mut self, kind: usize, room: usize) {
        self.edge(self.source(), kind, room, 0);
    }

    fn demand(&mut self, intent: usize, room: usize) {
        self.edge(self.kinds + intent, self.sink(), room, 0);
    }

    fn allow(&mut self, kind: usize, intent: usize, room: usize, weight: i64) {
        let index = self.edge(kind, self.kinds + intent, room, -weight);
        self.between.insert((kind, intent), index);
    }

    /// How many of a kind were assigned to an intent: the capacity of the reverse edge.
    fn sent(&self, kind: usize, intent: usize) -> usize {
        self.between.get(&(kind, intent)).map_or(0, |index| self.edges[index + 1].room)
    }

    /// Adds the cheapest path until there is none: each step keeps the cost minimal for its volume.
    fn fill(&mut self) {
        while let Some(way) = self.cheapest() {
            let room = way.iter().map(|index| self.edges[*index].room).min().unwrap_or_default();
            for index in way {
                self.edges[index].room -= room;
                self.edges[index ^ 1].room += room;
            }
        }
    }

    /// The edges of the cheapest path from source to sink with capacity (Bellman-Ford: costs can be negative,
    /// cycles cannot).
    fn cheapest(&self) -> Option<Vec<usize>> {
        let nodes = self.leaving.len();
        let mut cost: Vec<Option<i64>> = vec![None; nodes];
        let mut by: Vec<usize> = vec![0; nodes];
        cost[self.source()] = Some(0);
        for _ in 0..nodes {
            let mut changed = false;
            for (from, leaving) in self.leaving.iter().enumerate() {
                let Some(so_far) = cost[from] else { continue };
                for index in leaving {
                    let edge = &self.edges[*index];
                    let total = so_far + edge.cost;
                    if edge.room > 0 && cost[edge.to].is_none_or(|known| total < known) {
                        (cost[edge.to], by[edge.to]) = (Some(total), *index);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        cost[self.sink()]?;
        let (mut way, mut node) = (Vec::new(), self.sink());
        while node != self.source() {
            way.push(by[node]);
            node = self.edges[by[node] ^ 1].to;
        }
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AGREES: Option<Fit> = Some(Fit { agrees: true, carried: 1 });
    const ALTERED: Option<Fit> = Some(Fit { agrees: false, carried: 1 });
    const BARE: Option<Fit> = Some(Fit { agrees: true, carried: 0 });

    #[test]
    fn an_effect_that_fits_two_intents_goes_where_nothing_else_can() {
        assert_eq!(assign(&[1, 1], &[vec![BARE, BARE], vec![AGREES, None]]), [Some(1), Some(0)]);
        assert_eq!(assign(&[1, 1], &[vec![AGREES, None], vec![BARE, BARE]]), [Some(0), Some(1)]);
    }

    #[test]
    fn the_effect_that_is_as_asked_counts_before_one_that_is_not() {
        assert_eq!(assign(&[1], &[vec![ALTERED], vec![AGREES]]), [None, Some(0)]);
        assert_eq!(assign(&[1], &[vec![BARE], vec![AGREES]]), [None, Some(0)]);
    }

    #[test]
    fn of_equal_effects_the_first_counts() {
        assert_eq!(assign(&[2], &[vec![AGREES], vec![AGREES], vec![AGREES]]), [Some(0), Some(0), None]);
        assert_eq!(assign(&[0], &[vec![AGREES]]), [None]);
        assert_eq!(assign(&[u32::MAX], &[vec![AGREES]]), [Some(0)]);
    }

    fn a_fit() -> impl Strategy<Value = Option<Fit>> {
        prop_oneof![
            Just(None),
            (any::<bool>(), 0_u16..3).prop_map(|(agrees, carried)| Some(Fit { agrees, carried }))
        ]
    }

    /// The best there is, by trying everything: how many are assigned, and how well they fit.
    fn best(due: &[u32], rows: &[Row]) -> (usize, i64) {
        let Some((row, rest)) = rows.split_first() else { return (0, 0) };
        let mut found = best(due, rest);
        for (intent, fit) in row.iter().enumerate() {
            if let Some(fit) = fit.filter(|_| due[intent] > 0) {
                let mut left = due.to_vec();
                left[intent] -= 1;
                let (count, total) = best(&left, rest);
                found = found.max((count + 1, total + weight(fit)));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn no_assignment_is_larger_or_fits_better(
            due in prop::collection::vec(0_u32..3, 3),
            rows in prop::collection::vec(prop::collection::vec(a_fit(), 3), 0..6),
        ) {
            let assigned = assign(&due, &rows);
            let chosen: Vec<(usize, Fit)> = assigned
                .iter()
                .zip(&rows)
                .filter_map(|(intent, row)| intent.map(|intent| (intent, row[intent].expect("it fits"))))
                .collect();
            for (intent, due) in due.iter().enumerate() {
                prop_assert!(chosen.iter().filter(|(to, _)| *to == intent).count() <= *due as usize);
            }
            let total: i64 = chosen.iter().map(|(_, fit)| weight(*fit)).sum();
            prop_assert_eq!((chosen.len(), total), best(&due, &rows));
        }
    }
}

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

//! Computes precision and recall of each threshold from labelled pairs, and suggests a threshold.

use crate::eval::f1;

/// The distance of a pair in the detector's unit, and true if its label says that both pages are the same text.
pub(crate) type Labelled = (u32, bool);

/// The effect of a threshold on the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Largest distance at which a pair is called near.
    pub distance: u32,
    /// Share of related pairs among those called near.
    pub precision: f64,
    /// Share of the related pairs that are called near.
    pub recall: f64,
}

/// Returns one point for each distance that occurs, in ascending order. Sorts `pairs`.
pub(crate) fn curve(pairs: &mut [Labelled]) -> Vec<Point> {
    pairs.sort_unstable_by_key(|(distance, _)| *distance);
    let all = pairs.iter().filter(|(_, related)| *related).count().max(1) as f64;
    let mut curve: Vec<Point> = Vec::new();
    let mut related = 0.0;
    for (near, (distance, is_related)) in (1..).zip(pairs.iter().copied()) {
        related += f64::from(u8::from(is_related));
        let point = Point { distance, precision: related / f64::from(near), recall: related / all };
        match curve.last_mut().filter(|last| last.distance == distance) {
            Some(last) => *last = point,
            None => curve.push(point),
        }
    }
    curve
}

/// Returns the threshold with the highest recall among those that reach `precision`. If none reaches it,
/// returns the threshold with the highest F1. Among equally good thresholds, returns the smallest. `None` if
/// no related pair is near at any threshold.
pub(crate) fn suggest(curve: &[Point], precision: f64) -> Option<Point> {
    let found = |point: &&Point| point.recall > 0.0;
    let by = |value: fn(&Point) -> f64| {
        move |a: &&Point, b: &&Point| value(a).total_cmp(&value(b)).then(b.distance.cmp(&a.distance))
    };
    let precise = curve.iter().filter(found).filter(|point| point.precision >= precision);
    precise
        .max_by(by(|point| point.recall))
        .or_else(|| curve.iter().filter(found).max_by(by(|point| f1(point.precision, point.recall))))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_furthest_precise_threshold() {
        let mut pairs = [(5, true), (1, true), (3, true), (5, false), (9, false), (3, true)];
        let curve = curve(&mut pairs);
        assert_eq!(curve.iter().map(|point| point.distance).collect::<Vec<_>>(), [1, 3, 5, 9]);
        assert_eq!(suggest(&curve, 0.99), Some(Point { distance: 3, precision: 1.0, recall: 0.75 }));
        assert_eq!(suggest(&curve, 0.8).map(|point| point.distance), Some(5));
        assert_eq!(suggest(&[], 0.9), None);
        let bad = super::curve(&mut [(1, false), (2, true)]);
        assert_eq!(suggest(&bad, 0.9).map(|point| point.distance), Some(2), "the best F1");
    }
}

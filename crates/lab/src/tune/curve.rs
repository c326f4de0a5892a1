//! Computes precision and recall of each threshold from labelled pairs, and suggests a threshold.

/// A pair with a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Labelled {
    /// Distance in the detector's unit.
    pub distance: u32,
    /// True if both pages are the same text.
    pub related: bool,
}

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

impl Point {
    /// Returns the harmonic mean of precision and recall.
    pub(crate) fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 { 2.0 * self.precision * self.recall / sum } else { 0.0 }
    }
}

/// Returns one point for each distance that occurs, in ascending order. Sorts `pairs`.
pub(crate) fn curve(pairs: &mut [Labelled]) -> Vec<Point> {
    pairs.sort_unstable_by_key(|pair| pair.distance);
    let all = pairs.iter().filter(|pair| pair.related).count().max(1) as f64;
    let mut curve: Vec<Point> = Vec::new();
    let mut related = 0.0;
    for (near, pair) in (1..).zip(&*pairs) {
        related += f64::from(u8::from(pair.related));
        let point =
            Point { distance: pair.distance, precision: related / f64::from(near), recall: related / all };
        match curve.last_mut().filter(|last| last.distance == pair.distance) {
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
        .or_else(|| curve.iter().filter(found).max_by(by(Point::f1)))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_the_furthest_precise_threshold() {
        let pair = |distance, related| Labelled { distance, related };
        let mut pairs =
            [pair(5, true), pair(1, true), pair(3, true), pair(5, false), pair(9, false), pair(3, true)];
        let curve = curve(&mut pairs);
        assert_eq!(curve.iter().map(|point| point.distance).collect::<Vec<_>>(), [1, 3, 5, 9]);
        assert_eq!(suggest(&curve, 0.99), Some(Point { distance: 3, precision: 1.0, recall: 0.75 }));
        assert_eq!(suggest(&curve, 0.8).map(|point| point.distance), Some(5));
        assert_eq!(suggest(&[], 0.9), None);
        let bad = super::curve(&mut [pair(1, false), pair(2, true)]);
        assert_eq!(suggest(&bad, 0.9).map(|point| point.distance), Some(2), "the best F1");
    }
}

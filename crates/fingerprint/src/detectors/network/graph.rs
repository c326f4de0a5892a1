//! A graph of at most 256 nodes as bit sets, and the lengths of its shortest paths with and without a node
//! (paper 000, sections 2.1, 3.2.2 and 3.3).
//!
//! Path lengths of all pairs are summed level by level for all sources at once: the set of sources that reach
//! a node within k + 1 steps is the union of the sets that reach its neighbours within k. A level costs a
//! union of 256 bits per edge, and a small-world graph has few levels. All pairs of 256 nodes take some 20
//! µs, so one sum for each of 30 hubs stays below a millisecond. The paper's program took 1.7 s to 256 s per
//! page.

/// Maximum number of nodes.
pub(super) const NODES_MAX: usize = 256;
const WORDS: usize = NODES_MAX / 64;

/// A set of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeSet([u64; WORDS]);

impl NodeSet {
    const EMPTY: Self = Self([0; WORDS]);

    fn with(mut self, node: usize) -> Self {
        self.0[node / 64] |= 1 << (node % 64);
        self
    }

    fn without(mut self, node: usize) -> Self {
        self.0[node / 64] &= !(1 << (node % 64));
        self
    }

    pub(super) fn contains(&self, node: usize) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    fn union(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        self
    }

    fn members(&self) -> impl Iterator<Item = usize> + use<> {
        let mut words = self.0;
        (0..WORDS).flat_map(move |at| {
            let mut word = std::mem::take(&mut words[at]);
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(64 * at + bit)
            })
        })
    }
}

/// An undirected graph.
#[derive(Debug)]
pub(super) struct Graph {
    neighbours: Vec<NodeSet>,
}

impl Graph {
    /// Creates a graph without edges.
    pub(super) fn new(nodes: usize) -> Self {
        assert!(nodes <= NODES_MAX);
        Self { neighbours: vec![NodeSet::EMPTY; nodes] }
    }

    /// Joins two different nodes; does nothing if they are the same.
    pub(super) fn join(&mut self, a: usize, b: usize) {
        if a != b {
            self.neighbours[a] = self.neighbours[a].with(b);
            self.neighbours[b] = self.neighbours[b].with(a);
        }
    }

    pub(super) fn degree(&self, node: usize) -> u32 {
        self.neighbours[node].len()
    }

    /// Returns the connected component with the most nodes; among equal ones, the one with the lowest node.
    pub(super) fn largest_component(&self) -> NodeSet {
        let mut largest = NodeSet::EMPTY;
        let mut seen = NodeSet::EMPTY;
        for start in 0..self.neighbours.len() {
            if seen.contains(start) {
                continue;
            }
            let mut component = NodeSet::EMPTY.with(start);
            let mut frontier = vec![start];
            while let Some(node) = frontier.pop() {
                let found = self.neighbours[node].members();
                frontier.extend(found.filter(|found| !component.contains(*found)));
                component = component.union(&self.neighbours[node]);
            }
            seen = seen.union(&component);
            if component.len() > largest.len() {
                largest = component;
            }
        }
        largest
    }
}

/// The shortest paths between the members of a set. Keeps its buffers between sums.
pub(super) struct Paths {
    members: NodeSet,
    /// For each member, the number of its neighbours and then the neighbours.
    neighbours: Vec<u16>,
    reach: Vec<NodeSet>,
    next: Vec<NodeSet>,
}

impl Paths {
    /// Prepares the paths within `members`.
    pub(super) fn new(graph: &Graph, members: NodeSet) -> Self {
        let mut neighbours = Vec::new();
        for node in members.members() {
            neighbours.push(graph.degree(node) as u16);
            neighbours.extend(graph.neighbours[node].members().map(|neighbour| neighbour as u16));
        }
        let none = vec![NodeSet::EMPTY; graph.neighbours.len()];
        Self { members, neighbours, reach: none.clone(), next: none }
    }

    /// Returns the sum of the lengths of the shortest paths over all ordered pairs of members, without
    /// `removed`. A pair that is not connected counts as many steps as there are members, `removed` included.
    pub(super) fn sum_without(&mut self, removed: Option<usize>) -> u64 {
        let remaining = removed.map_or(self.members, |removed| self.members.without(removed));
        // A node that was removed reaches nothing, so its neighbours gain nothing from it.
        for (node, set) in self.reach.iter_mut().enumerate() {
            *set = if remaining.contains(node) { NodeSet::EMPTY.with(node) } else { NodeSet::EMPTY };
        }
        let all = u64::from(remaining.len());
        let mut missing = all * all - all;
        // After each level, the pairs not reached yet are at least one step further apart.
        let mut sum = missing;
        let mut levels = 1;
        while missing > 0 {
            self.next.clone_from(&self.reach);
            let mut reached = 0;
            let mut rest = self.neighbours.as_slice();
            for node in (0..self.reach.len()).filter(|node| self.members.contains(*node)) {
                let degree = rest.split_off_first().expect("one for each member");
                let neighbours = rest.split_off(..usize::from(*degree)).expect("as many as its degree");
                if !remaining.contains(node) {
                    continue;
                }
                let mut set = self.reach[node];
                if set != remaining {
                    for &neighbour in neighbours {
                        set = set.union(&self.reach[usize::from(neighbour)]);
                    }
                    self.next[node] = set;
                }
                reached += u64::from(set.len());
            }
            std::mem::swap(&mut self.reach, &mut self.next);
            let left = all * all - reached;
            if left == missing {
                // The remaining pairs are not connected. Each has been counted one step per level so far.
                return sum + missing * (u64::from(self.members.len()) - levels);
            }
            missing = left;
            sum += missing;
            levels += 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Sums the paths by breadth-first search, pair by pair.
    fn naive_path_sum(edges: &[(usize, usize)], nodes: &[usize], removed: Option<usize>) -> u64 {
        let remaining: Vec<usize> = nodes.iter().copied().filter(|node| Some(*node) != removed).collect();
        let mut sum = 0;
        for &source in &remaining {
            let mut distance = std::collections::HashMap::from([(source, 0_u64)]);
            let mut queue = VecDeque::from([source]);
            while let Some(node) = queue.pop_front() {
                for &(a, b) in edges {
                    for (from, to) in [(a, b), (b, a)] {
                        if from == node && remaining.contains(&to) && !distance.contains_key(&to) {
                            distance.insert(to, distance[&node] + 1);
                            queue.push_back(to);
                        }
                    }
                }
            }
            sum += remaining
                .iter()
                .map(|node| distance.get(node).copied().unwrap_or(nodes.len() as u64))
                .sum::<u64>();
        }
        sum
    }

    proptest! {
        #[test]
        fn path_sums_agree_with_a_queue(edges in prop::collection::vec((0..20_usize, 0..20_usize), 0..40)) {
            let mut graph = Graph::new(20);
            edges.iter().for_each(|(a, b)| graph.join(*a, *b));
            let component = graph.largest_component();
            let nodes: Vec<usize> = (0..20).filter(|node| component.contains(*node)).collect();
            let mut paths = Paths::new(&graph, component);
            prop_assert_eq!(paths.sum_without(None), naive_path_sum(&edges, &nodes, None));
            for &removed in &nodes {
                let expected = naive_path_sum(&edges, &nodes, Some(removed));
                prop_assert_eq!(paths.sum_without(Some(removed)), expected);
            }
        }
    }

    #[test]
    fn the_largest_component_is_found() {
        let mut graph = Graph::new(256);
        for (a, b) in [(0, 1), (10, 11), (11, 12), (200, 201), (201, 255)] {
            graph.join(a, b);
        }
        let component = graph.largest_component();
        assert_eq!((0..256).filter(|node| component.contains(*node)).collect::<Vec<_>>(), [10, 11, 12]);
        assert_eq!(graph.degree(11), 2);
    }
}

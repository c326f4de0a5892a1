//! Selects the key concepts of a text (paper 000, sections 3.2.2 and 3.3).

use std::cmp::Reverse;

use super::concepts::Concepts;
use super::config::GraphConfig;
use super::graph::{Graph, NodeSet, Paths};
use leitong_text::segment::{Terms, sentences};

/// Returns the key concepts of a text. The concept whose removal lengthens paths most comes first.
pub(super) fn select(terms: &Terms, concepts: &Concepts, config: &GraphConfig) -> Vec<u32> {
    let network = ConceptGraph::new(terms, concepts, config);
    // The contribution CB of a node is (d without the node) − d, where d is the mean length of the shortest
    // paths. Since d and the number of pairs are the same for all nodes, comparing the sums of lengths is
    // enough.
    let mut paths = Paths::new(&network.graph, network.component);
    let mut contributions: Vec<(u64, usize)> = network
        .hubs(concepts, config.hubs)
        .into_iter()
        .map(|node| (paths.sum_without(Some(node)), node))
        .collect();
    contributions.sort_unstable_by_key(|(sum, node)| (Reverse(*sum), network.break_tie(concepts, *node)));
    contributions.truncate(config.key_concepts);
    contributions.iter().map(|(_, node)| network.nodes[*node]).collect()
}

/// The network of a text's concepts.
pub(super) struct ConceptGraph {
    /// The concept of each node: the most frequent ones, in order of first occurrence.
    nodes: Vec<u32>,
    graph: Graph,
    /// The largest connected component, the only part that counts.
    component: NodeSet,
}

impl ConceptGraph {
    pub(super) fn new(terms: &Terms, concepts: &Concepts, config: &GraphConfig) -> Self {
        let mut nodes: Vec<u32> = (0..concepts.len() as u32)
            .filter(|concept| concepts.frequency(*concept) > config.frequency_above)
            .collect();
        if nodes.len() > config.nodes_max {
            nodes.sort_unstable_by_key(|concept| (Reverse(concepts.frequency(*concept)), *concept));
            nodes.truncate(config.nodes_max);
            nodes.sort_unstable();
        }
        let mut node_of = vec![None; concepts.len()];
        nodes.iter().enumerate().for_each(|(node, concept)| node_of[*concept as usize] = Some(node));
        let graph = graph(terms, concepts, &node_of, nodes.len(), config.edge_terms);
        let component = graph.largest_component();
        Self { nodes, graph, component }
    }

    /// Returns the number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of nodes in the largest component.
    pub(super) fn connected(&self) -> u32 {
        self.component.len()
    }

    /// Returns at most `max` nodes of the largest component, those of the highest degree.
    pub(super) fn hubs(&self, concepts: &Concepts, max: usize) -> Vec<usize> {
        let mut hubs: Vec<usize> =
            (0..self.nodes.len()).filter(|node| self.component.contains(*node)).collect();
        hubs.sort_unstable_by_key(|node| {
            (Reverse(self.graph.degree(*node)), self.break_tie(concepts, *node))
        });
        hubs.truncate(max);
        hubs
    }

    /// Breaks ties by frequency, then by first occurrence, which is unique.
    fn break_tie(&self, concepts: &Concepts, node: usize) -> (Reverse<u32>, usize) {
        (Reverse(concepts.frequency(self.nodes[node])), node)
    }
}

/// Joins concepts that are at most `edge_terms` apart within a sentence.
fn graph(
    terms: &Terms,
    concepts: &Concepts,
    node_of: &[Option<usize>],
    nodes: usize,
    edge_terms: usize,
) -> Graph {
    let mut graph = Graph::new(nodes);
    let sequence = concepts.sequence();
    let mut first = 0;
    for sentence in sentences(terms.text()) {
        let rest = &terms.terms()[first..];
        let end = first + rest.iter().take_while(|term| term.start() < sentence.end).count();
        for at in first..end {
            let Some(a) = node_of[sequence[at] as usize] else { continue };
            for other in &sequence[at + 1..end.min(at + 1 + edge_terms)] {
                if let Some(b) = node_of[*other as usize] {
                    graph.join(a, b);
                }
            }
        }
        first = end;
    }
    graph
}

//! Concepts → key concepts (paper 000, sections 3.2.2 and 3.3).

use std::cmp::Reverse;

use super::concepts::Concepts;
use super::config::GraphConfig;
use super::graph::{Graph, Paths};
use crate::segment::Terms;
use crate::segment::sentences::sentences;

/// The key concepts of a text, the one whose removal lengthens paths most first.
pub(super) fn select(terms: &Terms, concepts: &Concepts, config: &GraphConfig) -> Vec<u32> {
    // Nodes: the most frequent concepts, in order of first occurrence.
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
    // Ties go by frequency, then by first occurrence, at which no two concepts stand.
    let tie = |node: usize| (Reverse(concepts.frequency(nodes[node])), node);
    let mut hubs: Vec<usize> = (0..nodes.len()).filter(|node| component.contains(*node)).collect();
    hubs.sort_unstable_by_key(|node| (Reverse(graph.degree(*node)), tie(*node)));
    hubs.truncate(config.hubs);
    // CB = d without the node − d: the sum of paths alone decides, since d and the number of pairs are the same for all.
    let mut paths = Paths::new(&graph, component);
    let mut contributions: Vec<(u64, usize)> =
        hubs.iter().map(|node| (paths.sum_without(Some(*node)), *node)).collect();
    contributions.sort_unstable_by_key(|(sum, node)| (Reverse(*sum), tie(*node)));
    contributions.truncate(config.key_concepts);
    contributions.iter().map(|(_, node)| nodes[*node]).collect()
}

/// Joins concepts at most `edge_terms` apart within a sentence.
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

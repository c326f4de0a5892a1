//! Groups terms into concepts (paper 000, section 3.2.1).
//!
//! A term fits a concept if `2·|overlap| / (|synonyms of one| + |of the other|)`, for the term and the
//! concept's founding term, is above a bound. In order of first appearance, each term joins the first concept
//! that it fits, or founds a new one.

use std::collections::HashMap;

use super::lexicon::ConceptLexicon;
use leitong_text::segment::Terms;

/// The concepts of a text.
pub(super) struct Concepts {
    concepts: Vec<Concept>,
    /// The concept of each term, in the order of the text.
    sequence: Vec<u32>,
}

struct Concept {
    /// Number of the distinct term that founded the concept.
    founder: u32,
    /// The founding term's entry in the lexicon.
    entry: Option<u64>,
    frequency: u32,
}

impl Concepts {
    pub(super) fn new(terms: &Terms, lexicon: &ConceptLexicon, overlap_above: u32) -> Self {
        let mut concepts: Vec<Concept> = Vec::with_capacity(terms.distinct().len());
        let mut concept_of_term: Vec<u32> = Vec::with_capacity(terms.distinct().len());
        // The concepts whose founding term has a given synonym, and for the current term how many synonyms it
        // shares with each concept.
        let mut founders_with: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut overlaps: HashMap<u32, u64> = HashMap::new();
        for (number, term) in (0..).zip(terms.distinct()) {
            let entry = if lexicon.is_empty() { None } else { lexicon.entry(terms.first(*term), term.hash) };
            let synonyms = entry.map_or(&[][..], |entry| lexicon.synonyms(entry));
            overlaps.clear();
            for concept in synonyms.iter().filter_map(|synonym| founders_with.get(synonym)).flatten() {
                *overlaps.entry(*concept).or_default() += 1;
            }
            let passes = |(concept, overlap): (&u32, &u64)| {
                let of_founder =
                    concepts[*concept as usize].entry.map_or(0, |entry| lexicon.synonyms(entry).len());
                let both = (synonyms.len() + of_founder) as u64;
                (2 * overlap * 10_000 > u64::from(overlap_above) * both).then_some(*concept)
            };
            // The first concept that passes. The minimum does not depend on the order of the map.
            let concept = overlaps.iter().filter_map(passes).min().unwrap_or_else(|| {
                let new = concepts.len() as u32;
                concepts.push(Concept { founder: number, entry, frequency: 0 });
                synonyms.iter().for_each(|synonym| founders_with.entry(*synonym).or_default().push(new));
                new
            });
            concepts[concept as usize].frequency += term.frequency;
            concept_of_term.push(concept);
        }
        let sequence = terms.terms().iter().map(|term| concept_of_term[term.distinct as usize]).collect();
        Self { concepts, sequence }
    }

    /// Returns the number of concepts; they are numbered in order of first occurrence.
    pub(super) fn len(&self) -> usize {
        self.concepts.len()
    }

    /// Returns the concept of each term, in the order of the text.
    pub(super) fn sequence(&self) -> &[u32] {
        &self.sequence
    }

    pub(super) fn frequency(&self, concept: u32) -> u32 {
        self.concepts[concept as usize].frequency
    }

    /// Returns the smallest of the founding term's synonyms. Texts that use other words for the concept
    /// arrive at the same name.
    pub(super) fn name<'l>(&self, concept: u32, lexicon: &'l ConceptLexicon) -> Option<&'l str> {
        lexicon.name(self.concepts[concept as usize].entry?)
    }

    /// Returns the term that founded the concept.
    pub(super) fn founder<'t>(&self, concept: u32, terms: &'t Terms) -> &'t str {
        terms.first(terms.distinct()[self.concepts[concept as usize].founder as usize])
    }

    /// Returns the first `max` positions of each of these concepts.
    pub(super) fn positions(&self, of: &[u32], max: usize) -> Vec<Vec<u32>> {
        let mut positions = vec![Vec::new(); of.len()];
        let mut slot = vec![usize::MAX; self.len()];
        of.iter().enumerate().for_each(|(at, concept)| slot[*concept as usize] = at);
        for (position, concept) in (0..).zip(&self.sequence) {
            if let Some(positions) = positions.get_mut(slot[*concept as usize])
                && positions.len() < max
            {
                positions.push(position);
            }
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::ConceptFile;
    use crate::test_texts;

    #[test]
    fn synonyms_are_one_concept() {
        let terms = test_texts::terms("电脑 网页 计算机 rust 电脑");
        let list =
            ConceptFile { name: "list.tsv".to_owned(), contents: "电脑\t计算机\n".as_bytes().to_vec() };
        let lexicon = ConceptLexicon::new(&[list]).expect("right");
        let concepts = Concepts::new(&terms, &lexicon, 5_000);
        assert_eq!(concepts.sequence(), [0, 1, 0, 2, 0]);
        assert_eq!((concepts.len(), concepts.frequency(0)), (3, 3));
        assert_eq!(concepts.positions(&[2, 0], 2), [vec![3], vec![0, 2]]);
        assert_eq!(concepts.name(0, &lexicon), Some("电脑"));
        assert_eq!(Concepts::new(&terms, &ConceptLexicon::default(), 5_000).len(), 4);
    }
}

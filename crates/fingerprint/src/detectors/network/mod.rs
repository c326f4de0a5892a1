//! `concept-network` (DWDCS, paper 000) and its baseline `word-network` (DWSWN): finds texts with the same
//! key concepts in the same places.
//!
//! ```text
//! terms → concepts (lexicon) → network of neighbours → largest component → hubs → key concepts with
//! positions
//! ```
//! * Concepts (section 3.2.1): in order of first appearance, a term joins the first concept whose founding
//!   term has enough synonyms in common with it. Merging is not transitive. In `word-network` each term is a
//!   concept.
//! * Network (3.2.2): concepts are nodes. Concepts at most two terms apart within a sentence are joined. The
//!   largest connected component is kept.
//! * Key concepts (3.3): the `key_concepts` whose removal lengthens the mean shortest path most, out of the
//!   `hubs` nodes of the highest degree. Ties are broken by frequency, then first occurrence.
//! * Near (3.5): the cosine of the frequencies is above a bound (the paper does not define the vector
//!   entries; these are ours), and the [spread](positions) of the differences between the positions is below
//!   another.
//!
//! A concept is named by the smallest of its founding term's synonyms, so two texts that use different words
//! for one concept share its name. Encoding: number of terms (varint), then for each key concept by rank:
//! length of its name (1 byte), name, frequency (varint), number of positions (1 byte), the first position
//! and the steps to the others (varints).
//!
//! Keys: as for [`tf_idf`](super::tf_idf), exact. Cost: see [`graph`].

mod concepts;
mod config;
mod encoding;
mod graph;
mod key_concepts;
mod lexicon;
mod positions;

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use self::concepts::Concepts;
pub use self::config::{ConceptNetworkConfig, WordNetworkConfig};
use self::config::{GraphConfig, NetworkNearConfig};
use self::encoding::{KeyConcepts, decode, read};
use self::key_concepts::ConceptGraph;
use self::lexicon::ConceptLexicon;
use super::agglomerate_term::shared_terms;
use super::tf_idf::prefix_keys;
use crate::idf::IdfTable;
use crate::resources::{ResourceError, Resources};
use crate::secret::{Purpose, TextHash};
use crate::term_vector;
use crate::{Comparison, Detector, basis_points, to_display};
use leitong_base::varint::push_varint;
use leitong_text::segment::Terms;

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Minimum number of key concepts for a fingerprint.
const KEY_CONCEPTS_MIN: usize = 3;
/// Maximum bytes of a concept's name. A longer one is truncated at the end of a character.
const NAME_BYTES_MAX: usize = 48;

impl ConceptNetworkConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if a lexicon or the IDF table cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(Network::concept_network(self, resources)?))
    }
}

impl WordNetworkConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if the IDF table cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(Network::word_network(self, resources)?))
    }
}

/// Either detector with its settings.
struct Network {
    name: &'static str,
    graph: GraphConfig,
    near: NetworkNearConfig,
    /// Overlap of synonyms, in basis points, above which terms are one concept.
    overlap_above: u32,
    similarity_above: u32,
    spread_below: u32,
    lexicon: ConceptLexicon,
    idf: IdfTable,
    hash: TextHash,
}

impl Network {
    /// Creates the detector `concept-network`.
    fn concept_network(config: &ConceptNetworkConfig, resources: &Resources) -> Result<Self, ResourceError> {
        let lexicon = ConceptLexicon::new(&resources.concepts)?;
        let network = Self::word_network(
            &WordNetworkConfig { graph: config.graph.clone(), near: config.near.clone() },
            resources,
        )?;
        Ok(Self {
            name: "concept-network",
            overlap_above: basis_points(config.overlap_above),
            lexicon,
            ..network
        })
    }

    /// Creates the baseline `word-network`.
    fn word_network(config: &WordNetworkConfig, resources: &Resources) -> Result<Self, ResourceError> {
        Ok(Self {
            name: "word-network",
            graph: config.graph.clone(),
            near: config.near.clone(),
            overlap_above: 10_000,
            similarity_above: basis_points(config.near.similarity_above),
            spread_below: basis_points(config.near.spread_below),
            lexicon: ConceptLexicon::default(),
            idf: IdfTable::new(&resources.idf)?,
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Terms),
        })
    }

    /// Returns the spread in basis points of the longer text, or `None` if the texts share no key concept.
    fn spread(a: &KeyConcepts, b: &KeyConcepts) -> Option<u32> {
        let pairs = a.frequencies.terms.iter().zip(&a.positions).filter_map(|((name, _), of_a)| {
            let at = b.frequencies.terms.iter().position(|(other, _)| other == name)?;
            Some((of_a.as_slice(), b.positions[at].as_slice()))
        });
        positions::spread(pairs, a.frequencies.total.max(b.frequencies.total))
    }
}

impl Detector for Network {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fingerprint_settings(&self) -> Value {
        // The IDF table affects only the keys. The lexicon is identified by its contents, not its paths.
        json!({
            "version": VERSION,
            "graph": self.graph,
            "overlap_above": self.overlap_above,
            "lexicon": self.lexicon.contents(),
            "idf_table": self.idf.contents(),
        })
    }

    fn near_settings(&self) -> Value {
        json!(self.near)
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let concepts = Concepts::new(terms, &self.lexicon, self.overlap_above);
        let key_concepts = key_concepts::select(terms, &concepts, &self.graph);
        if key_concepts.len() < KEY_CONCEPTS_MIN {
            return None;
        }
        let positions = concepts.positions(&key_concepts, self.graph.positions_max);
        let mut bytes = Vec::with_capacity(512);
        push_varint(u32::try_from(terms.terms().len()).unwrap_or(u32::MAX), &mut bytes);
        let mut names: Vec<&str> = Vec::with_capacity(key_concepts.len());
        for (concept, positions) in key_concepts.iter().zip(positions) {
            // Two concepts may have the same smallest synonym, since merging is not transitive. The later one
            // is then named by its founding term, or left out.
            let candidates =
                [concepts.name(*concept, &self.lexicon), Some(concepts.founder(*concept, terms))];
            let mut cut = candidates
                .into_iter()
                .flatten()
                .map(|name| &name[..name.floor_char_boundary(NAME_BYTES_MAX)]);
            let Some(name) = cut.find(|name| !names.contains(name)) else { continue };
            names.push(name);
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
            push_varint(concepts.frequency(*concept), &mut bytes);
            bytes.push(positions.len() as u8);
            let mut before = 0;
            for position in positions {
                push_varint(position - before, &mut bytes);
                before = position;
            }
        }
        (names.len() >= KEY_CONCEPTS_MIN).then(|| bytes.into())
    }

    fn counts(&self, terms: &Terms) -> Vec<(&'static str, u32)> {
        let concepts = Concepts::new(terms, &self.lexicon, self.overlap_above);
        let network = ConceptGraph::new(terms, &concepts, &self.graph);
        vec![
            ("words", terms.distinct().len() as u32),
            ("concepts", concepts.len() as u32),
            ("nodes", network.len() as u32),
            ("connected", network.connected()),
            ("hubs", network.hubs(&concepts, self.graph.hubs).len() as u32),
        ]
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        let sizes = KEY_CONCEPTS_MIN..=self.graph.key_concepts;
        decode(bytes).is_some_and(|concepts| sizes.contains(&concepts.frequencies.terms.len()))
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        let terms = read(fingerprint).frequencies.terms.into_iter();
        prefix_keys(&self.idf, &self.hash, terms, self.similarity_above, keys);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let (a, b) = (read(a), read(b));
        let similarity = term_vector::cosine(&a.frequencies, &b.frequencies);
        let near = similarity > self.similarity_above
            && (self.spread_below == 10_000
                || Self::spread(&a, &b).is_some_and(|spread| spread < self.spread_below));
        Comparison { distance: 10_000 - similarity, near }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let (a, b) = (read(a), read(b));
        let mut evidence = Map::new();
        evidence.insert("similarity_above".into(), to_display(self.similarity_above).into());
        evidence.insert("spread".into(), Self::spread(&a, &b).map(to_display).into());
        evidence.insert("spread_below".into(), to_display(self.spread_below).into());
        evidence.insert("shared_concepts".into(), shared_terms(&a.frequencies, &b.frequencies));
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        format!("{:016x}", xxh3_64(fingerprint))
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        let similarity = 10_000_u32.saturating_sub(distance + 1);
        Some(format!("[{}.near]\nsimilarity_above = {}", self.name, to_display(similarity)))
    }
}

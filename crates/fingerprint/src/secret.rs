//! A secret that keys the fingerprints' hashes, for users who delete or hide pages on a verdict.
//!
//! Without a secret, anybody can compute the fingerprint of a text, and search for words and passages that
//! make their own text the near-duplicate of a page with which it shares nothing: among twenty thousand
//! made-up words, some two hundred are enough to pull all 64 bits of a SimHash to another page's. With a
//! secret, all hashes of text are SipHash-2-4 with keys derived from it, and such a search cannot compute
//! anything.
//!
//! * *Why SipHash*: XXH3 with a secret seed is not a keyed hash. It is made for speed and promises nothing if
//!   an attacker chooses the texts and sees the results. SipHash is made for exactly that, and for short
//!   inputs such as terms and passages; BLAKE3 is as safe but made for long ones. SipHash-2-4 has more rounds
//!   than any known attack reaches.
//! * *Why Argon2id*: the [`id`](Secret::id) of a secret is part of the fingerprint hash, which every verdict
//!   shows. If it were a fast hash, a weak secret could be guessed by trying words. Each guess takes 19 MB
//!   and two passes over them. The id and the keys are different parts of the output of Argon2id, so the id
//!   reveals nothing about the keys.
//!
//! In: the secret's text. Out: four keys and an id, permanently the same for each text.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use siphasher::sip::SipHasher24;
use siphasher::sip128::SipHasher24 as SipHasher24Of128;
use thiserror::Error;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Minimum length of a secret in bytes: half of the output of `openssl rand -hex 16`.
const BYTES_MIN: usize = 16;
/// Memory of the derivation in KiB, as OWASP recommends. Another value would derive other keys from the same
/// secret.
const MEMORY_KIB: u32 = 19 * 1_024;
/// Number of passes of the derivation, as OWASP recommends. Another value would derive other keys, too.
const PASSES: u32 = 2;
const ID_BYTES: usize = 8;
const KEY_BYTES: usize = 16;
/// The salt is fixed, because all instances that share a secret must derive the same keys and have nothing
/// else in common.
const SALT: &[u8] = b"leitong fingerprint secret 1";

/// The keys and the id derived from a secret. Neither they nor the secret can be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    id: [u8; ID_BYTES],
    keys: [[u8; KEY_BYTES]; 4],
}

/// Reasons why a text cannot be a secret. No message shows the text.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SecretError {
    /// The secret is short enough to be guessed.
    #[error("{0} bytes are too few for a secret; make one of {BYTES_MIN} or more: openssl rand -hex 32")]
    TooShort(usize),
    /// There is not enough memory.
    #[error("keys cannot be derived from the secret: {0}; this takes 19 MB of memory")]
    NotDerived(String),
}

/// The purpose of a hash. Each purpose has its own key, so knowledge about one hash reveals nothing about
/// another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Single terms.
    Terms = 0,
    /// Passages of a few words or characters.
    Passages = 1,
    /// Other hashes of a text or its parts, and keys of the index.
    Texts = 2,
    /// Whole texts.
    Digest = 3,
}

impl Secret {
    /// Derives the keys. This takes two passes over 19 MB, once at the start of a program.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn new(secret: &str) -> Result<Self, SecretError> {
        if secret.len() < BYTES_MIN {
            return Err(SecretError::TooShort(secret.len()));
        }
        let not_derived = |error: argon2::Error| SecretError::NotDerived(error.to_string());
        let mut derived = [0; ID_BYTES + 4 * KEY_BYTES];
        let parameters = Params::new(MEMORY_KIB, PASSES, 1, Some(derived.len())).map_err(not_derived)?;
        Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
            .hash_password_into(secret.as_bytes(), SALT, &mut derived)
            .map_err(not_derived)?;
        let (id, keys) = derived.split_at(ID_BYTES);
        let mut made = Self { id: [0; ID_BYTES], keys: [[0; KEY_BYTES]; 4] };
        made.id.copy_from_slice(id);
        made.keys.as_flattened_mut().copy_from_slice(keys);
        Ok(made)
    }

    /// Returns the id, which is part of the fingerprint hash. It is equal only for equal secrets and reveals
    /// nothing about the keys.
    #[must_use]
    pub fn id(&self) -> String {
        self.id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

/// The hash that detectors use: XXH3-64 without a secret, SipHash-2-4 with one.
#[derive(Clone, Copy, Default)]
pub(crate) struct TextHash(Option<SipHasher24>);

impl TextHash {
    pub(crate) fn new(secret: Option<&Secret>, purpose: Purpose) -> Self {
        Self(secret.map(|secret| SipHasher24::new_with_key(&secret.keys[purpose as usize])))
    }

    /// Returns true if there is a secret.
    pub(crate) fn is_keyed(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        self.0.map_or_else(|| xxh3_64(bytes), |hasher| hasher.hash(bytes))
    }

    /// Returns the hash of a term; `unkeyed` is its hash without a secret.
    #[inline]
    pub(crate) fn hash_term(&self, term: &str, unkeyed: impl FnOnce() -> u64) -> u64 {
        self.0.map_or_else(unkeyed, |hasher| hasher.hash(term.as_bytes()))
    }
}

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_keyed() { "keyed" } else { "XXH3" })
    }
}

/// The hash of whole texts: XXH3-128 without a secret, SipHash-2-4 of 128 bits with one.
#[derive(Clone, Copy, Default)]
pub struct DigestHash(Option<SipHasher24Of128>);

impl DigestHash {
    /// Creates the hash for this secret, if there is one.
    #[must_use]
    pub fn new(secret: Option<&Secret>) -> Self {
        let key = secret.map(|secret| &secret.keys[Purpose::Digest as usize]);
        Self(key.map(SipHasher24Of128::new_with_key))
    }

    pub(crate) fn hash(&self, bytes: &[u8]) -> u128 {
        self.0.map_or_else(|| xxh3_128(bytes), |hasher| hasher.hash(bytes).as_u128())
    }
}

impl fmt::Debug for DigestHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "keyed" } else { "XXH3" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_secret_always_derives_its_own_keys() {
        let one = Secret::new("a secret of this test").expect("long enough");
        assert_eq!(one, Secret::new("a secret of this test").expect("long enough"));
        let other = Secret::new("a secret of this tesu").expect("long enough");
        assert_ne!(one.id(), other.id());
        assert!(one.keys.iter().zip(&other.keys).all(|(a, b)| a != b), "every key is another one");
        // Values derived by another implementation of Argon2id and SipHash.
        assert_eq!(one.id(), "4327eca016cf947b");
        let hash = TextHash::new(Some(&one), Purpose::Terms);
        assert_eq!(format!("{:016x}", hash.hash("雷同".as_bytes())), "e281c7d53087c63b");
    }

    #[test]
    fn nothing_shows_a_secret() {
        let secret = Secret::new("a secret of this test").expect("long enough");
        let hash = TextHash::new(Some(&secret), Purpose::Terms);
        let shown = format!("{secret:?} {hash:?} {:?}", DigestHash::new(Some(&secret)));
        assert_eq!(shown, "Secret(not shown) keyed keyed");
        let error = Secret::new("too short").expect_err("9 bytes");
        assert_eq!(error, SecretError::TooShort(9));
        assert!(!format!("{error} {error:?}").contains("too short"), "{error}");
    }

    #[test]
    fn hashes_without_a_secret_are_xxh3() {
        assert_eq!(TextHash::new(None, Purpose::Texts).hash(b"abc"), xxh3_64(b"abc"));
        assert_eq!(DigestHash::new(None).hash(b"abc"), xxh3_128(b"abc"));
    }
}

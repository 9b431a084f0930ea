//! What is in the files of a generated set.

use wasp_random::{Key, Purpose, Stream};

/// The bytes of one file: noise, which does not compress, a function of the seed and the number of the file.
///
/// Of a longer and a shorter file with the same number the shorter is the beginning of the longer.
#[derive(Clone, Debug)]
pub struct Content {
    stream: Stream,
    /// The word that has been used in part, and how many of its bytes.
    word: ([u8; 8], usize),
}

impl Content {
    /// The content of file number `file` of the set with this seed.
    #[must_use]
    pub fn new(seed: u64, file: u32) -> Self {
        let key = Key::root(seed, 0).purpose(Purpose::FileSize).name("content").entity(u64::from(file));
        Self { stream: key.stream(), word: ([0; 8], 8) }
    }

    /// Fills `buffer` with the next bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let (word, used) = &mut self.word;
        let rest = buffer.len().min(8 - *used);
        let (begun, buffer) = buffer.split_at_mut(rest);
        begun.copy_from_slice(&word[*used..*used + rest]);
        *used += rest;
        let mut words = buffer.chunks_exact_mut(8);
        for bytes in &mut words {
            bytes.copy_from_slice(&self.stream.next_u64().to_le_bytes());
        }
        let last = words.into_remainder();
        if !last.is_empty() {
            *word = self.stream.next_u64().to_le_bytes();
            last.copy_from_slice(&word[..last.len()]);
            *used = last.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn content_is_the_same_in_pieces(pieces in prop::collection::vec(0_usize..30, 1..20)) {
            let mut whole = vec![0; pieces.iter().sum()];
            Content::new(1, 7).fill(&mut whole);
            let mut content = Content::new(1, 7);
            let mut rest: &mut [u8] = &mut whole.clone();
            for piece in pieces {
                let (filled, left) = rest.split_at_mut(piece);
                content.fill(filled);
                rest = left;
            }
            let mut again = vec![0; whole.len()];
            Content::new(1, 7).fill(&mut again);
            prop_assert_eq!(whole, again);
        }
    }

    #[test]
    fn files_and_seeds_differ() {
        let bytes = |seed, file| {
            let mut bytes = [0; 64];
            Content::new(seed, file).fill(&mut bytes);
            bytes
        };
        assert_ne!(bytes(1, 0), bytes(1, 1));
        assert_ne!(bytes(1, 0), bytes(2, 0));
    }
}

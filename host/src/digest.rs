//! A SHA-256 tree with fan-out 64: a digest that many cores, or a GPU, can compute together.
//!
//! | what | of |
//! |---|---|
//! | leaf | `SHA256(0x00 \|\| piece)`, pieces of 8192 bytes, the last one may be shorter |
//! | node | `SHA256(0x02 \|\| 64 digests)`, level after level, while more than 64 are left |
//! | digest | `SHA256(0x01 \|\| u64 length in bytes \|\| the digests left)` |
//!
//! ```
//! assert_ne!(warpack::digest::tree(b""), warpack::digest::tree(b"\0"));
//! ```

#[cfg(target_arch = "x86_64")]
mod lanes;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// A digest as stored.
pub type Digest = [u8; DIGEST_BYTES];

/// Bytes of a leaf's piece.
const PIECE_BYTES: usize = 8192;
/// Digests under one node.
const FAN_OUT: usize = 64;
/// Pieces that one task hashes: below, handing them out costs more than it brings, and vector code takes as many at once.
const PIECES_PER_TASK: usize = 16;

const LEAF: u8 = 0;
const ROOT: u8 = 1;
const NODE: u8 = 2;

/// The digest of `plain`, computed on all cores of the current rayon pool.
pub fn tree(plain: &[u8]) -> Digest {
    let mut level = vec![[0; DIGEST_BYTES]; plain.len().div_ceil(PIECE_BYTES)];
    let groups = plain.par_chunks(PIECES_PER_TASK * PIECE_BYTES).zip(level.par_chunks_mut(PIECES_PER_TASK));
    groups.for_each(|(pieces, digests)| leaves(pieces, digests));
    while level.len() > FAN_OUT {
        level = level.chunks(FAN_OUT).map(|group| hash(NODE, &[group.as_flattened()])).collect();
    }
    hash(ROOT, &[&(plain.len() as u64).to_le_bytes(), level.as_flattened()])
}

/// The digests of the leaves of up to [`PIECES_PER_TASK`] pieces.
fn leaves(pieces: &[u8], digests: &mut [Digest]) {
    #[cfg(target_arch = "x86_64")]
    if let (Ok(pieces), Ok(digests)) = (pieces.try_into(), (&mut *digests).try_into())
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
    {
        // SAFETY: the processor was asked for both features.
        return unsafe { lanes::leaves(pieces, digests) };
    }
    for (piece, digest) in pieces.chunks(PIECE_BYTES).zip(digests) {
        *digest = hash(LEAF, &[piece]);
    }
}

fn hash(role: u8, parts: &[&[u8]]) -> Digest {
    let mut sha = Sha256::new_with_prefix([role]);
    for part in parts {
        sha.update(part);
    }
    sha.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words `(i * i >> 11) mod 2^16`, little-endian.
    fn squares(bytes: usize) -> Vec<u8> {
        (0..bytes as u64 / 2).flat_map(|i| (((i * i) >> 11) as u16).to_le_bytes()).collect()
    }

    fn hex(digest: Digest) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Pins that two independent implementations agreed on.
    #[test]
    fn pins_hold() {
        for (bytes, pin) in [
            (524_288, "08be3346b98a19bb527d61efddb768733fcf6981e75c484ef7f821d13d306070"), // 64 leaves: no node
            (524_290, "127dcba92bf5d881fd2fe730ed295b9be91fb56b5e70ca8f9412b300d05e45ff"), // 65 leaves: two nodes
            (16 << 20, "876efb0986702d59fffbdaa3cc87a17757e2de821b3738aff756b05b9201a6aa"),
        ] {
            assert_eq!(hex(tree(&squares(bytes))), pin, "{bytes} bytes");
        }
        let sparse: Vec<u8> =
            (0..1_100_000u64).flat_map(|i| if i % 1000 == 999 { i as u16 } else { 0x1234 }.to_le_bytes()).collect();
        assert_eq!(hex(tree(&sparse)), "f4afe0bcd21673914ea907c938c03dcb249d9418bdde0c644ac41a93b4f4c815");
    }

    /// Whole groups of pieces go another way than single ones.
    #[test]
    fn groups_are_hashed_like_pieces() {
        let plain = squares(16 * PIECE_BYTES);
        let mut digests = [[0; DIGEST_BYTES]; 16];
        leaves(&plain, &mut digests);
        for (piece, digest) in plain.chunks(PIECE_BYTES).zip(digests) {
            assert_eq!(digest, hash(LEAF, &[piece]));
        }
    }

    /// Of SHA-256 in its plain form, by hand from the table above: no leaf, and one of one byte.
    #[test]
    fn small_inputs_follow_the_table() {
        let empty: Digest = Sha256::digest([1, 0, 0, 0, 0, 0, 0, 0, 0]).into();
        assert_eq!(tree(b""), empty);
        let leaf = Sha256::digest([0, 7]);
        let one: Digest = Sha256::digest([&[1, 1, 0, 0, 0, 0, 0, 0, 0][..], &leaf].concat()).into();
        assert_eq!(tree(&[7]), one);
    }
}

//! Generators. Uniform random bytes never shrink and would test the raw path only, so these aim at what codecs do: lengths
//! around every edge, runs that differ in width, and now and then an outlier.

use quickcheck::{Arbitrary, Gen};

/// Plain bytes for a codec of words.
#[derive(Clone, Debug)]
pub struct Plain(pub Vec<u8>);

/// Lengths around every edge: of words, subchunks, chunks of each size, shares of a thread.
const EDGES: [usize; 18] = [0, 1, 2, 7, 8, 31, 32, 33, 64, 255, 256, 257, 2048, 4096, 8192, 16_384, 20_480, 49_152];

impl Arbitrary for Plain {
    fn arbitrary(g: &mut Gen) -> Self {
        let edge = *g.choose(&EDGES).expect("there are edges");
        let bytes = match u8::arbitrary(g) % 4 {
            0 => edge,
            1 => edge + usize::arbitrary(g) % 18,
            2 => edge.saturating_sub(usize::arbitrary(g) % 18),
            _ => usize::arbitrary(g) % 40_000,
        };
        let word_bytes = *g.choose(&[1, 2, 4, 8]).expect("there are sizes");
        let mut plain = Vec::with_capacity(bytes + 8);
        while plain.len() < bytes {
            // A run of words of one width, of about a subchunk or a part of one.
            let width = u32::arbitrary(g) % (8 * word_bytes as u32 + 1);
            let run = 1 + usize::arbitrary(g) % 700;
            let outliers = bool::arbitrary(g);
            for _ in 0..run.min((bytes - plain.len()).div_ceil(word_bytes)) {
                let full = outliers && u8::arbitrary(g) == 0;
                let mask = if full { u64::MAX } else { u64::MAX.checked_shr(64 - width).unwrap_or(0) };
                let word = u64::arbitrary(g) & mask;
                plain.extend_from_slice(&word.to_le_bytes()[..word_bytes]);
            }
        }
        plain.truncate(bytes);
        Self(plain)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let plain = self.0.clone();
        let halves = [plain.len() / 2, plain.len().saturating_sub(1)];
        let shorter = halves.into_iter().filter({
            let whole = plain.len();
            move |&bytes| bytes < whole
        });
        Box::new(shorter.map(move |bytes| Self(plain[..bytes].to_vec())))
    }
}

/// The next number of splitmix64: for data that has to be the same in every run.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// `words` 16-bit words of half-normal noise, |N(0, sigma)| rounded: the corpus of the benches.
pub fn half_normal_u16(words: usize, sigma: f64) -> Vec<u8> {
    let mut state = 1;
    let mut uniform = || (splitmix64(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
    let mut plain = Vec::with_capacity(2 * words);
    while plain.len() < 2 * words {
        // Box and Muller; 1 - u is never 0.
        let radius = sigma * (-2.0 * (1.0 - uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * uniform();
        for value in [radius * angle.cos(), radius * angle.sin()] {
            plain.extend_from_slice(&(value.abs().round() as u16).to_le_bytes());
        }
    }
    plain.truncate(2 * words);
    plain
}

//! The components' kernels by name, and their shapes.

use super::Settings;
use shared_types::launch::Launch;
use shared_types::lc::{ChunkSize, TILE_BYTES, WordSize};
use shared_types::{clog, reducer};

/// What to launch for a component with some settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelNames {
    /// The chunks, plain to stream.
    pub encode: &'static str,
    /// The chunks, stream to plain.
    pub decode: &'static str,
    /// Kernels of their own for the short last chunk, plain to stream and back, where those above do not take it.
    pub tails: Option<[&'static str; 2]>,
    /// Shape of `encode`.
    pub encode_launch: Launch,
    /// Shape of `decode`.
    pub decode_launch: Launch,
    /// Shape of the tails.
    pub tail_launch: Launch,
    /// Plain bytes that a block of `encode` and `decode` takes.
    pub tile_bytes: u32,
}

impl KernelNames {
    /// The kernels of the component called `component` in the table of stages, if it has any.
    pub fn of(component: &str, settings: Settings) -> Option<Self> {
        let (encode, decode) = names(component, settings)?;
        Some(if let "clog" | "hclog" = component {
            Self {
                encode,
                decode,
                tails: Some(tails(component, settings.word)),
                encode_launch: clog::encode_launch(settings.word.bytes(), settings.chunk, component == "hclog"),
                decode_launch: clog::DECODE,
                tail_launch: clog::TAIL,
                tile_bytes: TILE_BYTES,
            }
        } else {
            Self {
                encode,
                decode,
                tails: None,
                encode_launch: reducer::ENCODE,
                decode_launch: reducer::DECODE,
                tail_launch: clog::TAIL,
                tile_bytes: reducer::TILE_BYTES,
            }
        })
    }
}

impl KernelNames {
    /// The kernels that also take differences and zigzags, for words of 2 and 4 bytes; they take two arguments more.
    pub fn fused(settings: Settings) -> Option<Self> {
        use ChunkSize::{C4096, C8192, C16384};
        use WordSize::{W2, W4};
        let (encode, decode) = match (settings.word, settings.chunk) {
            (W2, C4096) => ("lorenzo_clog_encode_w2_c4096", "lorenzo_clog_decode_w2_c4096"),
            (W2, C8192) => ("lorenzo_clog_encode_w2_c8192", "lorenzo_clog_decode_w2_c8192"),
            (W2, C16384) => ("lorenzo_clog_encode_w2_c16384", "lorenzo_clog_decode_w2_c16384"),
            (W4, C4096) => ("lorenzo_clog_encode_w4_c4096", "lorenzo_clog_decode_w4_c4096"),
            (W4, C8192) => ("lorenzo_clog_encode_w4_c8192", "lorenzo_clog_decode_w4_c8192"),
            (W4, C16384) => ("lorenzo_clog_encode_w4_c16384", "lorenzo_clog_decode_w4_c16384"),
            _ => return None,
        };
        let tails = match settings.word {
            W2 => ["lorenzo_clog_encode_tail_w2", "lorenzo_clog_decode_tail_w2"],
            _ => ["lorenzo_clog_encode_tail_w4", "lorenzo_clog_decode_tail_w4"],
        };
        Some(Self {
            encode,
            decode,
            tails: Some(tails),
            encode_launch: clog::FUSED_ENCODE,
            decode_launch: clog::DECODE,
            tail_launch: clog::TAIL,
            tile_bytes: TILE_BYTES,
        })
    }
}

fn names(component: &str, settings: Settings) -> Option<(&'static str, &'static str)> {
    use ChunkSize::{C4096, C8192, C16384};
    use WordSize::{W1, W2, W4, W8};
    Some(match (component, settings.word, settings.chunk) {
        ("clog", W1, C4096) => ("clog_encode_w1_c4096", "clog_decode_w1_c4096"),
        ("clog", W1, C8192) => ("clog_encode_w1_c8192", "clog_decode_w1_c8192"),
        ("clog", W1, C16384) => ("clog_encode_w1_c16384", "clog_decode_w1_c16384"),
        ("clog", W2, C4096) => ("clog_encode_w2_c4096", "clog_decode_w2_c4096"),
        ("clog", W2, C8192) => ("clog_encode_w2_c8192", "clog_decode_w2_c8192"),
        ("clog", W2, C16384) => ("clog_encode_w2_c16384", "clog_decode_w2_c16384"),
        ("clog", W4, C4096) => ("clog_encode_w4_c4096", "clog_decode_w4_c4096"),
        ("clog", W4, C8192) => ("clog_encode_w4_c8192", "clog_decode_w4_c8192"),
        ("clog", W4, C16384) => ("clog_encode_w4_c16384", "clog_decode_w4_c16384"),
        ("clog", W8, C4096) => ("clog_encode_w8_c4096", "clog_decode_w8_c4096"),
        ("clog", W8, C8192) => ("clog_encode_w8_c8192", "clog_decode_w8_c8192"),
        ("clog", W8, C16384) => ("clog_encode_w8_c16384", "clog_decode_w8_c16384"),
        ("hclog", W1, C4096) => ("hclog_encode_w1_c4096", "hclog_decode_w1_c4096"),
        ("hclog", W1, C8192) => ("hclog_encode_w1_c8192", "hclog_decode_w1_c8192"),
        ("hclog", W1, C16384) => ("hclog_encode_w1_c16384", "hclog_decode_w1_c16384"),
        ("hclog", W2, C4096) => ("hclog_encode_w2_c4096", "hclog_decode_w2_c4096"),
        ("hclog", W2, C8192) => ("hclog_encode_w2_c8192", "hclog_decode_w2_c8192"),
        ("hclog", W2, C16384) => ("hclog_encode_w2_c16384", "hclog_decode_w2_c16384"),
        ("hclog", W4, C4096) => ("hclog_encode_w4_c4096", "hclog_decode_w4_c4096"),
        ("hclog", W4, C8192) => ("hclog_encode_w4_c8192", "hclog_decode_w4_c8192"),
        ("hclog", W4, C16384) => ("hclog_encode_w4_c16384", "hclog_decode_w4_c16384"),
        ("hclog", W8, C4096) => ("hclog_encode_w8_c4096", "hclog_decode_w8_c4096"),
        ("hclog", W8, C8192) => ("hclog_encode_w8_c8192", "hclog_decode_w8_c8192"),
        ("hclog", W8, C16384) => ("hclog_encode_w8_c16384", "hclog_decode_w8_c16384"),
        ("rre", W1, _) => ("rre_encode_w1", "rre_decode_w1"),
        ("rre", W2, _) => ("rre_encode_w2", "rre_decode_w2"),
        ("rre", W4, _) => ("rre_encode_w4", "rre_decode_w4"),
        ("rre", W8, _) => ("rre_encode_w8", "rre_decode_w8"),
        ("rze", W1, _) => ("rze_encode_w1", "rze_decode_w1"),
        ("rze", W2, _) => ("rze_encode_w2", "rze_decode_w2"),
        ("rze", W4, _) => ("rze_encode_w4", "rze_decode_w4"),
        ("rze", W8, _) => ("rze_encode_w8", "rze_decode_w8"),
        ("rare", W1, _) => ("rare_encode_w1", "rare_decode_w1"),
        ("rare", W2, _) => ("rare_encode_w2", "rare_decode_w2"),
        ("rare", W4, _) => ("rare_encode_w4", "rare_decode_w4"),
        ("rare", W8, _) => ("rare_encode_w8", "rare_decode_w8"),
        ("raze", W1, _) => ("raze_encode_w1", "raze_decode_w1"),
        ("raze", W2, _) => ("raze_encode_w2", "raze_decode_w2"),
        ("raze", W4, _) => ("raze_encode_w4", "raze_decode_w4"),
        ("raze", W8, _) => ("raze_encode_w8", "raze_decode_w8"),
        _ => return None,
    })
}

fn tails(component: &str, word: WordSize) -> [&'static str; 2] {
    use WordSize::{W1, W2, W4, W8};
    match (component, word) {
        ("clog", W1) => ["clog_encode_tail_w1", "clog_decode_tail_w1"],
        ("clog", W2) => ["clog_encode_tail_w2", "clog_decode_tail_w2"],
        ("clog", W4) => ["clog_encode_tail_w4", "clog_decode_tail_w4"],
        ("clog", W8) => ["clog_encode_tail_w8", "clog_decode_tail_w8"],
        (_, W1) => ["hclog_encode_tail_w1", "hclog_decode_tail_w1"],
        (_, W2) => ["hclog_encode_tail_w2", "hclog_decode_tail_w2"],
        (_, W4) => ["hclog_encode_tail_w4", "hclog_decode_tail_w4"],
        (_, W8) => ["hclog_encode_tail_w8", "hclog_decode_tail_w8"],
    }
}

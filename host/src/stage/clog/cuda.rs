//! CLOG's kernels by name.

use super::{DeviceCodec, Settings};
use crate::Result;
use crate::backend::CudaDevice;
use crate::stage::lc::cuda::KernelNames;
use shared_types::clog::{DECODE, TAIL, encode_launch};
use shared_types::lc::{ChunkSize, TILE_BYTES, WordSize};

/// CLOG on `device`, for data that is there already.
///
/// # Errors
/// [`crate::Error::Cuda`] where the kernels can't be loaded.
pub fn on_device(settings: Settings, device: &CudaDevice) -> Result<DeviceCodec> {
    DeviceCodec::new(settings, names(settings), device)
}

fn names(settings: Settings) -> KernelNames {
    use ChunkSize::{C4096, C8192, C16384};
    use WordSize::{W1, W2, W4, W8};
    let (encode, decode) = match (settings.word, settings.chunk) {
        (W1, C4096) => ("clog_encode_w1_c4096", "clog_decode_w1_c4096"),
        (W2, C4096) => ("clog_encode_w2_c4096", "clog_decode_w2_c4096"),
        (W4, C4096) => ("clog_encode_w4_c4096", "clog_decode_w4_c4096"),
        (W8, C4096) => ("clog_encode_w8_c4096", "clog_decode_w8_c4096"),
        (W1, C8192) => ("clog_encode_w1_c8192", "clog_decode_w1_c8192"),
        (W2, C8192) => ("clog_encode_w2_c8192", "clog_decode_w2_c8192"),
        (W4, C8192) => ("clog_encode_w4_c8192", "clog_decode_w4_c8192"),
        (W8, C8192) => ("clog_encode_w8_c8192", "clog_decode_w8_c8192"),
        (W1, C16384) => ("clog_encode_w1_c16384", "clog_decode_w1_c16384"),
        (W2, C16384) => ("clog_encode_w2_c16384", "clog_decode_w2_c16384"),
        (W4, C16384) => ("clog_encode_w4_c16384", "clog_decode_w4_c16384"),
        (W8, C16384) => ("clog_encode_w8_c16384", "clog_decode_w8_c16384"),
    };
    let tails = match settings.word {
        W1 => ["clog_encode_tail_w1", "clog_decode_tail_w1"],
        W2 => ["clog_encode_tail_w2", "clog_decode_tail_w2"],
        W4 => ["clog_encode_tail_w4", "clog_decode_tail_w4"],
        W8 => ["clog_encode_tail_w8", "clog_decode_tail_w8"],
    };
    KernelNames {
        encode,
        decode,
        tails: Some(tails),
        encode_launch: encode_launch(settings.chunk),
        decode_launch: DECODE,
        tail_launch: TAIL,
        tile_bytes: TILE_BYTES,
    }
}

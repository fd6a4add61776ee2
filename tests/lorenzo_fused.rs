//! The fused kernels write the bytes of one stage after another, and read them.

mod support;

use support::assert_same_bytes;
use support::generate::splitmix64;
use support::lorenzo_emulator::{decode_fused, encode_fused};
use support::{Cpu, Executor, Spec};
use warpack::ElementType;
use warpack::lorenzo::{Lorenzo, Predictor, zigzag};
use warpack::stage::clog::{ENTRY, Settings};

/// Lorenzo, zigzag and CLOG on the CPU, one after the other.
fn staged(plain: &[u8], element: ElementType, length: u32, order: u32, settings: Settings) -> Vec<u8> {
    let lorenzo = Lorenzo::builder(element).block_size(length.into()).order(order.into()).build().expect("settings");
    let residuals = lorenzo.forward(plain).expect("ports").output;
    let mut mapped = vec![0; residuals.len()];
    zigzag::map(settings.word, &residuals, &mut mapped).expect("as long");
    Cpu.encode(&Spec { entry: &ENTRY, settings }, &mapped).expect("a stream")
}

#[test]
fn fused_kernels_agree_with_one_stage_after_another() {
    let mut state = 7;
    for settings in Settings::all() {
        let word = settings.word.bytes();
        let element = match word {
            2 => ElementType::U16,
            4 => ElementType::U32,
            _ => continue,
        };
        let chunk = settings.chunk.bytes() as usize;
        for length in [16 / word, 32, 256, 1024] {
            for order in [1, 2] {
                // Smooth, noisy and all-different parts; a tail of its own, or none.
                let bytes = [0, 4, chunk + 24, 3 * chunk, 36_864 + 1000][splitmix64(&mut state) as usize % 5];
                let mut plain = vec![0u8; bytes];
                let mut walk = 1000u64;
                for (i, number) in plain.chunks_exact_mut(word as usize).enumerate() {
                    let r = splitmix64(&mut state);
                    walk = walk.wrapping_add((r >> 32) % 9).wrapping_sub(4);
                    let x = if i / 3000 % 3 == 2 { r } else { walk };
                    number.copy_from_slice(&x.to_le_bytes()[..word as usize]);
                }
                let at = format!("{bytes} bytes in segments of {length}, order {order}, {settings:?}");
                let expected = staged(&plain, element, length, order, settings);
                let coded = encode_fused(&plain, settings, length, order);
                assert_same_bytes(&coded, &expected, &at);
                assert_same_bytes(&decode_fused(&coded, plain.len(), settings, length, order), &plain, &at);
            }
        }
    }
}

//! Any bytes as one chunk's encoding, with any LC component and settings: refused or decoded, and by all functions alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpack::stage::lc::Settings;
use warpack::stage::{self, Options};

fuzz_target!(|input: &[u8]| {
    let Some((&[which, settings, low, high], coded)) = input.split_first_chunk() else { return };
    let Some(settings) = Settings::all().nth(settings.into()) else { return };
    let options = Options { word_size: Some(settings.word), chunk_size: Some(settings.chunk), ..Options::default() };
    let Some(entry) = stage::ALL.get(usize::from(which)) else { return };
    let Ok(stage) = (entry.from_options)(&options) else { return };
    let Some(component) = stage.chunked() else { return };
    let plain_bytes = usize::from(u16::from_le_bytes([low, high])).clamp(1, settings.chunk.bytes() as usize);
    let mut plain = vec![0xA5; plain_bytes];
    let decoded = component.decode_chunk(coded, &mut plain);
    assert_eq!(component.check_chunk(coded, plain_bytes), decoded);
    if decoded.is_ok() {
        // What it says is not always what an encoder would have written, but an encoder can say it.
        let mut again = vec![0x5A; plain_bytes];
        let mut coded = vec![0; settings.chunk.bytes() as usize];
        if let Some(used) = component.encode_chunk(&plain, &mut coded) {
            component.decode_chunk(&coded[..used], &mut again).expect("what was just encoded");
            assert!(again == plain);
        }
    }
});

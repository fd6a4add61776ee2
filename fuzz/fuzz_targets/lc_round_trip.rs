//! Any bytes as the plain bytes of a stream, with every LC component: they come back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpack::stage::lc::Settings;
use warpack::stage::{self, Options};

fuzz_target!(|input: &[u8]| {
    let Some((&settings, plain)) = input.split_first() else { return };
    let Some(settings) = Settings::all().nth(settings.into()) else { return };
    let options = Options { word_size: Some(settings.word), chunk_size: Some(settings.chunk), ..Options::default() };
    for entry in stage::ALL {
        let Ok(stage) = (entry.from_options)(&options) else { continue };
        let Some(component) = stage.chunked() else { continue };
        let (mut coded, mut again) = (Vec::new(), vec![0xA5; plain.len()]);
        component.encode(plain, &mut coded).expect("it fits");
        assert_eq!(component.check(&coded), Ok(plain.len() as u32), "{}", entry.name);
        component.decode(&coded, &mut again).expect("what was just encoded");
        assert!(again == plain, "{}", entry.name);
    }
});

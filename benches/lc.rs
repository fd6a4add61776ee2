//! The LC components on the CPU, on one thread and on two: `cargo bench --bench lc [-- FILTER]`.
//!
//! Throughput is of plain bytes. The data are 64 MiB of half-normal 16-bit noise (sigma 300) and a real array, repeated to the
//! same length; names read `clog/encode/cpu-1/noise/w2 c16384`.

#![allow(missing_docs)] // criterion's macro makes a function without

#[path = "../tests/support/generate.rs"]
#[allow(dead_code)] // the tests use the rest
mod generate;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;
use warpack::stage::{self, Options, lc::Settings};
use warpack::{ChunkSize, WordSize};

const PLAIN_BYTES: usize = 64 << 20;

fn corpora() -> [(&'static str, Vec<u8>); 2] {
    let file = "mr_t1w7t_8x384x274_i16.raw";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(file);
    let mut mr = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    mr = mr.repeat(PLAIN_BYTES / mr.len() + 1);
    mr.truncate(PLAIN_BYTES);
    [("noise", generate::half_normal_u16(PLAIN_BYTES / 2, 300.0)), ("mr", mr)]
}

/// All word sizes at the default chunk size, and all chunk sizes at the default word size.
fn all_settings() -> impl Iterator<Item = Settings> {
    let default = Settings::default();
    let words = WordSize::ALL.into_iter().map(move |word| Settings { word, ..default });
    let chunks = ChunkSize::ALL.into_iter().map(move |chunk| Settings { chunk, ..default });
    words.chain(chunks.filter(move |&settings| settings != default))
}

fn components(c: &mut Criterion) {
    let corpora = corpora();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for (entry, (corpus, plain)) in stage::ALL.iter().flat_map(|entry| corpora.iter().map(move |corpus| (entry, corpus))) {
            for settings in all_settings() {
                let options =
                    Options { word_size: Some(settings.word), chunk_size: Some(settings.chunk), ..Options::default() };
                let stage = (entry.from_options)(&options);
                let Ok(Some(component)) = stage.as_ref().map(|stage| stage.chunked()) else { continue };
                let id = format!("w{} c{}", settings.word.bytes(), settings.chunk.bytes());
                let (mut coded, mut again) = (Vec::new(), vec![0; plain.len()]);

                let mut group = c.benchmark_group(format!("{}/encode/cpu-{threads}/{corpus}", entry.name));
                group.throughput(Throughput::Bytes(plain.len() as u64));
                group.bench_with_input(BenchmarkId::from_parameter(&id), plain, |b, plain| {
                    // The first encoding makes the buffer; the clock sees none of that.
                    pool.install(|| component.encode(plain, &mut coded)).expect("64 MiB fit");
                    pool.install(|| b.iter(|| component.encode(black_box(plain), &mut coded)));
                });
                group.finish();

                let mut group = c.benchmark_group(format!("{}/decode/cpu-{threads}/{corpus}", entry.name));
                group.throughput(Throughput::Bytes(plain.len() as u64));
                group.bench_with_input(BenchmarkId::from_parameter(&id), plain, |b, plain| {
                    component.encode(plain, &mut coded).expect("64 MiB fit");
                    pool.install(|| b.iter(|| component.decode(black_box(&coded), &mut again)));
                    assert!(&again == plain, "{corpus} {id} does not come back");
                });
                group.finish();
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = components
}
criterion_main!(benches);

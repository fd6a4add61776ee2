//! CLOG on the CPU, on one thread and on two: `cargo bench --bench clog [-- FILTER]`.
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
use warpack::stage::clog::{self, Settings};
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

fn clog(c: &mut Criterion) {
    let corpora = corpora();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for (corpus, plain) in &corpora {
            for settings in all_settings() {
                let id = format!("w{} c{}", settings.word.bytes(), settings.chunk.bytes());
                let (mut coded, mut again) = (Vec::new(), vec![0; plain.len()]);
                // The first encoding makes the buffer; the clock sees none of that.
                pool.install(|| clog::encode(settings, plain, &mut coded)).expect("64 MiB fit");
                pool.install(|| clog::decode(settings, &coded, &mut again)).expect("what was just encoded");
                assert!(&again == plain, "{corpus} {id} does not come back");

                let mut group = c.benchmark_group(format!("clog/encode/cpu-{threads}/{corpus}"));
                group.throughput(Throughput::Bytes(plain.len() as u64));
                group.bench_with_input(BenchmarkId::from_parameter(&id), plain, |b, plain| {
                    pool.install(|| b.iter(|| clog::encode(settings, black_box(plain), &mut coded)));
                });
                group.finish();

                let mut group = c.benchmark_group(format!("clog/decode/cpu-{threads}/{corpus}"));
                group.throughput(Throughput::Bytes(plain.len() as u64));
                group.bench_with_input(BenchmarkId::from_parameter(&id), &coded, |b, coded| {
                    pool.install(|| b.iter(|| clog::decode(settings, black_box(coded), &mut again)));
                });
                group.finish();
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = clog
}
criterion_main!(benches);

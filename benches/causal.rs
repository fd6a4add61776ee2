//! The causal codec on the CPU, with the code of every level, on one thread and on all. Prints the selection regret of every corpus first.
//!
//! `WARPACK_DATA` names a folder of 16-bit arrays (`*16.raw`); without it the arrays of the tests are taken.

#![allow(missing_docs)] // the macros' functions

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use warpack::causal::receive::{self, Receiver};
use warpack::causal::send::{self, Settings};
use warpack::causal::{Form, Representation};

/// Name and bytes of every array, cut to one tile.
fn corpora() -> Vec<(String, Vec<u8>)> {
    let folder = std::env::var_os("WARPACK_DATA").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data"));
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with("16.raw"));
    paths.sort();
    let read = |path: &PathBuf| {
        let mut plain = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        plain.truncate(warpack::causal::MAX_TILE_BYTES);
        plain.truncate(plain.len() & !1);
        (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), plain)
    };
    paths.iter().map(read).collect()
}

fn regret(name: &str, plain: &[u8]) {
    let frame =
        |representation| send::encode(plain, &Settings { representation, ..Settings::default() }).expect("a tile").len();
    let forced = Representation::ALL.map(|representation| frame(Some(representation)));
    let (chosen, best) = (frame(None), forced.into_iter().min().unwrap_or(0));
    println!("{name}: {chosen} bytes chosen, {forced:?} forced, regret {}", chosen - best);
}

fn causal(criterion: &mut Criterion) {
    let corpora = corpora();
    corpora.iter().for_each(|(name, plain)| regret(name, plain));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let all = rayon::ThreadPoolBuilder::new().build().expect("threads");
    for (threads, pool) in [("1", &one), ("all", &all)] {
        for form in Form::ALL {
            let settings = Settings { form, ..Settings::default() };
            let mut group = criterion.benchmark_group(format!("causal/encode/{}/{threads}", form.name()));
            for (name, plain) in &corpora {
                group.throughput(Throughput::Bytes(plain.len() as u64));
                for level in send::Level::available() {
                    let mut frame = Vec::with_capacity(plain.len() + 64);
                    group.bench_function(BenchmarkId::new(format!("{level:?}"), name), |bencher| {
                        bencher.iter(|| {
                            frame.clear();
                            pool.install(|| send::encode_with(*level, black_box(plain), &settings, &mut frame))
                                .expect("a tile");
                        });
                    });
                }
            }
            group.finish();
            let mut group = criterion.benchmark_group(format!("causal/decode/{}/{threads}", form.name()));
            for (name, plain) in &corpora {
                group.throughput(Throughput::Bytes(plain.len() as u64));
                let frame = send::encode(plain, &settings).expect("a tile");
                for level in receive::Level::available() {
                    let mut again = vec![0; plain.len()];
                    group.bench_function(BenchmarkId::new(format!("{level:?}"), name), |bencher| {
                        bencher.iter(|| {
                            let decode = || Receiver::open(black_box(&frame))?.decode_with(*level, &mut again);
                            pool.install(decode).expect("a sound frame");
                        });
                    });
                }
            }
            group.finish();
        }
    }
}

criterion_group!(benches, causal);
criterion_main!(benches);

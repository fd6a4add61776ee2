//! The Lorenzo predictors and zigzag on one thread of the CPU, a plain copy beside them: `cargo bench --bench lorenzo [-- FILTER]`.
//!
//! Throughput is of plain bytes; a copy reads and writes as much. The data are a random walk, 64 MiB from memory to memory, and 512 KiB that stay in the
//! second-level cache: the first is what the machine lets through, the second what the code does. Names read `lorenzo/forward/i32/64 MiB/b32 o1`.

#![allow(missing_docs)] // criterion's macro makes a function without

#[path = "../tests/support/generate.rs"]
#[allow(dead_code)] // the tests use the rest
mod generate;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use warpack::lorenzo::{AdaptiveLorenzo, Lorenzo, Policy, PortsMut, Predictor, TiledLorenzo, zigzag};
use warpack::{ElementType, WordSize};

const SIZES: [(&str, usize); 2] = [("64 MiB", 64 << 20), ("512 KiB", 512 << 10)];
const ELEMENTS: [ElementType; 4] = [ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64];

fn walk(element: ElementType, plain_bytes: usize) -> Vec<u8> {
    let (bytes, mut state, mut number) = (element.bytes() as usize, 1, 0u64);
    let mut plain = Vec::with_capacity(plain_bytes);
    while plain.len() < plain_bytes {
        number = number.wrapping_add((generate::splitmix64(&mut state) >> 32) % 7).wrapping_sub(3);
        plain.extend_from_slice(&number.to_le_bytes()[..bytes]);
    }
    plain
}

/// Every kind of setting: the modes, block sizes that suit vectors and some that don't.
fn predictors(element: ElementType, plain_bytes: usize) -> Vec<(String, Box<dyn Predictor>)> {
    let elements = plain_bytes as u64 / element.bytes();
    let mut all: Vec<(String, Box<dyn Predictor>)> = Vec::new();
    let lorenzo = Lorenzo::builder(element);
    let mut add = |name: &str, builder: warpack::lorenzo::Builder| {
        let predictor = builder.build().expect("valid settings");
        all.push((name.to_string(), Box::new(predictor)));
    };
    add("default", lorenzo);
    for block_size in [1, 7, 32, 256, 500, 1024] {
        let lorenzo = lorenzo.block_size(block_size);
        add(&format!("b{block_size} o1"), lorenzo);
        add(&format!("b{block_size} o2"), lorenzo.order(2));
        if block_size % 32 == 0 {
            add(&format!("b{block_size} o1 c"), lorenzo.centering(true));
            add(&format!("b{block_size} o2 c"), lorenzo.order(2).centering(true));
        }
    }
    add("2d", lorenzo.extents([1024, elements / 1024, 1]));
    add("3d", lorenzo.extents([64, 64, elements >> 12]));
    let adaptive = AdaptiveLorenzo::builder(element);
    for (name, policy) in [("adaptive", Policy::Plain), ("adaptive outlier", Policy::Outlier)] {
        if let Ok(adaptive) = adaptive.policy(policy).build() {
            all.push((name.into(), Box::new(adaptive)));
        }
    }
    for (name, extents) in [("tiled 2d", [1024, elements / 1024, 1]), ("tiled 3d", [64, 64, elements >> 12])] {
        if let Ok(tiled) = TiledLorenzo::builder(element).extents(extents).build() {
            all.push((name.into(), Box::new(tiled)));
        }
    }
    all
}

fn lorenzo(c: &mut Criterion) {
    for (element, (size, plain_bytes)) in ELEMENTS.into_iter().flat_map(|element| SIZES.map(|size| (element, size))) {
        let plain = walk(element, plain_bytes);
        let mut again = vec![0xA5; plain.len()];
        let mut group = c.benchmark_group(format!("lorenzo/copy/{element}/{size}"));
        group.throughput(Throughput::Bytes(plain.len() as u64));
        group.bench_function("copy", |b| b.iter(|| again.copy_from_slice(black_box(&plain))));
        group.finish();
        for (name, predictor) in predictors(element, plain_bytes) {
            // The first run makes the buffers; the clock sees none of that.
            let mut ports = predictor.forward(&plain).expect("valid extents");
            let mut means = vec![0; predictor.port_bytes(plain.len() as u64).expect("valid extents").means as usize];
            let mut group = c.benchmark_group(format!("lorenzo/forward/{element}/{size}"));
            group.throughput(Throughput::Bytes(plain.len() as u64));
            group.bench_with_input(BenchmarkId::from_parameter(&name), &plain, |b, plain| {
                b.iter(|| {
                    let ports = PortsMut { output: &mut ports.output, means: &mut means, modes: &mut ports.modes };
                    predictor.forward_into(black_box(plain), ports)
                })
            });
            group.finish();
            let mut group = c.benchmark_group(format!("lorenzo/inverse/{element}/{size}"));
            group.throughput(Throughput::Bytes(plain.len() as u64));
            group.bench_with_input(BenchmarkId::from_parameter(&name), &ports, |b, ports| {
                b.iter(|| predictor.inverse_into(black_box(ports.as_ref()), &mut again));
                assert!(again == plain, "{element} {name} does not come back");
            });
            group.finish();
        }
        let word = WordSize::from_bytes(element.bytes()).expect("a word size");
        let mut mapped = vec![0; plain.len()];
        let mut group = c.benchmark_group(format!("lorenzo/zigzag/{element}/{size}"));
        group.throughput(Throughput::Bytes(plain.len() as u64));
        group.bench_function("map", |b| b.iter(|| zigzag::map(word, black_box(&plain), &mut mapped)));
        group.bench_function("unmap", |b| b.iter(|| zigzag::unmap(word, black_box(&mapped), &mut again)));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(400));
    targets = lorenzo
}
criterion_main!(benches);

//! The Lorenzo predictors: against formulas written down as the format's page has them, on every backend; and what they refuse.

mod support;

use quickcheck::{Arbitrary, Gen, TestResult, quickcheck};
use support::assert_same_bytes;
use support::lorenzo::{Settings, executors};
use warpack::lorenzo::{
    AdaptiveLorenzo, Lorenzo, Mode, Order, Policy, PortBytes, Ports, PortsMut, Predictor, TiledLorenzo, zigzag,
};
use warpack::stage::Record;
use warpack::{ElementType, Error, WordSize};

use ElementType::{I8, I16, I32, I64, U8, U16, U32, U64};

/// The format's page as code that knows no tricks: numbers are taken modulo 2^w at the end only.
mod reference {
    use super::*;

    pub fn numbers(element: ElementType, bytes: &[u8]) -> Vec<i128> {
        let number = |bytes: &[u8]| wrap(element, bytes.iter().rev().fold(0, |number, byte| number << 8 | i128::from(*byte)));
        bytes.chunks(element.bytes() as usize).map(number).collect()
    }

    pub fn bytes(element: ElementType, numbers: &[i128]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()[..element.bytes() as usize].to_vec()).collect()
    }

    /// Read back as a two's complement number.
    fn wrap(element: ElementType, number: i128) -> i128 {
        let unused = 128 - 8 * element.bytes() as u32;
        number << unused >> unused
    }

    /// Section 4.1, in 64 bits that wrap.
    fn mean(segment: &[i128]) -> i128 {
        let sum = segment.iter().fold(0i64, |sum, number| sum.wrapping_add(*number as i64));
        let (count, half) = (segment.len() as i64, segment.len() as i64 / 2);
        (if sum >= 0 { sum.wrapping_add(half) / count } else { sum.wrapping_sub(half) / count }).into()
    }

    /// Sections 3 and 4.2 for one segment.
    fn segment(q: &[i128], second: bool, mean: i128) -> Vec<i128> {
        let at = |j: usize, back: usize| if j >= back { q[j - back] } else { 0 };
        let residual = |j: usize| match (j, second) {
            (0, _) => q[0] - mean,
            (1, true) => q[1] - 2 * q[0] + mean,
            (_, true) => at(j, 0) - 2 * at(j, 1) + at(j, 2),
            (_, false) => at(j, 0) - at(j, 1),
        };
        (0..q.len()).map(residual).collect()
    }

    /// Section 5: the corner sum with its signs.
    fn grid([nx, ny, nz]: [u64; 3], q: &[i128]) -> Vec<i128> {
        let (nx, ny, nz) = (nx as usize, ny as usize, nz as usize);
        let mut residuals = Vec::new();
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let mut residual = 0;
                    for corner in 0..8 {
                        let [dx, dy, dz] = [corner & 1, corner >> 1 & 1, corner >> 2];
                        if x >= dx && y >= dy && z >= dz {
                            let sign = if (dx + dy + dz) % 2 == 0 { 1 } else { -1 };
                            residual += sign * q[((z - dz) * ny + y - dy) * nx + x - dx];
                        }
                    }
                    residuals.push(residual);
                }
            }
        }
        residuals
    }

    fn lorenzo(lorenzo: &Lorenzo, q: &[i128]) -> (Vec<i128>, Vec<i128>, Vec<u8>) {
        let (size, second, centering) = match lorenzo.mode() {
            Mode::Default => (256, false, false),
            Mode::Block(block) => (block.block_size() as usize, block.order() == Order::Second, block.centering()),
            Mode::Grid { extents } => {
                return (if q.is_empty() { Vec::new() } else { grid(extents, q) }, Vec::new(), Vec::new());
            }
        };
        let (mut output, mut means) = (Vec::new(), Vec::new());
        for q in q.chunks(size) {
            let mean = if centering { mean(q) } else { 0 };
            output.extend(segment(q, second, mean));
            means.extend(centering.then_some(mean));
        }
        (output, means, Vec::new())
    }

    /// Section 6.
    fn adaptive(lorenzo: &AdaptiveLorenzo, q: &[i128]) -> (Vec<i128>, Vec<i128>, Vec<u8>) {
        let element = lorenzo.element();
        let bits = |numbers: &[i128]| {
            let longest = numbers.iter().map(|number| 128 - wrap(element, *number).unsigned_abs().leading_zeros());
            longest.max().unwrap_or(0)
        };
        let cost = |block: &[i128]| {
            let plain = if bits(block) == 0 { 0 } else { 4 * (bits(block) + 1) };
            let outlier = bits(&block[..1]).div_ceil(8) + 4 * (bits(&block[1..]) + 1);
            if lorenzo.policy() == Policy::Outlier { plain.min(outlier) } else { plain }
        };
        let (mut output, mut means, mut modes) = (Vec::new(), Vec::new(), Vec::new());
        let tile = 32 * lorenzo.blocks_per_tile() as usize;
        for (number, q) in q.chunks(tile).enumerate() {
            let mean = mean(q);
            let candidate = |number: u8| segment(q, number & 1 == 1, if number & 2 == 2 { mean } else { 0 });
            let exists =
                |number: &u8| (number & 1 == 0 || lorenzo.enable_order2()) && (number & 2 == 0 || lorenzo.enable_centering());
            let total = |number: &u8| {
                let blocks: u32 = candidate(*number).chunks(32).map(cost).sum();
                blocks + if number & 2 == 2 { element.bytes() as u32 } else { 0 }
            };
            let best = (0..4u8).filter(exists).min_by_key(total).unwrap(); // the first of the smallest
            output.extend(candidate(best));
            means.extend((best & 2 == 2).then_some(mean));
            if number % 4 == 0 {
                modes.push(0);
            }
            *modes.last_mut().unwrap() |= best << (2 * (number % 4));
        }
        (output, means, modes)
    }

    /// Section 7: every place of every tile looks for the element that lies there.
    fn tiled(lorenzo: &TiledLorenzo, q: &[i128]) -> Vec<i128> {
        let [nx, ny, nz] = lorenzo.extents().unwrap_or([q.len() as u64, 1, 1]);
        let [tx, ty, tz] = lorenzo.tile().map(u64::from);
        let [in_x, in_y, in_z] = [nx.div_ceil(tx), ny.div_ceil(ty), nz.div_ceil(tz)];
        let mut output = vec![0; (in_x * in_y * in_z * tx * ty * tz) as usize];
        let at = |x: u64, y: u64, z: u64| q[((z * ny + y) * nx + x) as usize];
        for (z, y, x) in (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (z, y, x)))) {
            let (lx, ly, lz) = (x % tx, y % ty, z % tz);
            let before = match (lx, ly, lz) {
                (0, 0, 0) => 0,
                (0, 0, _) => at(x, y, z - 1),
                (0, _, _) => at(x, y - 1, z),
                _ => at(x - 1, y, z),
            };
            let number = (z / tz * in_y + y / ty) * in_x + x / tx;
            output[(number * tx * ty * tz + (lz * ty + ly) * tx + lx) as usize] = at(x, y, z) - before;
        }
        output
    }

    pub fn forward(settings: &Settings, plain: &[u8]) -> Ports {
        let element = settings.element();
        let q = numbers(element, plain);
        let (output, means, modes) = match settings {
            Settings::Lorenzo(settings) => lorenzo(settings, &q),
            Settings::Adaptive(settings) => adaptive(settings, &q),
            Settings::Tiled(settings) => (tiled(settings, &q), Vec::new(), Vec::new()),
        };
        Ports { output: bytes(element, &output), means: bytes(element, &means), modes }
    }
}

/// Any settings, and an array that they take.
#[derive(Clone, Debug)]
struct Case {
    settings: Settings,
    plain: Vec<u8>,
}

fn choose<T: Copy>(g: &mut Gen, from: &[T]) -> T {
    *g.choose(from).expect("something to choose from")
}

fn below(g: &mut Gen, end: u64) -> u64 {
    u64::arbitrary(g) % end
}

/// Numbers that predictors meet: walks, steps, noise, and the ends of the type.
fn numbers(g: &mut Gen, element: ElementType, count: usize) -> Vec<u8> {
    let high = 1u64 << (8 * element.bytes() - 1);
    let mut plain = Vec::with_capacity(count * element.bytes() as usize);
    let (mut kind, mut number, mut slope) = (0, 0u64, 0u64);
    for i in 0..count {
        if i % 50 == 0 {
            kind = below(g, 6);
            number = u64::arbitrary(g);
            slope = below(g, 100);
        }
        number = match kind {
            0 => number.wrapping_add(below(g, 7)).wrapping_sub(3),
            1 => number.wrapping_add(slope),
            2 => u64::arbitrary(g),
            3 => choose(g, &[high, high - 1, 0, u64::MAX, 1, high + 1]),
            4 if below(g, 20) == 0 => u64::arbitrary(g),
            4 => 0,
            _ => number,
        };
        plain.extend_from_slice(&number.to_le_bytes()[..element.bytes() as usize]);
    }
    plain
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut elements = below(g, 3000);
        let side = |g: &mut Gen| choose(g, &[0, 1, 1, 2, 3, 8, 13, 40]);
        let extents = [side(g).max(1), side(g), side(g)];
        let product: u64 = extents.iter().map(|extent| *extent.max(&1)).product();
        let settings = match below(g, 4) {
            0 => {
                elements = product;
                let element = choose(g, &[I8, I16, I32, I64, U8, U16, U32, U64]);
                let lorenzo = Lorenzo::builder(element).extents(extents);
                Settings::Lorenzo(lorenzo.build().unwrap())
            }
            1 => {
                let element = choose(g, &[I8, I16, I32, I64, U8, U16, U32, U64]);
                let centering = bool::arbitrary(g) && [I8, I16, I32, I64].contains(&element);
                let block_size = choose(g, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 100, 256, 500, 1023, 1024]);
                // Block mode does not look at extents.
                let lorenzo = Lorenzo::builder(element).block_size(block_size).extents(extents);
                Settings::Lorenzo(lorenzo.order(1 + below(g, 2)).centering(centering).build().unwrap())
            }
            2 => {
                let adaptive = AdaptiveLorenzo::builder(choose(g, &[I16, I32]));
                let adaptive = adaptive.blocks_per_tile(choose(g, &[1, 2, 3, 8, 31, 32]));
                let adaptive = adaptive.enable_order2(below(g, 4) > 0).enable_centering(below(g, 4) > 0);
                let policy = choose(g, &[Policy::Plain, Policy::Outlier]);
                Settings::Adaptive(adaptive.policy(policy).build().unwrap())
            }
            _ => {
                let mut tiled = TiledLorenzo::builder(choose(g, &[I16, I32, U16, U32]));
                if bool::arbitrary(g) {
                    elements = product;
                    tiled = tiled.extents(extents);
                }
                if bool::arbitrary(g) {
                    tiled = tiled.tile(choose(g, &[[4, 4, 4], [1, 0, 9], [255, 4, 1], [3, 7, 2], [1, 1, 1], [32, 32, 0]]));
                }
                Settings::Tiled(tiled.build().unwrap())
            }
        };
        let plain = numbers(g, settings.element(), elements as usize);
        Self { settings, plain }
    }
}

quickcheck! {
    fn every_backend_follows_the_page(case: Case) -> bool {
        let Case { settings, plain } = &case;
        let expected = reference::forward(settings, plain);
        let elements = plain.len() / settings.element().bytes() as usize;
        for executor in executors() {
            if elements > executor.max_elements() {
                continue;
            }
            let at = format!("{settings:?} on {}", executor.name());
            let ports = executor.forward(settings, plain).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_same_bytes(&ports.output, &expected.output, &at);
            assert_same_bytes(&ports.means, &expected.means, &at);
            assert_same_bytes(&ports.modes, &expected.modes, &at);
            let again = executor.inverse(settings, &ports, elements).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_same_bytes(&again, plain, &at);
        }
        true
    }

    fn buffers_may_begin_anywhere_and_be_too_large(case: Case, shift: u8) -> bool {
        let Case { settings, plain } = &case;
        let shift = usize::from(shift % 9);
        let bytes = settings.port_bytes(plain.len() as u64).unwrap();
        let room = |bytes: u64| vec![0xA5; shift + bytes as usize + 3];
        let (mut output, mut means, mut modes) = (room(bytes.output), room(bytes.means), room(bytes.modes));
        let shifted = [vec![0; shift], plain.clone()].concat();
        let ports = PortsMut { output: &mut output[shift..], means: &mut means[shift..], modes: &mut modes[shift..] };
        let used = settings.forward_into(&shifted[shift..], ports).unwrap();
        let expected = settings.forward(plain).unwrap();
        for (port, used, expected) in [
            (&output, used.output, &expected.output),
            (&means, used.means, &expected.means),
            (&modes, used.modes, &expected.modes),
        ] {
            assert_same_bytes(&port[shift..][..used as usize], expected, "a port");
            assert!(port[..shift].iter().all(|byte| *byte == 0xA5));
        }
        // Behind the most that can be needed nothing was written.
        assert_eq!(output[shift + bytes.output as usize..], [0xA5; 3]);
        assert_eq!(means[shift + bytes.means as usize..], [0xA5; 3]);
        assert_eq!(modes[shift + bytes.modes as usize..], [0xA5; 3]);
        true
    }

    fn records_lead_back(case: Case) -> bool {
        let record = case.settings.record();
        assert!(record.settings.len() <= 255);
        match case.settings {
            Settings::Lorenzo(lorenzo) => Lorenzo::from_record(&record) == Ok(lorenzo),
            Settings::Adaptive(lorenzo) => AdaptiveLorenzo::from_record(&record) == Ok(lorenzo),
            Settings::Tiled(lorenzo) => TiledLorenzo::from_record(&record) == Ok(lorenzo),
        }
    }

    /// Whatever is in a record, no two are the same predictor, and none makes a panic.
    fn a_record_that_is_taken_is_the_one_that_is_written(id: u16, settings: Vec<u8>, at: usize, byte: u8, case: Case) -> TestResult {
        let mut hostile = case.settings.record();
        if let Some(own) = { let len = hostile.settings.len(); hostile.settings.get_mut(at % len) } {
            *own = byte;
        }
        for record in [hostile, Record { id: 32 + id % 3, version: 0, settings }] {
            let taken = match record.id {
                32 => Lorenzo::from_record(&record).map(|taken| taken.record()),
                33 => AdaptiveLorenzo::from_record(&record).map(|taken| taken.record()),
                _ => TiledLorenzo::from_record(&record).map(|taken| taken.record()),
            };
            if taken.is_ok_and(|taken| taken != record) {
                return TestResult::failed();
            }
        }
        TestResult::passed()
    }

    /// Residuals, means and modes that no encoder wrote are decoded or refused, and nothing else.
    fn any_ports_are_decoded_or_refused(case: Case, at: usize, byte: u8, cut: usize) -> bool {
        let Case { settings, plain } = &case;
        let elements = plain.len() / settings.element().bytes() as usize;
        let mut ports = settings.forward(plain).unwrap();
        for port in [&mut ports.output, &mut ports.means, &mut ports.modes] {
            let bytes = port.len().max(1);
            if let Some(own) = port.get_mut(at % bytes) {
                *own = byte;
            }
        }
        let shorter = { let mut ports = ports.clone(); ports.means.truncate(cut % (ports.means.len() + 1)); ports };
        for executor in executors().into_iter().filter(|executor| elements <= executor.max_elements()) {
            for ports in [&ports, &shorter] {
                let expected = settings.inverse(ports.as_ref(), plain.len() as u64);
                assert_eq!(executor.inverse(settings, ports, elements), expected, "{settings:?} on {}", executor.name());
            }
        }
        true
    }
}

/// The page's examples.
#[test]
fn examples_come_out() {
    fn lorenzo(builder: warpack::lorenzo::Builder, plain: &[i128]) -> (Vec<i128>, Vec<i128>) {
        let (lorenzo, element) = (builder.build().unwrap(), builder.build().unwrap().element());
        let ports = lorenzo.forward(&reference::bytes(element, plain)).unwrap();
        (reference::numbers(element, &ports.output), reference::numbers(element, &ports.means))
    }
    let i8s = Lorenzo::builder(I8).block_size(4);
    assert_eq!(lorenzo(i8s, &[5, 7, 7, 4, 100, -100]).0, [5, 2, 0, -3, 100, 56]);
    assert_eq!(lorenzo(i8s.order(2), &[5, 7, 7, 4, 100, -100]).0, [5, -3, -2, -3, 100, -44]);
    let wrapping = Lorenzo::builder(I8).block_size(3).centering(true);
    assert_eq!(lorenzo(wrapping, &[100, 120, -120]), (vec![67, 20, 16], vec![33]));
    let i32s = Lorenzo::builder(I32).block_size(4).centering(true);
    let ramp = [1000, 1003, 1006, 1009, 1012, 1015];
    assert_eq!(lorenzo(i32s, &ramp), (vec![-5, 3, 3, 3, -2, 3], vec![1005, 1014]));
    assert_eq!(lorenzo(i32s.order(2), &ramp), (vec![-5, 8, 0, 0, -2, 5], vec![1005, 1014]));
    let flat = Lorenzo::builder(I16).extents([3, 2, 1]);
    assert_eq!(lorenzo(flat, &[1, 2, 4, 3, 5, 9]).0, [1, 1, 2, 2, 1, 2]);
    let cube = Lorenzo::builder(I8).extents([2, 2, 2]);
    assert_eq!(lorenzo(cube, &[1, 2, 3, 5, 7, 11, 13, 120]).0, [1, 1, 2, 1, 6, 3, 4, 102]);
    let restarts = |extents| {
        let output = lorenzo(Lorenzo::builder(I16).extents(extents), &[9; 300]).0;
        (0..300).filter(|at| output[*at] == 9).collect::<Vec<_>>()
    };
    assert_eq!(restarts([300, 1, 1]), [0, 256]);
    assert_eq!(restarts([0, 0, 0]), [0, 256]);
    assert_eq!(restarts([1, 300, 1]), [0]);
    assert_eq!(restarts([1, 1, 300]), [0]);

    let adaptive = AdaptiveLorenzo::builder(I32).blocks_per_tile(1);
    let plain: Vec<i128> = (0..32).map(|j| 1000 + 3 * j).collect();
    let ports = adaptive.build().unwrap().forward(&reference::bytes(I32, &plain)).unwrap();
    assert_eq!((ports.modes, reference::numbers(I32, &ports.means)), (vec![2], vec![1047]));
    assert_eq!(reference::numbers(I32, &ports.output)[..3], [-47, 3, 3]);
    let ports = adaptive.policy(Policy::Outlier).build().unwrap().forward(&reference::bytes(I32, &plain)).unwrap();
    assert_eq!((ports.modes, ports.means), (vec![0], vec![]));

    let tiled = TiledLorenzo::builder(I32).extents([3, 2, 1]).tile([2, 2, 1]).build().unwrap();
    let ports = tiled.forward(&reference::bytes(I32, &[5, 6, 9, 7, 7, 1])).unwrap();
    assert_eq!(reference::numbers(I32, &ports.output), [5, 1, 2, 0, 9, 0, -8, 0]);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let lorenzo = |element: ElementType| Lorenzo::builder(element);
    let setting = |stage, setting, found, allowed| Some(Error::Setting { stage, setting, found, allowed });
    let needs = |setting| Some(Error::SettingNeeds { stage: "lorenzo", setting, needs: "a block size" });
    for (builder, expected) in [
        (lorenzo(I32).block_size(1024), None),
        (lorenzo(I32).block_size(1025), setting("lorenzo", "block size", 1025, "1 to 1024")),
        (lorenzo(I32).block_size(u64::MAX), setting("lorenzo", "block size", u64::MAX, "1 to 1024")),
        (lorenzo(I32).block_size(32).order(0), setting("lorenzo", "order", 0, "1 and 2")),
        (lorenzo(I32).block_size(32).order(3), setting("lorenzo", "order", 3, "1 and 2")),
        (lorenzo(I32).block_size(32).order(2), None),
        (lorenzo(I32).order(2), needs("order 2")),
        (lorenzo(I32).order(2).extents([2, 2, 2]), needs("order 2")),
        (lorenzo(I32).centering(true), needs("centering")),
        (lorenzo(I32).centering(true).extents([2, 2, 2]), needs("centering")),
    ] {
        assert_eq!(builder.build().err(), expected, "{builder:?}");
    }
    for element in ElementType::ALL {
        let refused =
            |outcome: Option<Error>| matches!(outcome, Some(Error::StageElement { found, .. }) if found == element.name());
        let (signed, unsigned) = ([I8, I16, I32, I64].contains(&element), [U8, U16, U32, U64].contains(&element));
        assert_eq!(refused(lorenzo(element).build().err()), !signed && !unsigned, "{element}");
        assert_eq!(refused(lorenzo(element).block_size(8).order(2).build().err()), !signed && !unsigned, "{element}");
        assert_eq!(refused(lorenzo(element).block_size(8).centering(true).build().err()), !signed, "{element}");
        let adaptive = AdaptiveLorenzo::builder(element).build().err();
        assert_eq!(refused(adaptive), ![I16, I32].contains(&element), "{element}");
        let tiled = TiledLorenzo::builder(element).build().err();
        assert_eq!(refused(tiled), ![I16, I32, U16, U32].contains(&element), "{element}");
    }
    let allowed = "1 to 32";
    for (blocks, found) in [(0, Some(0)), (1, None), (32, None), (33, Some(33)), (1 << 32, Some(1 << 32))] {
        let expected = found.and_then(|found| setting("adaptive_lorenzo", "number of blocks per tile", found, allowed));
        assert_eq!(AdaptiveLorenzo::builder(I32).blocks_per_tile(blocks).build().err(), expected);
    }
    let tiled = |tile| TiledLorenzo::builder(I16).tile(tile).build().err();
    assert_eq!(tiled([255, 4, 0]), None);
    assert_eq!(tiled([256, 1, 1]), setting("tiled_lorenzo", "extent of a tile", 256, "1 to 255"));
    assert_eq!(tiled([0, u64::MAX, 1]), setting("tiled_lorenzo", "extent of a tile", u64::MAX, "1 to 255"));
    assert_eq!(tiled([32, 32, 2]), setting("tiled_lorenzo", "number of elements in a tile", 2048, "1 to 1024"));
}

#[test]
fn arrays_that_do_not_fit_the_settings_are_refused() {
    let cube = Lorenzo::builder(I16).extents([4, 4, 5]).build().unwrap();
    let fault = Error::Extents { extents: [4, 4, 5], found: 64 };
    assert_eq!(cube.forward(&[0; 128]), Err(fault.clone()));
    assert_eq!(cube.inverse(Ports { output: vec![0; 128], ..Ports::default() }.as_ref(), 128), Err(fault));
    assert_eq!(cube.forward(&[]), Ok(Ports::default()), "nothing is something to all extents");
    let empty_lines = Lorenzo::builder(I32).extents([0, 10, 1]).build().unwrap();
    assert_eq!(empty_lines.forward(&[0; 400]), Err(Error::Extents { extents: [0, 10, 1], found: 100 }));
    assert_eq!(empty_lines.forward(&[]), Ok(Ports::default()));
    // Extents whose product is the right number modulo 2^64.
    let huge = Lorenzo::builder(I8).extents([(1 << 32) + 1, 1 << 32, 1 << 32]).build().unwrap();
    assert!(matches!(huge.forward(&[0; 16]), Err(Error::Extents { .. })));
    let tiled = TiledLorenzo::builder(I32).extents([3, 2, 1]).build().unwrap();
    assert_eq!(tiled.forward(&[0; 20]), Err(Error::Extents { extents: [3, 2, 1], found: 5 }));
    let huge = TiledLorenzo::builder(I16).extents([1, 1 << 62, 1]).tile([255, 4, 1]).build().unwrap();
    assert!(matches!(huge.port_bytes(1 << 63), Err(Error::TooLong { .. })));

    for plain in [&[0u8; 13][..], &[0; 1]] {
        let fault = Err(Error::PartialElement { bytes: plain.len() as u64, element_bytes: 4 });
        let lorenzo = Lorenzo::builder(I32);
        assert_eq!(lorenzo.build().unwrap().forward(plain), fault);
        assert_eq!(lorenzo.block_size(7).build().unwrap().forward(plain), fault);
        assert_eq!(lorenzo.extents([1, 3, 1]).build().unwrap().forward(plain), fault);
        assert_eq!(AdaptiveLorenzo::builder(I32).build().unwrap().forward(plain), fault);
        assert_eq!(TiledLorenzo::builder(I32).build().unwrap().forward(plain), fault);
    }
}

/// Every port, one element or byte too short or too long.
#[test]
fn ports_of_other_lengths_are_refused() {
    let plain = reference::bytes(I32, &(0..1000).map(|i| i * i * 40_503 % 7919).collect::<Vec<_>>());
    let lorenzo = Lorenzo::builder(I32).block_size(7);
    let adaptive = AdaptiveLorenzo::builder(I32).blocks_per_tile(1).build().unwrap();
    for settings in [
        Settings::Lorenzo(lorenzo.build().unwrap()),
        Settings::Lorenzo(lorenzo.centering(true).build().unwrap()),
        Settings::Lorenzo(Lorenzo::builder(I32).extents([10, 10, 10]).build().unwrap()),
        Settings::Adaptive(adaptive),
        Settings::Tiled(TiledLorenzo::builder(I32).extents([10, 10, 10]).build().unwrap()),
    ] {
        let whole = settings.forward(&plain).unwrap();
        assert_eq!(settings.inverse(whole.as_ref(), 4000).as_ref(), Ok(&plain));
        for name in ["output", "means", "modes"] {
            for change in [-4isize, -1, 1, 4] {
                let mut ports = whole.clone();
                let port = match name {
                    "output" => &mut ports.output,
                    "means" => &mut ports.means,
                    _ => &mut ports.modes,
                };
                let expected = port.len() as u64;
                let Some(length) = port.len().checked_add_signed(change) else { continue };
                port.resize(length, 0);
                let fault = Error::PortLength { port: name, found: length as u64, expected };
                for executor in executors() {
                    assert_eq!(executor.inverse(&settings, &ports, 1000), Err(fault.clone()), "on {}", executor.name());
                }
            }
        }
    }
    // Modes that ask for other means than there are, and modes of tiles that there are not.
    let slope = reference::bytes(I32, &(0..32).map(|j| 1000 + 3 * j).collect::<Vec<_>>());
    let mut ports = adaptive.forward(&slope).unwrap();
    assert_eq!((&ports.modes, ports.means.len()), (&vec![2], 4));
    ports.modes[0] = 0;
    let fault = Error::PortLength { port: "means", found: 4, expected: 0 };
    assert_eq!(adaptive.inverse(ports.as_ref(), 128), Err(fault));
    ports.means.clear();
    ports.modes[0] = 4;
    assert_eq!(adaptive.inverse(ports.as_ref(), 128), Err(Error::Padding { offset: 0 }));
}

#[test]
fn buffers_that_are_too_small_are_refused() {
    let settings = Lorenzo::builder(I16).block_size(4).centering(true).build().unwrap();
    let (plain, bytes) = ([1; 18], PortBytes { output: 18, means: 6, modes: 0 });
    assert_eq!(settings.port_bytes(18), Ok(bytes));
    let mut room = [0; 18];
    let (output, mut means) = (&mut room[..], [0; 6]);
    let small = PortsMut { output: &mut output[..17], means: &mut means, modes: &mut [] };
    let fault = Error::BufferTooSmall { buffer: "output", need: 18, have: 17 };
    assert_eq!(settings.forward_into(&plain, small), Err(fault));
    let small = PortsMut { output, means: &mut means[..5], modes: &mut [] };
    let fault = Error::BufferTooSmall { buffer: "means", need: 6, have: 5 };
    assert_eq!(settings.forward_into(&plain, small), Err(fault));
    let adaptive = AdaptiveLorenzo::builder(I16).build().unwrap();
    let small = PortsMut { output, means: &mut means, modes: &mut [] };
    let fault = Error::BufferTooSmall { buffer: "modes", need: 1, have: 0 };
    assert_eq!(adaptive.forward_into(&plain, small), Err(fault));
}

#[test]
fn records_that_no_writer_writes_are_refused() {
    let record = Lorenzo::builder(I16).extents([5, 6, 7]).build().unwrap().record();
    let with = |change: &dyn Fn(&mut Record)| {
        let mut record = record.clone();
        change(&mut record);
        Lorenzo::from_record(&record).unwrap_err()
    };
    let stage = "lorenzo";
    assert_eq!(with(&|record| record.id = 33), Error::RecordStage { stage, found: 33, expected: 32 });
    assert_eq!(with(&|record| record.version = 1), Error::RecordVersion { stage, found: 1, max: 0 });
    let length = |found| Error::RecordLength { stage, found, expected: 32 };
    assert_eq!(with(&|record| record.settings.truncate(31)), length(31));
    assert_eq!(with(&|record| record.settings.push(0)), length(33));
    assert_eq!(with(&|record| record.settings[0] = 0x23), Error::ElementType { found: 0x23 });
    assert!(matches!(with(&|record| record.settings[0] = 0x34), Error::StageElement { .. }));
    assert!(matches!(with(&|record| record.settings[1] = 3), Error::Setting { setting: "order", .. }));
    assert!(matches!(with(&|record| record.settings[2] = 2), Error::Setting { setting: "centering", .. }));
    assert!(matches!(with(&|record| record.settings[2] = 1), Error::SettingNeeds { setting: "centering", .. }));
    assert!(matches!(with(&|record| record.settings[3] = 1), Error::Reserved { offset: 3, .. }));
    // Block mode does not look at extents, so a record that has both is refused.
    assert!(matches!(with(&|record| record.settings[4] = 32), Error::Reserved { offset: 8, .. }));
    assert!(matches!(with(&|record| record.settings[5] = 0xFF), Error::Setting { setting: "block size", .. }));
}

#[test]
fn extents_have_64_bits_in_records() {
    let extents = [1 << 40, (1 << 33) + 5, 1 << 50];
    let lorenzo = Lorenzo::builder(I8).extents(extents).build().unwrap();
    assert_eq!(Lorenzo::from_record(&lorenzo.record()).unwrap().mode(), Mode::Grid { extents });
    let tiled = TiledLorenzo::builder(I16).extents(extents).build().unwrap();
    assert_eq!(TiledLorenzo::from_record(&tiled.record()).unwrap().extents(), Some(extents));
}

#[test]
fn zigzag_folds_the_number_line() {
    for (word, element) in [(WordSize::W1, I8), (WordSize::W2, I16), (WordSize::W4, I32), (WordSize::W8, I64)] {
        let high = 1i128 << (8 * element.bytes() - 1);
        let numbers = [0, -1, 1, -2, 2, 100, -101, high - 1, -high];
        let expected = [0, 1, 2, 3, 4, 200, 201, 2 * high - 2, 2 * high - 1];
        let plain = reference::bytes(element, &numbers);
        let mut mapped = vec![0xA5; plain.len()];
        zigzag::map(word, &plain, &mut mapped).unwrap();
        assert_same_bytes(&mapped, &reference::bytes(element, &expected), element.name());
        let mut again = vec![0xA5; plain.len()];
        zigzag::unmap(word, &mapped, &mut again).unwrap();
        assert_same_bytes(&again, &plain, element.name());
        assert!(matches!(zigzag::map(word, &plain, &mut mapped[1..]), Err(Error::PortLength { .. })));
    }
    // What is no whole word stays.
    let mut mapped = [0; 7];
    zigzag::map(WordSize::W4, &[255, 255, 255, 255, 7, 8, 9], &mut mapped).unwrap();
    assert_eq!(mapped, [1, 0, 0, 0, 7, 8, 9]);
}

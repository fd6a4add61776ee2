//! Differences within segments.

#![forbid(unsafe_code)]

use super::super::settings::{Order, Segments};
use super::Word;
use super::mean::Mean;
use super::scan::scan;

/// About how many elements are in work at a time: what is written once is still in the first cache when its heads are put right.
const BAND_ELEMENTS: usize = 2048;

/// Runs `$small` with `$size` as a constant where segments are so short that a loop over one would cost more than its body.
macro_rules! by_size {
    ($block_size:expr, $size:ident => $small:expr, else $large:expr) => {
        by_size!(@ $block_size, $size => $small, else $large, 2 3 4 5 6 7 8)
    };
    (@ $block_size:expr, $size:ident => $small:expr, else $large:expr, $($number:literal)*) => {
        match $block_size {
            $($number => {
                const $size: usize = $number;
                $small
            })*
            _ => $large,
        }
    };
}

pub(super) fn forward<T: Word>(segments: Segments, plain: &[T::Cell], output: &mut [T::Cell], means: &mut [T::Cell]) {
    match (segments.order(), segments.centering()) {
        (Order::First, false) => forward_of::<T, false, false>(segments, plain, output, means),
        (Order::First, true) => forward_of::<T, false, true>(segments, plain, output, means),
        (Order::Second, false) => forward_of::<T, true, false>(segments, plain, output, means),
        (Order::Second, true) => forward_of::<T, true, true>(segments, plain, output, means),
    }
}

fn forward_of<T: Word, const SECOND: bool, const CENTERING: bool>(
    segments: Segments,
    plain: &[T::Cell],
    output: &mut [T::Cell],
    means: &mut [T::Cell],
) {
    let size = segments.block_size() as usize;
    if size == 1 {
        // An element is its own mean.
        let copy = if CENTERING { means } else { &mut *output };
        copy.copy_from_slice(plain);
        if CENTERING {
            output.fill(T::default().store());
        }
        return;
    }
    by_size!(size, N => short::<T, SECOND, CENTERING, N>(plain, output, means), else {
        let band = (BAND_ELEMENTS / size).max(1) * size;
        let means_of_band = if CENTERING { band / size } else { 0 };
        let mut means = means.chunks_mut(means_of_band.max(1));
        for (plain, output) in plain.chunks(band).zip(output.chunks_mut(band)) {
            // As if the band were one segment, in one sweep; then the first elements of each.
            differences::<T, SECOND>(plain, output);
            heads::<T, SECOND, CENTERING>(size, plain, output, means.next().unwrap_or_default());
        }
    });
}

/// Segments of `N` elements, unrolled.
fn short<T: Word, const SECOND: bool, const CENTERING: bool, const N: usize>(
    plain: &[T::Cell],
    output: &mut [T::Cell],
    means: &mut [T::Cell],
) {
    let (whole, last) = plain.as_chunks::<N>();
    let (whole_output, last_output) = output.as_chunks_mut::<N>();
    let mut means = means.iter_mut();
    for (plain, output) in whole.iter().zip(whole_output) {
        let mut head = T::default();
        if CENTERING && let Some(cell) = means.next() {
            head = Mean::of(N).mean::<T>(plain);
            *cell = head.store();
        }
        let [mut before, mut slope] = [head, T::default()];
        for (output, plain) in output.iter_mut().zip(plain) {
            let own = T::load(*plain);
            let difference = own.minus(before);
            *output = if SECOND { difference.minus(slope) } else { difference }.store();
            [before, slope] = [own, difference];
        }
    }
    differences::<T, SECOND>(last, last_output);
    heads::<T, SECOND, CENTERING>(N, last, last_output, means.into_slice());
}

/// The differences that have all their neighbours; the first element, with order 2 the first two, are left out.
#[inline(always)]
fn differences<T: Word, const SECOND: bool>(plain: &[T::Cell], output: &mut [T::Cell]) {
    let skip = if SECOND { 2 } else { 1 };
    let Some(output) = output.get_mut(skip..) else { return };
    let (own, before) = (&plain[skip..], &plain[skip - 1..]);
    if SECOND {
        for (((output, own), before), beyond) in output.iter_mut().zip(own).zip(before).zip(plain) {
            let before = T::load(*before);
            *output = T::load(*own).minus(before).minus(before).plus(T::load(*beyond)).store();
        }
    } else {
        for ((output, own), before) in output.iter_mut().zip(own).zip(before) {
            *output = T::load(*own).minus(T::load(*before)).store();
        }
    }
}

/// The elements that [`differences`] took for inner ones or left out, and the means.
#[inline(always)]
fn heads<T: Word, const SECOND: bool, const CENTERING: bool>(
    size: usize,
    plain: &[T::Cell],
    output: &mut [T::Cell],
    means: &mut [T::Cell],
) {
    let (mut means, of_whole) = (means.iter_mut(), Mean::of(size));
    for (plain, output) in plain.chunks(size).zip(output.chunks_mut(size)) {
        let mut head = T::default();
        if CENTERING && let Some(cell) = means.next() {
            let mean = if plain.len() == size { of_whole } else { Mean::of(plain.len()) };
            head = mean.mean::<T>(plain);
            *cell = head.store();
        }
        let first = T::load(plain[0]);
        output[0] = first.minus(head).store();
        if SECOND && let ([_, second, ..], [_, output, ..]) = (plain, output) {
            *output = T::load(*second).minus(first).minus(first).plus(head).store();
        }
    }
}

pub(super) fn inverse<T: Word>(segments: Segments, output: &[T::Cell], means: &[T::Cell], plain: &mut [T::Cell]) {
    match (segments.order(), segments.centering()) {
        (Order::First, false) => inverse_of::<T, false, false>(segments, output, means, plain),
        (Order::First, true) => inverse_of::<T, false, true>(segments, output, means, plain),
        (Order::Second, false) => inverse_of::<T, true, false>(segments, output, means, plain),
        (Order::Second, true) => inverse_of::<T, true, true>(segments, output, means, plain),
    }
}

fn inverse_of<T: Word, const SECOND: bool, const CENTERING: bool>(
    segments: Segments,
    output: &[T::Cell],
    means: &[T::Cell],
    plain: &mut [T::Cell],
) {
    let size = segments.block_size() as usize;
    if size == 1 {
        if !CENTERING {
            return plain.copy_from_slice(output);
        }
        for ((plain, output), mean) in plain.iter_mut().zip(output).zip(means) {
            *plain = T::load(*output).plus(T::load(*mean)).store();
        }
        return;
    }
    let mut means = means.iter();
    let mut head = move || if CENTERING { means.next().map_or(T::default(), |mean| T::load(*mean)) } else { T::default() };
    by_size!(size, N => {
        let (whole, last) = output.as_chunks::<N>();
        let (whole_plain, last_plain) = plain.as_chunks_mut::<N>();
        for (output, plain) in whole.iter().zip(whole_plain) {
            scan::<T, SECOND>(output, head(), plain);
        }
        if !last.is_empty() {
            scan::<T, SECOND>(last, head(), last_plain);
        }
    }, else {
        for (output, plain) in output.chunks(size).zip(plain.chunks_mut(size)) {
            scan::<T, SECOND>(output, head(), plain);
        }
    });
}

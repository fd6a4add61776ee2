//! Differences within segments.

#![forbid(unsafe_code)]

use super::super::settings::{Order, Segments};
use super::Word;
use super::mean::mean;

/// About how many elements are in work at a time: what is written once is still in the first cache when its heads are put right.
const BAND_ELEMENTS: usize = 2048;

pub(super) fn forward<T: Word>(segments: Segments, plain: &[T::Cell], output: &mut [T::Cell], means: &mut [T::Cell]) {
    let size = segments.block_size() as usize;
    match segments.order() {
        Order::First => forward_of::<T, false>(size, segments.centering(), plain, output, means),
        Order::Second => forward_of::<T, true>(size, segments.centering(), plain, output, means),
    }
}

fn forward_of<T: Word, const SECOND: bool>(
    size: usize,
    centering: bool,
    plain: &[T::Cell],
    output: &mut [T::Cell],
    means: &mut [T::Cell],
) {
    if size == 1 && !centering {
        return output.copy_from_slice(plain);
    }
    let band = (BAND_ELEMENTS / size).max(1) * size;
    let mut means = means.iter_mut();
    for (plain, output) in plain.chunks(band).zip(output.chunks_mut(band)) {
        // As if the band were one segment, in one sweep; then the first elements of each.
        difference::<T, SECOND>(plain, output);
        for (plain, output) in plain.chunks(size).zip(output.chunks_mut(size)) {
            let mut head = T::default();
            if centering && let Some(cell) = means.next() {
                head = mean::<T>(plain);
                *cell = head.store();
            }
            let first = T::load(plain[0]);
            output[0] = first.minus(head).store();
            if SECOND && let ([_, second, ..], [_, output, ..]) = (plain, output) {
                *output = T::load(*second).minus(first).minus(first).plus(head).store();
            }
        }
    }
}

/// The differences that have all their neighbours; the first element, with order 2 the first two, are left out.
#[inline(always)]
fn difference<T: Word, const SECOND: bool>(plain: &[T::Cell], output: &mut [T::Cell]) {
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

pub(super) fn inverse<T: Word>(segments: Segments, output: &[T::Cell], means: &[T::Cell], plain: &mut [T::Cell]) {
    let size = segments.block_size() as usize;
    if size == 1 && !segments.centering() {
        return plain.copy_from_slice(output);
    }
    let mut means = means.iter();
    for (output, plain) in output.chunks(size).zip(plain.chunks_mut(size)) {
        let head = means.next().map_or(T::default(), |mean| T::load(*mean));
        match segments.order() {
            Order::First => scan::<T, false>(output, head, plain),
            Order::Second => scan::<T, true>(output, head, plain),
        }
    }
}

/// The running sums of a segment, or the running sums of those, each plus `head`.
#[inline(always)]
pub(super) fn scan<T: Word, const SECOND: bool>(output: &[T::Cell], head: T, plain: &mut [T::Cell]) {
    let (mut slope, mut value) = (T::default(), head);
    for (output, plain) in output.iter().zip(plain) {
        if SECOND {
            slope = slope.plus(T::load(*output));
            value = value.plus(slope);
        } else {
            value = value.plus(T::load(*output));
        }
        *plain = value.store();
    }
}

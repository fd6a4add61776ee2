//! The cheapest of four candidates for each tile.

#![forbid(unsafe_code)]

use super::super::settings::{AdaptiveLorenzo, Policy};
use super::Word;
use super::mean::Mean;
use super::scan::scan;

/// Elements of a block of the coder that the costs are those of.
const CODER_BLOCK: usize = 32;
const MAX_TILE: usize = 1024;

/// Bits of a candidate's number.
const ORDER2: u8 = 1;
const CENTERED: u8 = 2;

/// Returns how many tiles are centered.
pub(super) fn forward<T: Word>(
    settings: &AdaptiveLorenzo,
    plain: &[T::Cell],
    output: &mut [T::Cell],
    means: &mut [T::Cell],
    modes: &mut [u8],
) -> u64 {
    let tile_elements = settings.tile_elements() as usize;
    let costs = match settings.policy() {
        Policy::Plain => block_cost::<T, false>,
        Policy::Outlier => block_cost::<T, true>,
    };
    let mut residuals = [[T::default(); MAX_TILE]; 2];
    let mut centered = 0;
    modes.fill(0);
    for (number, (plain, output)) in plain.chunks(tile_elements).zip(output.chunks_mut(tile_elements)).enumerate() {
        let orders = 1 + usize::from(settings.enable_order2());
        let residuals = residuals.each_mut().map(|residuals| &mut residuals[..plain.len()]);
        let [first, second] = residuals;
        let mut before = T::default();
        for (residual, plain) in first.iter_mut().zip(plain) {
            let own = T::load(*plain);
            *residual = own.minus(before);
            before = own;
        }
        let mut before = T::default();
        for (residual, first) in second.iter_mut().zip(&*first) {
            *residual = first.minus(before);
            before = *first;
        }
        let candidates = [first, second];
        // Only a tile's first block differs between a candidate and the centered one.
        let mean = settings.enable_centering().then(|| Mean::of(plain.len()).mean::<T>(plain));
        let mut best = (u32::MAX, 0);
        for (order2, candidate) in candidates[..orders].iter().enumerate() {
            let (head, rest) = candidate.split_at(CODER_BLOCK.min(candidate.len()));
            let rest: u32 = rest.chunks(CODER_BLOCK).map(costs).sum();
            let number = order2 as u8;
            let own = (rest + costs(head), number);
            best = best.min(own);
            if let Some(mean) = mean {
                let mut block = [T::default(); CODER_BLOCK];
                let block = &mut block[..head.len()];
                block.copy_from_slice(head);
                center(block, order2, mean);
                best = best.min((rest + costs(block) + size_of::<T>() as u32, number | CENTERED));
            }
        }
        let (_, mode) = best;
        modes[number / 4] |= mode << (2 * (number % 4));
        let candidate = &mut *{ candidates }[usize::from(mode & ORDER2)];
        if let (Some(mean), CENTERED) = (mean, mode & CENTERED) {
            center(candidate, usize::from(mode & ORDER2), mean);
            means[centered] = mean.store();
            centered += 1;
        }
        for (output, residual) in output.iter_mut().zip(candidate) {
            *output = residual.store();
        }
    }
    centered as u64
}

/// Takes a tile's mean off its first residuals.
fn center<T: Word>(residuals: &mut [T], order2: usize, mean: T) {
    residuals[0] = residuals[0].minus(mean);
    if order2 == 1 && residuals.len() > 1 {
        residuals[1] = residuals[1].plus(mean);
    }
}

/// Bytes that a coder takes for a block. The bits of all magnitudes together are as long as the largest.
#[inline(always)]
fn block_cost<T: Word, const OUTLIER: bool>(block: &[T]) -> u32 {
    let all = |block: &[T]| block.iter().fold(T::default(), |any, residual| any.or(residual.magnitude()));
    let planes = |length: u32| 4 * (length + 1);
    if !OUTLIER {
        let length = all(block).length();
        return if length == 0 { 0 } else { planes(length) };
    }
    let (first, rest) = (block[0].magnitude(), all(&block[1..]));
    match first.or(rest).length() {
        0 => 0,
        length => planes(length).min(first.length().div_ceil(8) + planes(rest.length())),
    }
}

pub(super) fn inverse<T: Word>(tile: usize, output: &[T::Cell], means: &[T::Cell], modes: &[u8], plain: &mut [T::Cell]) {
    let mut means = means.iter();
    for (number, (output, plain)) in output.chunks(tile).zip(plain.chunks_mut(tile)).enumerate() {
        let mode = modes[number / 4] >> (2 * (number % 4));
        let mut head = T::default();
        if mode & CENTERED != 0
            && let Some(mean) = means.next()
        {
            head = T::load(*mean);
        }
        if mode & ORDER2 == 0 {
            scan::<T, false>(output, head, plain);
        } else {
            scan::<T, true>(output, head, plain);
        }
    }
}

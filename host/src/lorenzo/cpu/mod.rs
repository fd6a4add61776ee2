//! The arithmetic. Lengths have been checked: every function here may rely on what its settings say.

mod adaptive;
mod grid;
mod mean;
mod scan;
mod segments;
mod tiled;
mod word;

use super::Predictor;
use super::ports::{PortsMut, PortsRef};
use super::settings::{AdaptiveLorenzo, Segments};
use crate::ElementType;
pub(super) use word::Word;
pub(super) use word::by_word;

/// Differences in segments, and the means of `segments` that are centered.
pub(super) fn segments_forward(element: ElementType, segments: Segments, plain: &[u8], output: &mut [u8], means: &mut [u8]) {
    by_word!(element, T => segments::forward::<T>(segments, T::cells(plain), T::cells_mut(output), T::cells_mut(means)));
}

/// Takes back what [`segments_forward`] did.
pub(super) fn segments_inverse(element: ElementType, segments: Segments, output: &[u8], means: &[u8], plain: &mut [u8]) {
    by_word!(element, T => segments::inverse::<T>(segments, T::cells(output), T::cells(means), T::cells_mut(plain)));
}

/// Differences along all axes of an array that is not empty.
pub(super) fn grid_forward(element: ElementType, extents: [u64; 3], plain: &[u8], output: &mut [u8]) {
    by_word!(element, T => grid::forward::<T>(grid::lines(extents), T::cells(plain), T::cells_mut(output)));
}

/// Takes back what [`grid_forward`] did.
pub(super) fn grid_inverse(element: ElementType, extents: [u64; 3], output: &[u8], plain: &mut [u8]) {
    by_word!(element, T => grid::inverse::<T>(grid::lines(extents), T::cells(output), T::cells_mut(plain)));
}

/// The cheapest candidate of each tile: how many are centered. `ports` have the lengths that are needed at most.
pub(super) fn adaptive_forward(settings: &AdaptiveLorenzo, plain: &[u8], ports: PortsMut<'_>) -> u64 {
    let PortsMut { output, means, modes } = ports;
    by_word!(settings.element(), T => {
        adaptive::forward::<T>(settings, T::cells(plain), T::cells_mut(output), T::cells_mut(means), modes)
    })
}

/// Takes back what [`adaptive_forward`] did.
pub(super) fn adaptive_inverse(settings: &AdaptiveLorenzo, ports: PortsRef<'_>, plain: &mut [u8]) {
    let PortsRef { output, means, modes } = ports;
    by_word!(settings.element(), T => {
        adaptive::inverse::<T>(settings.tile_elements() as usize, T::cells(output), T::cells(means), modes, T::cells_mut(plain));
    });
}

/// Differences within tiles.
pub(super) fn tiled_forward(element: ElementType, extents: [u64; 3], tile: [u8; 3], plain: &[u8], output: &mut [u8]) {
    by_word!(element, T => tiled::forward::<T>(extents, tile, T::cells(plain), T::cells_mut(output)));
}

/// Takes back what [`tiled_forward`] did.
pub(super) fn tiled_inverse(element: ElementType, extents: [u64; 3], tile: [u8; 3], output: &[u8], plain: &mut [u8]) {
    by_word!(element, T => tiled::inverse::<T>(extents, tile, T::cells(output), T::cells_mut(plain)));
}

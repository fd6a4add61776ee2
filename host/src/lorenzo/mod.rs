//! The Lorenzo predictors: an integer becomes its difference to what its neighbours foretell, modulo 2^w, so that smooth data become small numbers.
//!
//! | predictor | elements | what a number becomes |
//! |---|---|---|
//! | [`Lorenzo`] | integers of 8, 16, 32 or 64 bits | its first or second difference within segments of the array, or its difference along all axes of a 2-D or 3-D array |
//! | [`AdaptiveLorenzo`] | i16, i32 | likewise, each tile with the order and the centering that a coder of bit planes takes fewest bytes for |
//! | [`TiledLorenzo`] | integers of 16 or 32 bits | its difference within a small tile of a 2-D or 3-D array; tiles lie one after another |
//!
//! What comes out are **ports**, as many as the settings say:
//!
//! | port | holds |
//! |---|---|
//! | `output` | the residuals, elements of the input's type; of `tiled_lorenzo` with zeros up to whole tiles |
//! | `means` | elements of the same type: one mean for each segment (`lorenzo` with centering) or centered tile (`adaptive_lorenzo`) |
//! | `modes` | `adaptive_lorenzo` only: 2 bits for each tile, the first in the low bits of the first byte; bit 0 order 2, bit 1 centered |
//!
//! All is little-endian, at any address, and every input comes back, whatever overflows. The numbers are those of FZGPUModules 2.0.
//!
//! ```
//! use warpack::ElementType;
//! use warpack::lorenzo::{Lorenzo, Predictor};
//! let plain: Vec<u8> = [1000i32, 1003, 1006, 1009, 1012, 1015].into_iter().flat_map(i32::to_le_bytes).collect();
//! let lorenzo = Lorenzo::builder(ElementType::I32).block_size(4).centering(true).build()?;
//! let ports = lorenzo.forward(&plain)?;
//! let numbers = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect::<Vec<_>>();
//! assert_eq!(numbers(&ports.output), [-5, 3, 3, 3, -2, 3]);
//! assert_eq!(numbers(&ports.means), [1005, 1014]);
//! assert_eq!(lorenzo.inverse(ports.as_ref(), 24)?, plain);
//! # Ok::<(), warpack::Error>(())
//! ```

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod ports;
mod settings;
pub mod zigzag;

#[cfg(feature = "cuda")]
pub use cuda::{DevicePorts, DevicePortsMut, DevicePredictor, MEANS_COUNT_BYTES};
pub use ports::{PortBytes, Ports, PortsMut, PortsRef, Predictor};
pub use settings::{
    AdaptiveBuilder, AdaptiveLorenzo, Builder, DEFAULT_BLOCK_SIZE, Lorenzo, MAX_BLOCK_SIZE, Mode, Order, Policy, Segments,
    TiledBuilder, TiledLorenzo,
};

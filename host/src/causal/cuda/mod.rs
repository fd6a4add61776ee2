//! Frames on a device: what to launch, in what order, over which memory.
//!
//! | module | idea |
//! |---|---|
//! | `receive` | frames -> tiles: [`DeviceReceiver`], [`DeviceBatch`] |
//! | `send` | tiles -> frames: [`DeviceSender`], [`DeviceTiles`] |
//! | `coder` | the stage at work, for data on the host |

mod coder;
mod receive;
mod send;

pub(crate) use coder::CudaCoder;
pub use receive::{DeviceBatch, DeviceReceiver};
pub use send::{DeviceSender, DeviceTiles};

use crate::Result;
use crate::backend::{CudaDevice, DeviceBuffer, DeviceSlice, Stream};
use std::ops::Range;

/// Where arrays begin in the memory that they share.
const ALIGN: usize = 256;

/// Places for arrays of so many bytes, one behind another, and where the last one ends.
fn places<const N: usize>(bytes: [usize; N]) -> ([Range<usize>; N], usize) {
    let mut end = 0usize;
    let places = bytes.map(|bytes| {
        let start = end.next_multiple_of(ALIGN);
        end = start + bytes;
        start..end
    });
    (places, end)
}

/// `N` arrays in one buffer of a device.
#[derive(Debug)]
struct Arrays<const N: usize> {
    memory: DeviceBuffer,
    places: [Range<usize>; N],
}

impl<const N: usize> Arrays<N> {
    /// Copies `arrays` to the device. Waits for `stream`.
    fn new(device: &CudaDevice, arrays: [&[u8]; N], stream: &Stream) -> Result<Self> {
        let (places, end) = places(arrays.map(<[u8]>::len));
        let mut memory = DeviceBuffer::new(device, end)?;
        let copies = places.iter().zip(arrays).try_for_each(|(place, array)| {
            // SAFETY: the arrays are borrowed until the wait below is over.
            unsafe { stream.copy_to_device_async(memory.as_mut_slice().slice(place.clone()), array) }
        });
        stream.synchronize().and(copies)?;
        Ok(Self { memory, places })
    }

    /// The array with this number.
    fn get(&self, number: usize) -> DeviceSlice<'_> {
        self.memory.as_slice().slice(self.places[number].clone())
    }
}

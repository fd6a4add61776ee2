//! Kernels by the device's clock: events around all launches of a call, data in device memory before and after.

use super::cuda::{Decoded, DeviceCodec, REPORT_BYTES};
use crate::backend::{DeviceBuffer, Event, Stream};
use crate::{Error, Result};
use std::time::Duration;

/// How long a device took, run by run.
#[derive(Clone, Debug)]
pub struct Clocked {
    /// All launches of an encode.
    pub encode: Vec<Duration>,
    /// All launches of a decode.
    pub decode: Vec<Duration>,
    /// Copying the plain bytes within the device's memory.
    pub copy: Vec<Duration>,
}

/// Encodes and decodes `plain` on the device `repeat` times by its clock, after runs to warm up each. What comes out is compared
/// with `coded`, the stream of `plain`, and with `plain`.
///
/// # Errors
/// [`Error::Cuda`] from the driver, or where something else came out.
pub fn measure(codec: &DeviceCodec, plain: &[u8], coded: &[u8], repeat: u32) -> Result<Clocked> {
    let differs = |call| Error::Cuda { call, message: "the device's bytes are not those of the coder".into() };
    let device = codec.device();
    let stream = Stream::new(device)?;
    let plain_bytes = plain.len() as u64;
    let mut device_plain = DeviceBuffer::new(device, plain.len())?;
    stream.copy_to_device(device_plain.as_mut_slice(), plain)?;
    let mut device_coded = DeviceBuffer::new(device, codec.max_stream_bytes(plain_bytes)?)?;
    let mut again = DeviceBuffer::new(device, plain.len())?;
    let scratch_bytes = codec.encode_scratch_bytes(plain_bytes).max(codec.decode_scratch_bytes(plain_bytes));
    let mut scratch = DeviceBuffer::new(device, scratch_bytes)?;
    let mut statuses = DeviceBuffer::new(device, codec.status_bytes(plain_bytes))?;
    let mut report = DeviceBuffer::new(device, REPORT_BYTES)?;

    let copy = timed(&stream, repeat, || stream.copy(again.as_mut_slice(), device_plain.as_slice()))?;
    let encode = timed(&stream, repeat, || {
        let (plain, coded) = (device_plain.as_slice(), device_coded.as_mut_slice());
        // SAFETY: the buffers are this function's own, and it waits for the stream before it looks at them.
        unsafe { codec.encode(plain, coded, scratch.as_mut_slice(), report.as_mut_slice(), &stream) }
    })?;
    let coded_bytes = codec.read_encoded(report.as_slice(), &stream)? as usize;
    let mut found = vec![0; coded_bytes];
    stream.copy_to_host(&mut found, device_coded.as_slice().slice(..coded_bytes))?;
    if found != coded {
        return Err(differs("encode"));
    }
    drop(found);
    stream.fill(again.as_mut_slice(), 0xA5)?;
    let decode = timed(&stream, repeat, || {
        let (coded, plain) = (device_coded.as_slice().slice(..coded_bytes), again.as_mut_slice());
        let (statuses, scratch) = (statuses.as_mut_slice(), scratch.as_mut_slice());
        // SAFETY: as above.
        unsafe { codec.decode(coded, None, plain, statuses, scratch, report.as_mut_slice(), &stream) }
    })?;
    let mut found = vec![0; plain.len()];
    stream.copy_to_host(&mut found, again.as_slice())?;
    if codec.read_decoded(report.as_slice(), &stream)? != (Decoded::Whole { plain_bytes }) || found != plain {
        return Err(differs("decode"));
    }
    Ok(Clocked { encode, decode, copy })
}

/// For how long a device works before its time is taken: clocks rise while it does.
const WARM_UP: Duration = Duration::from_millis(25);

/// How long what `work` puts into `stream` takes the device, `repeat` times after runs to warm up: from event to event.
///
/// # Errors
/// [`Error::Cuda`] from the driver, and what `work` returns.
pub fn timed(stream: &Stream, repeat: u32, mut work: impl FnMut() -> Result<()>) -> Result<Vec<Duration>> {
    let mut warm = Duration::ZERO;
    while warm < WARM_UP {
        warm += time_one(stream, &mut work)?.max(Duration::from_micros(10));
    }
    (0..repeat).map(|_| time_one(stream, &mut work)).collect()
}

fn time_one(stream: &Stream, work: &mut impl FnMut() -> Result<()>) -> Result<Duration> {
    let (start, end) = (Event::new(stream.device())?, Event::new(stream.device())?);
    stream.record(&start)?;
    work()?;
    stream.record(&end)?;
    end.synchronize()?;
    Ok(Duration::from_secs_f64(f64::from(end.milliseconds_since(&start)?) / 1e3))
}

//! Codes and decodes data that is in a GPU's memory already: the caller's buffers, the caller's stream, no wait and no
//! allocation in between, so that a CUDA graph can hold it all.
//!
//!     cargo run --release --example on_device

#[cfg(feature = "cuda")]
fn main() -> warpack::Result<()> {
    match warpack::backend::CudaDevice::open(0) {
        Ok(device) => on_device::run(&device),
        Err(reason) => {
            println!("no device to run on: {reason}");
            Ok(())
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("no device to run on: built without the feature `cuda`");
}

#[cfg(feature = "cuda")]
mod on_device {
    use warpack::Result;
    use warpack::backend::{CudaDevice, DeviceBuffer, DeviceSlice, Event, Stream};
    use warpack::stage::clog::{self, Decoded, DeviceCodec, REPORT_BYTES, Settings};

    const PLAIN_BYTES: usize = 256 << 20;

    pub fn run(device: &CudaDevice) -> Result<()> {
        println!("{}", device.info());
        let codec = DeviceCodec::new(&clog::ENTRY, Settings::default(), device)?;

        // A program that already works with CUDA has a stream and buffers of its own. Say that these two are its:
        let (their_stream, mut their_buffer) = (Stream::new(device)?, DeviceBuffer::new(device, PLAIN_BYTES)?);
        // Then raw handles are all that Warpack needs: a `CUstream` (or `cudaStream_t`), an address and a length.
        // SAFETY: the stream is of the device's primary context and outlives `stream`.
        let stream = unsafe { Stream::from_raw(device, their_stream.as_raw()) };
        // SAFETY: the bytes are allocated as long as `their_buffer`, which outlives the work; what writes them below is in
        // the same stream.
        let plain = unsafe { DeviceSlice::from_raw_parts(their_buffer.as_slice().address(), PLAIN_BYTES) };

        // Everything that the codec needs is asked for and allocated before.
        let bytes = PLAIN_BYTES as u64;
        let mut coded = DeviceBuffer::new(device, codec.max_stream_bytes(bytes)?)?;
        let mut again = DeviceBuffer::new(device, PLAIN_BYTES)?;
        let mut statuses = DeviceBuffer::new(device, codec.status_bytes(bytes))?;
        let scratch_bytes = codec.encode_scratch_bytes(bytes).max(codec.decode_scratch_bytes(bytes));
        let mut scratch = DeviceBuffer::new(device, scratch_bytes)?;
        let mut encoded = DeviceBuffer::new(device, REPORT_BYTES)?;
        let mut decoded = DeviceBuffer::new(device, REPORT_BYTES)?;

        // Both directions in one graph. The decoder learns the stream's length on the device, from the encoder's report.
        let graph = stream.capture(|| {
            // SAFETY: all buffers outlive the graph, and the host touches them only after it has waited for the stream.
            unsafe {
                let (coded, scratch, report) = (coded.as_mut_slice(), scratch.as_mut_slice(), encoded.as_mut_slice());
                codec.encode(plain, coded, scratch, report, &stream)?;
            }
            let length = Some(encoded.as_slice().slice(..8));
            let (again, statuses) = (again.as_mut_slice(), statuses.as_mut_slice());
            // SAFETY: as above.
            unsafe {
                let (scratch, report) = (scratch.as_mut_slice(), decoded.as_mut_slice());
                codec.decode(coded.as_slice(), length, again, statuses, scratch, report, &stream)
            }
        })?;

        // One graph, any data of that length.
        for mask in [0x000F, 0x00FF, 0x0FFF] {
            let data = noise(mask);
            stream.copy_to_device(their_buffer.as_mut_slice(), &data)?;
            let (start, end) = (Event::new(device)?, Event::new(device)?);
            stream.record(&start)?;
            // SAFETY: all buffers are alive, and nothing but the graph touches them until `read_encoded` has waited.
            unsafe { graph.launch(&stream)? };
            stream.record(&end)?;
            let stream_bytes = codec.read_encoded(encoded.as_slice(), &stream)?;
            assert_eq!(codec.read_decoded(decoded.as_slice(), &stream)?, Decoded::Whole { plain_bytes: bytes });
            let mut host = vec![0; PLAIN_BYTES];
            stream.copy_to_host(&mut host, again.as_slice())?;
            assert!(host == data, "the data did not come back");
            println!(
                "{bytes} -> {stream_bytes} bytes ({:.3} : 1) and back in {:.3} ms",
                bytes as f64 / stream_bytes as f64,
                end.milliseconds_since(&start)?
            );
        }
        Ok(())
    }

    /// 16-bit noise with no bits but those of `mask`.
    fn noise(mask: u16) -> Vec<u8> {
        let mut state = 1u32;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) as u16 & mask).to_le_bytes()
        });
        words.take(PLAIN_BYTES / 2).flatten().collect()
    }
}

//! Batches of frames on a device.

use super::device::{Cuda, POISON};
use std::sync::OnceLock;
use warpack::backend::{DeviceBuffer, Stream};
use warpack::causal::Fault;
use warpack::causal::batch::Item;
use warpack::causal::cuda::DeviceReceiver;

/// The receivers of the first device, if there is one: as it decodes, and with all tables in global memory.
fn receivers() -> Option<&'static [DeviceReceiver; 2]> {
    static RECEIVERS: OnceLock<Option<[DeviceReceiver; 2]>> = OnceLock::new();
    let open = || {
        let receiver = DeviceReceiver::new(Cuda::open()?.device()).expect("kernels");
        Some([receiver.clone(), receiver.with_far_tables()])
    };
    RECEIVERS.get_or_init(open).as_ref()
}

/// What the device makes of `items`, whose frames lie in `coded`: for each its tile, or its fault. `None` where there is no device.
pub fn decode(coded: &[u8], items: &[Item], plain_bytes: usize, far: bool) -> Option<Vec<Result<Vec<u8>, Fault>>> {
    let receiver = &receivers()?[usize::from(far)];
    let device = receiver.device();
    let stream = Stream::new(device).expect("a stream");
    let buffer = |bytes: usize| {
        let mut buffer = DeviceBuffer::new(device, bytes).expect("memory");
        stream.fill(buffer.as_mut_slice(), POISON).expect("a fill");
        buffer
    };
    let mut on_device = buffer(coded.len());
    stream.copy_to_device(on_device.as_mut_slice(), coded).expect("a copy");
    let batch = receiver.prepare(items, &stream).expect("a batch");
    let mut plain = buffer(plain_bytes);
    let (mut scratch, mut statuses) = (buffer(batch.scratch_bytes()), buffer(batch.status_bytes()));
    // SAFETY: the buffers are this function's own, and `read_outcomes` waits for the stream.
    unsafe {
        let (plain, scratch) = (plain.as_mut_slice(), scratch.as_mut_slice());
        batch.decode(on_device.as_slice(), plain, scratch, statuses.as_mut_slice(), &stream).expect("launches");
    }
    let outcomes = batch.read_outcomes(statuses.as_slice(), &stream).expect("statuses");
    let mut found = vec![0; plain_bytes];
    stream.copy_to_host(&mut found, plain.as_slice()).expect("a copy");
    let outcome = |(outcome, item): (Result<(), Fault>, &Item)| {
        let tile = &found[item.plain_at as usize..][..item.plain_bytes as usize];
        assert!(outcome.is_ok() || tile.iter().all(|&byte| byte == 0), "bytes of a refused tile were released");
        outcome.map(|()| tile.to_vec())
    };
    Some(outcomes.into_iter().zip(items).map(outcome).collect())
}

//! Batches of frames on a device.

use super::device::{Cuda, POISON};
use std::sync::OnceLock;
use warpack::backend::{DeviceBuffer, Stream};
use warpack::causal::Fault;
use warpack::causal::batch::{Item, send};
use warpack::causal::cuda::{DeviceReceiver, DeviceSender};
use warpack::causal::send::{Settings, max_frame_bytes};

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

/// The frames that the device makes of `tiles` as one batch. `None` where there is no device, or where its blocks have too little shared memory.
pub fn encode(tiles: &[&[u8]], settings: &Settings, far: bool) -> Option<Vec<Vec<u8>>> {
    static SENDERS: OnceLock<Option<[DeviceSender; 2]>> = OnceLock::new();
    let open = || {
        let sender = DeviceSender::new(Cuda::open()?.device()).expect("kernels");
        Some([sender.clone(), sender.with_far_tables()])
    };
    let sender = &SENDERS.get_or_init(open).as_ref()?[usize::from(far)];
    let device = sender.device();
    let stream = Stream::new(device).expect("a stream");
    let buffer = |bytes: usize| {
        let mut buffer = DeviceBuffer::new(device, bytes).expect("memory");
        stream.fill(buffer.as_mut_slice(), POISON).expect("a fill");
        buffer
    };
    let (mut plain, mut places, mut coded_bytes) = (vec![POISON; 16], Vec::new(), 32u64);
    for tile in tiles {
        places.push(send::Tile { plain_at: plain.len() as u64, plain_bytes: tile.len() as u32, coded_at: coded_bytes });
        plain.extend_from_slice(tile);
        plain.resize(plain.len().next_multiple_of(16), POISON);
        coded_bytes = (coded_bytes + max_frame_bytes(tile.len() as u64)).next_multiple_of(16);
    }
    let mut on_device = buffer(plain.len());
    stream.copy_to_device(on_device.as_mut_slice(), &plain).expect("a copy");
    let mut batch = sender.prepare(&places, settings, &stream).expect("a batch");
    assert!(batch.coded_bytes() <= coded_bytes);
    let (mut coded, mut scratch) = (buffer(coded_bytes as usize), buffer(batch.scratch_bytes()));
    // SAFETY: the buffers are this function's own.
    let lengths = unsafe { batch.encode(on_device.as_slice(), coded.as_mut_slice(), scratch.as_mut_slice(), &stream) };
    let mut found = vec![0; coded_bytes as usize];
    stream.copy_to_host(&mut found, coded.as_slice()).expect("a copy");
    let mut end = 0;
    let frame = |(place, length): (&send::Tile, u32)| {
        let between = &found[end..place.coded_at as usize];
        assert!(between.iter().all(|&byte| byte == POISON), "written in front of the frame at {}", place.coded_at);
        end = place.coded_at as usize + length as usize;
        found[place.coded_at as usize..end].to_vec()
    };
    Some(places.iter().zip(lengths.expect("launches")).map(frame).collect())
}

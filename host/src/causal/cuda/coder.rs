//! The causal stage at work on a device, for data on the host.

use super::{DeviceReceiver, DeviceSender};
use crate::backend::{CudaDevice, DeviceBuffer, Stream};
use crate::causal::batch::{Item, send};
use crate::causal::frame::{ALIGN_BYTES, Header};
use crate::causal::send::max_frame_bytes;
use crate::causal::{Fault, send::Settings};
use crate::digest;
use crate::stage::Coder;
use crate::stage::causal::{Causal, Trailer};
use crate::{Error, Result};

/// The causal stage on a device. A device whose blocks have too little shared memory to count in decodes only; the processor encodes then.
pub(crate) struct CudaCoder {
    stage: Causal,
    receiver: DeviceReceiver,
    sender: Option<DeviceSender>,
    stream: Stream,
    coded: DeviceBuffer,
    plain: DeviceBuffer,
    scratch: DeviceBuffer,
    statuses: DeviceBuffer,
}

/// The most plain bytes that are on the device at a time, to be decoded.
const BATCH_BYTES: usize = 1 << 30;
/// And the most tiles: each coded one has a model of 256 KiB, however small it is.
const BATCH_TILES: usize = 512;
/// The same, to be encoded: scratch takes twice as much again.
const ENCODE_BATCH_BYTES: usize = 256 << 20;
/// And the most tiles: each takes about 2 MB for its counts and frequencies, however small it is.
const ENCODE_BATCH_TILES: usize = 64;

impl CudaCoder {
    pub fn new(stage: Causal, device: &CudaDevice) -> Result<Self> {
        let empty = || DeviceBuffer::new(device, 0);
        Ok(Self {
            stage,
            receiver: DeviceReceiver::new(device)?,
            sender: match DeviceSender::new(device) {
                Ok(sender) => Some(sender),
                // Compute capability 8.6, 8.9 and 12.x: no block has the shared memory that counting takes.
                Err(Error::Cuda { call: "cuFuncSetAttribute", .. }) => None,
                Err(error) => return Err(error),
            },
            stream: Stream::new(device)?,
            coded: empty()?,
            plain: empty()?,
            scratch: empty()?,
            statuses: empty()?,
        })
    }

    /// Appends the frames of some tiles, which are those of `plain`.
    fn encode_tiles(&mut self, sender: &DeviceSender, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        let align = ALIGN_BYTES as usize;
        let tile_bytes = self.stage.tile_bytes();
        let stride = tile_bytes.next_multiple_of(align);
        let frame_stride = (max_frame_bytes(tile_bytes as u64) as usize).next_multiple_of(align);
        let tile = |(index, tile): (usize, &[u8])| send::Tile {
            plain_at: (index * stride) as u64,
            plain_bytes: tile.len() as u32,
            coded_at: (index * frame_stride) as u64,
        };
        let tiles: Vec<send::Tile> = plain.chunks(tile_bytes).enumerate().map(tile).collect();
        self.plain.resize(tiles.len() * stride)?;
        self.coded.resize(tiles.len() * frame_stride)?;
        // Tiles lie apart only where their length is no multiple of 16.
        let step = if stride == tile_bytes { plain.len().max(1) } else { tile_bytes };
        for (index, tiles) in plain.chunks(step).enumerate() {
            let at = index * stride;
            self.stream.copy_to_device(self.plain.as_mut_slice().slice(at..at + tiles.len()), tiles)?;
        }
        let settings: &Settings = self.stage.settings();
        let mut batch = sender.prepare(&tiles, settings, &self.stream)?;
        self.scratch.resize(batch.scratch_bytes())?;
        // SAFETY: the buffers are this coder's own, and `encode` waits for the work.
        let lengths = unsafe {
            let (coded, scratch) = (self.coded.as_mut_slice(), self.scratch.as_mut_slice());
            batch.encode(self.plain.as_slice(), coded, scratch, &self.stream)?
        };
        for (tile, length) in tiles.iter().zip(lengths) {
            let (from, start) = (tile.coded_at as usize, coded.len().next_multiple_of(align));
            coded.resize(start + length as usize, 0);
            self.stream.copy_to_host(&mut coded[start..], self.coded.as_slice().slice(from..from + length as usize))?;
        }
        Ok(())
    }

    /// Decodes some frames to their tiles, which are those of `plain`. Gives the first fault, and its frame's number.
    fn decode_frames(&mut self, frames: &[(Header, &[u8])], plain: &mut [u8]) -> Result<Result<(), (usize, Fault)>> {
        let tile_bytes = self.stage.tile_bytes();
        let stride = tile_bytes.next_multiple_of(ALIGN_BYTES as usize);
        let (mut items, mut coded_bytes) = (Vec::with_capacity(frames.len()), 0usize);
        for (index, ((_, frame), tile)) in frames.iter().zip(plain.chunks(tile_bytes)).enumerate() {
            items.push(Item {
                front: frame,
                frame_bytes: frame.len() as u64,
                coded_at: coded_bytes as u64,
                plain_at: (index * stride) as u64,
                plain_bytes: tile.len() as u32,
            });
            coded_bytes = (coded_bytes + frame.len()).next_multiple_of(ALIGN_BYTES as usize);
        }
        self.coded.resize(coded_bytes)?;
        self.plain.resize(frames.len() * stride)?;
        for item in &items {
            let at = item.coded_at as usize;
            // SAFETY: the frames are borrowed until `prepare` below has waited, and where it fails, until the wait here.
            let copied = unsafe {
                let to = self.coded.as_mut_slice().slice(at..at + item.front.len());
                self.stream.copy_to_device_async(to, item.front)
            };
            if let Err(error) = copied {
                self.stream.synchronize()?;
                return Err(error);
            }
        }
        let batch = self.receiver.prepare(&items, &self.stream);
        self.stream.synchronize()?;
        let batch = batch?;
        self.scratch.resize(batch.scratch_bytes())?;
        self.statuses.resize(batch.status_bytes())?;
        // SAFETY: the buffers are this coder's own, and the next line waits for the work.
        unsafe {
            batch.decode(
                self.coded.as_slice(),
                self.plain.as_mut_slice(),
                self.scratch.as_mut_slice(),
                self.statuses.as_mut_slice(),
                &self.stream,
            )?;
        }
        let outcomes = batch.read_outcomes(self.statuses.as_slice(), &self.stream)?;
        // Tiles lie apart only where their length is no multiple of 16.
        let step = if stride == tile_bytes { plain.len().max(1) } else { tile_bytes };
        for (index, tiles) in plain.chunks_mut(step).enumerate() {
            let at = index * stride;
            self.stream.copy_to_host(tiles, self.plain.as_slice().slice(at..at + tiles.len()))?;
        }
        let fault = outcomes.into_iter().enumerate().find_map(|(index, outcome)| outcome.err().map(|fault| (index, fault)));
        Ok(fault.map_or(Ok(()), Err))
    }
}

impl Coder for CudaCoder {
    fn encode(&mut self, plain: &[u8], coded: &mut Vec<u8>) -> Result<()> {
        let Some(sender) = self.sender.clone() else { return self.stage.encode(plain, coded) };
        coded.clear();
        let (even, odd) = plain.split_at(plain.len() & !1);
        let tile_bytes = self.stage.tile_bytes();
        let tiles = (ENCODE_BATCH_BYTES / tile_bytes).clamp(1, ENCODE_BATCH_TILES);
        let one = self.stage.is_one_tile(plain.len());
        let mut frames = || even.chunks(tiles * tile_bytes).try_for_each(|tiles| self.encode_tiles(&sender, tiles, coded));
        if one {
            return frames();
        }
        let (outcome, digest) = rayon::join(frames, || digest::tree(plain));
        outcome?;
        coded.extend_from_slice(odd);
        coded.extend_from_slice(&digest);
        Ok(())
    }

    fn decode(&mut self, coded: &[u8], plain: &mut [u8]) -> Result<()> {
        let (frames, trailer) = self.stage.frames(coded, plain.len())?;
        let trailer = Trailer::read(&self.stage, trailer, coded.len(), plain.len())?;
        let tile_bytes = self.stage.tile_bytes();
        let tiles = (BATCH_BYTES / tile_bytes.next_multiple_of(ALIGN_BYTES as usize)).clamp(1, BATCH_TILES);
        let even = plain.len() & !1;
        let batches = frames.chunks(tiles).zip(plain[..even].chunks_mut(tiles * tile_bytes)).enumerate();
        for (number, (frames, plain)) in batches {
            self.decode_frames(frames, plain)?
                .map_err(|(index, fault)| trailer.in_tile(number * tiles + index, fault.into()))?;
        }
        trailer.finish(plain)
    }
}

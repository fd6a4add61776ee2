//! The Lorenzo predictors on a device.

use super::device::{Cuda, POISON};
use super::lorenzo::{LorenzoExecutor, Settings};
use warpack::Result;
use warpack::backend::DeviceBuffer;
use warpack::lorenzo::{DevicePorts, DevicePortsMut, DevicePredictor, Ports};

/// An NVIDIA GPU.
pub struct Device(pub &'static Cuda);

impl Device {
    fn predictor(&self, settings: &Settings) -> Result<DevicePredictor> {
        let device = self.0.device();
        match settings {
            Settings::Lorenzo(lorenzo) => DevicePredictor::lorenzo(*lorenzo, device),
            Settings::Adaptive(lorenzo) => DevicePredictor::adaptive(*lorenzo, device),
            Settings::Tiled(lorenzo) => DevicePredictor::tiled(*lorenzo, device),
        }
    }

    /// Room for `bytes` bytes between guards; see [`Self::guarded`].
    fn buffer(&self, bytes: usize, fill: &[u8]) -> DeviceBuffer {
        self.0.buffer(bytes.next_multiple_of(16) + 256, fill)
    }

    /// The first `bytes` bytes, behind which nothing was written.
    fn guarded(&self, buffer: &DeviceBuffer, bytes: usize, name: &str) -> Vec<u8> {
        let mut all = vec![0; buffer.len()];
        self.0.stream().copy_to_host(&mut all, buffer.as_slice()).expect("a copy");
        assert!(all[bytes..].iter().all(|byte| *byte == POISON), "written behind {name}");
        all.truncate(bytes);
        all
    }
}

impl LorenzoExecutor for Device {
    fn name(&self) -> &str {
        "cuda"
    }

    fn forward(&self, settings: &Settings, plain: &[u8]) -> Result<Ports> {
        let predictor = self.predictor(settings)?;
        let sizes = predictor.port_bytes(plain.len() as u64)?;
        let (output_bytes, means_bytes, modes_bytes) = (sizes.output as usize, sizes.means as usize, sizes.modes as usize);
        let from = self.buffer(plain.len(), plain);
        let (mut output, mut means) = (self.buffer(output_bytes, &[]), self.buffer(means_bytes, &[]));
        let mut modes = self.buffer(modes_bytes, &[]);
        let scratch_bytes = predictor.scratch_bytes(plain.len() as u64)?;
        let mut scratch = self.buffer(scratch_bytes, &[]);
        let stream = self.0.stream();
        let ports = DevicePortsMut {
            output: output.as_mut_slice().slice(..output_bytes),
            means: means.as_mut_slice().slice(..means_bytes),
            modes: modes.as_mut_slice().slice(..modes_bytes),
        };
        // SAFETY: the buffers are this call's own, and the copies below wait for the work.
        unsafe {
            predictor.forward(
                from.as_slice().slice(..plain.len()),
                ports,
                scratch.as_mut_slice().slice(..scratch_bytes),
                stream,
            )?
        };
        let mut ports = Ports {
            output: self.guarded(&output, output_bytes, "output"),
            means: self.guarded(&means, means_bytes, "means"),
            modes: self.guarded(&modes, modes_bytes, "modes"),
        };
        self.guarded(&scratch, scratch_bytes, "scratch");
        if let Settings::Adaptive(_) = settings {
            let count = predictor.read_means_count(scratch.as_slice(), stream)?;
            ports.means.truncate((count * settings.element().bytes()) as usize);
        }
        Ok(ports)
    }

    fn inverse(&self, settings: &Settings, ports: &Ports, elements: usize) -> Result<Vec<u8>> {
        let predictor = self.predictor(settings)?;
        let word = settings.element().bytes();
        let bytes = elements * word as usize;
        let (output, means) = (self.buffer(ports.output.len(), &ports.output), self.buffer(ports.means.len(), &ports.means));
        let modes = self.buffer(ports.modes.len(), &ports.modes);
        let mut plain = self.buffer(bytes, &[]);
        let scratch_bytes = predictor.scratch_bytes(bytes as u64)?;
        let mut scratch = self.buffer(scratch_bytes, &[]);
        let stream = self.0.stream();
        let given = DevicePorts {
            output: output.as_slice().slice(..ports.output.len()),
            means: means.as_slice().slice(..ports.means.len()),
            modes: modes.as_slice().slice(..ports.modes.len()),
        };
        let (to, scratch_slice) = (plain.as_mut_slice().slice(..bytes), scratch.as_mut_slice().slice(..scratch_bytes));
        // SAFETY: as above.
        unsafe { predictor.inverse(given, to, scratch_slice, stream)? };
        let found = self.guarded(&plain, bytes, "plain");
        predictor.check_inverse(given, scratch.as_slice(), stream)?;
        Ok(found)
    }
}

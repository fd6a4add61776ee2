//! `warpack devices`

use super::failure::{Outcome, print};
use super::json::Json;
use crate::backend::{self, DeviceInfo};
use std::fs;

/// List what the codecs can run on
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let (model, threads) = (cpu_model(), std::thread::available_parallelism().map_or(1, usize::from));
    let devices = backend::devices();
    let text = if arguments.json {
        let (devices, reason) = match devices {
            Ok(devices) => (devices, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let cpu = Json::Object(vec![("name", model.into()), ("threads", (threads as u64).into())]);
        let devices = devices.iter().map(device_json).collect();
        format!("{}\n", Json::Object(vec![("cpu", cpu), ("cuda", devices), ("no_cuda_because", reason.into())]))
    } else {
        let cuda = match devices {
            Ok(devices) => devices.iter().map(|device| format!("{device}\n")).collect(),
            Err(error) => format!("no NVIDIA GPU: {error}\n"),
        };
        format!("cpu {model}, {threads} threads\n{cuda}")
    };
    print(&text)
}

fn device_json(device: &DeviceInfo) -> Json {
    let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    Json::Object(vec![
        ("backend", format!("cuda:{}", device.index).into()),
        ("name", device.name.as_str().into()),
        ("memory_bytes", device.memory_bytes.into()),
        ("compute_capability", version(device.compute_capability).into()),
        ("multiprocessors", device.multiprocessors.into()),
        ("driver_cuda_version", version(device.driver_version).into()),
        ("unusable_because", device.unusable.as_deref().into()),
    ])
}

/// The processor's name, as Linux tells it.
pub(super) fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}

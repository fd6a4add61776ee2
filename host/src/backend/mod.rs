//! Where work runs: the CPU, or an NVIDIA GPU.

/// Where work runs.
#[derive(Clone, Debug)]
pub enum Backend {
    /// All cores of this machine.
    Cpu,
}

//! The Lorenzo predictors: where they run, and their golden vectors in the layout of `tests/vectors/lorenzo`.

use super::generate::splitmix64;
use super::vectors::{read, root, sha256};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use warpack::lorenzo::{AdaptiveLorenzo, Lorenzo, Policy, Ports, Predictor, TiledLorenzo};
use warpack::{ElementType, Result};

/// A predictor with its settings.
#[derive(Clone, Copy, Debug)]
pub enum Settings {
    Lorenzo(Lorenzo),
    Adaptive(AdaptiveLorenzo),
    Tiled(TiledLorenzo),
}

impl std::ops::Deref for Settings {
    type Target = dyn Predictor;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Lorenzo(lorenzo) => lorenzo,
            Self::Adaptive(lorenzo) => lorenzo,
            Self::Tiled(lorenzo) => lorenzo,
        }
    }
}

/// A place where the predictors run: CPU, emulator, device.
pub trait LorenzoExecutor: Sync {
    /// The name in messages.
    fn name(&self) -> &str;

    /// How many elements a test may hand over at a time: an emulator is slow.
    fn max_elements(&self) -> usize {
        usize::MAX
    }

    /// The ports of `plain`.
    fn forward(&self, settings: &Settings, plain: &[u8]) -> Result<Ports>;

    /// The `elements` elements that `ports` were made from.
    fn inverse(&self, settings: &Settings, ports: &Ports, elements: usize) -> Result<Vec<u8>>;
}

/// Every place there is on this machine, or those of them that `WARPACK_EXECUTORS` names.
pub fn executors() -> Vec<&'static dyn LorenzoExecutor> {
    let mut all: Vec<&'static dyn LorenzoExecutor> = vec![&Cpu];
    #[cfg(feature = "cuda")]
    {
        static DEVICE: OnceLock<Option<super::lorenzo_device::Device>> = OnceLock::new();
        all.push(&super::lorenzo_emulator::Emulator);
        match DEVICE.get_or_init(|| super::device::Cuda::open().map(super::lorenzo_device::Device)) {
            Some(device) => all.push(device),
            None => super::skip_aloud("no NVIDIA device"),
        }
    }
    if let Ok(names) = std::env::var("WARPACK_EXECUTORS") {
        all.retain(|executor| names.split(',').any(|name| name == executor.name()));
        assert!(!all.is_empty(), "nothing here is called {names}");
    }
    all
}

/// The library's CPU code.
pub struct Cpu;

impl LorenzoExecutor for Cpu {
    fn name(&self) -> &str {
        "cpu"
    }

    fn forward(&self, settings: &Settings, plain: &[u8]) -> Result<Ports> {
        settings.forward(plain)
    }

    fn inverse(&self, settings: &Settings, ports: &Ports, elements: usize) -> Result<Vec<u8>> {
        settings.inverse(ports.as_ref(), elements as u64 * settings.element().bytes())
    }
}

/// One input with one predictor.
#[derive(Debug)]
pub struct Case {
    pub id: String,
    pub settings: Settings,
    pub input: String,
    pub elements: usize,
    pub outputs: BTreeMap<String, Array>,
}

/// Expected bytes: all of them, or their hash.
#[derive(Debug)]
pub struct Array {
    pub bytes: usize,
    pub sha256: String,
    pub stored: Option<Vec<u8>>,
}

/// `lorenzo` settings that must be refused, for an array of so many elements.
#[derive(Debug)]
pub struct Refused {
    pub element: ElementType,
    pub elements: usize,
    pub lorenzo: Result<Lorenzo>,
    pub what: String,
}

/// The vectors.
pub struct Vectors {
    manifest: Value,
    arrays: Vec<u8>,
}

impl Vectors {
    /// Reads the files. What is missing fails the test.
    pub fn load() -> Self {
        let folder = root().join("lorenzo");
        let manifest = serde_json::from_slice(&read(&folder.join("manifest.json"))).expect("a manifest in JSON");
        Self { manifest, arrays: read(&folder.join("arrays.bin")) }
    }

    /// The cases of `stage` with elements of type `element`, never none.
    pub fn cases(&self, stage: &str, element: &str) -> Vec<Case> {
        let own = |case: &&Value| case["stage"] == stage && case["dtype"] == element;
        let cases: Vec<Case> = list(&self.manifest["cases"]).iter().filter(own).map(|case| self.case(case)).collect();
        assert!(!cases.is_empty(), "no cases of {stage} with {element}");
        cases
    }

    /// How many cases there are of all stages and elements.
    pub fn count(&self) -> usize {
        list(&self.manifest["cases"]).len()
    }

    /// What must be refused, never nothing.
    pub fn refused(&self) -> Vec<Refused> {
        let refused = |case: &Value| Refused {
            element: element(case),
            elements: number(&case["n"]) as usize,
            lorenzo: lorenzo(case),
            what: case.to_string(),
        };
        let all: Vec<Refused> = list(&self.manifest["must_reject"]).iter().map(refused).collect();
        assert!(!all.is_empty(), "nothing to refuse");
        all
    }

    /// The bytes of input `name`, made again and compared with their hash.
    pub fn input(&self, name: &str) -> Vec<u8> {
        let input = &self.manifest["inputs"][name];
        let (bytes, count) = (element(input).bytes() as usize, number(&input["count"]) as usize);
        let plain = generate(text(&input["kind"]), number(&input["seed"]), count, bytes);
        let expected = self.array(input);
        assert_eq!(sha256(&plain), expected.sha256, "input {name}");
        if let Some(stored) = expected.stored {
            assert!(plain == stored, "input {name}");
        }
        plain
    }

    fn case(&self, case: &Value) -> Case {
        let element = element(case);
        let flag = |name: &str| case[name].as_bool().unwrap_or_else(|| panic!("no {name}"));
        let settings = match text(&case["stage"]) {
            "lorenzo" => lorenzo(case).map(Settings::Lorenzo),
            "adaptive_lorenzo" => AdaptiveLorenzo::builder(element)
                .blocks_per_tile(number(&case["blocks_per_tile"]))
                .enable_order2(flag("enable_order2"))
                .enable_centering(flag("enable_centering"))
                .policy(Policy::by_name(text(&case["policy"])).expect("a policy"))
                .build()
                .map(Settings::Adaptive),
            "tiled_lorenzo" => {
                let builder = TiledLorenzo::builder(element).extents(extents(&case["dims"]));
                let tile = extents(&case["tile"]);
                let lorenzo = if flag("tile_is_default") { builder.build() } else { builder.tile(tile).build() };
                let lorenzo = lorenzo.expect("settings of a vector");
                assert_eq!(lorenzo.tile().map(u64::from), tile);
                Ok(Settings::Tiled(lorenzo))
            }
            stage => panic!("vectors of {stage}"),
        };
        let outputs = case["outputs"].as_object().expect("an object").iter();
        Case {
            id: text(&case["id"]).into(),
            settings: settings.expect("settings of a vector"),
            input: text(&case["input"]).into(),
            elements: number(&case["n"]) as usize,
            outputs: outputs.map(|(port, array)| (port.clone(), self.array(array))).collect(),
        }
    }

    fn array(&self, array: &Value) -> Array {
        let bytes = number(&array["bytes"]) as usize;
        let stored = array["offset"].as_u64().map(|offset| self.arrays[offset as usize..][..bytes].to_vec());
        Array { bytes, sha256: text(&array["sha256"]).into(), stored }
    }
}

fn lorenzo(case: &Value) -> Result<Lorenzo> {
    Lorenzo::builder(element(case))
        .extents(extents(&case["dims"]))
        .block_size(number(&case["block_size"]))
        .order(number(&case["order"]))
        .centering(case["centering"].as_bool().expect("centering"))
        .build()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn element(value: &Value) -> ElementType {
    ElementType::by_name(text(&value["dtype"])).expect("an element type")
}

fn extents(value: &Value) -> [u64; 3] {
    [0, 1, 2].map(|axis| number(&value[axis]))
}

/// The input that the vectors' page describes, elements of `bytes` bytes.
pub fn generate(kind: &str, seed: u64, count: usize, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let high = 1u64 << (8 * bytes - 1);
    let mut walk = 0u64;
    let mut plain = Vec::with_capacity(count * bytes);
    for i in 0..count as u64 {
        let r = splitmix64(&mut state);
        let number = match kind {
            "full" => r,
            "walk" => {
                walk = walk.wrapping_add((r >> 32) % 7).wrapping_sub(3);
                walk
            }
            "offset" => high.wrapping_sub(40).wrapping_add(r % 61).wrapping_sub(30),
            "ramp" => seed % 97 + 3 * i + 5 * (i >> 6),
            "extremes" => [high, high.wrapping_sub(1), 0, u64::MAX, 1, high.wrapping_add(1)][r as usize % 6],
            "sparse" if r.is_multiple_of(37) => (r >> 40) % 100,
            "sparse" => 0,
            "mixed" => match i / 96 % 5 {
                0 => 1000 + 3 * (i % 512),
                1 => 20_000 + r % 11,
                2 => 5 * u64::from(r.is_multiple_of(29)),
                3 => r,
                _ => (i % 96).pow(2) + 7000 + r % 2,
            },
            kind => panic!("inputs of kind {kind}"),
        };
        plain.extend_from_slice(&number.to_le_bytes()[..bytes]);
    }
    plain
}

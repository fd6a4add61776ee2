//! A chain of stages on the command line: `lorenzo:element=i32,block_size=32 -> zigzag -> clog:word_size=4`.

use super::codec::{parse_chunk_size, parse_element, parse_word_size};
use super::failure::{Failure, Outcome};
use crate::archive::{ElementType, Shape};
use crate::lorenzo::Policy;
use crate::stage::{self, Entry, Options, Stage};
use crate::{Error, WordSize};

/// Reads a chain for an array of elements of type `element`. Who asks for no element type gets that one; who asks for no word size, the size of the
/// elements of the stage before, or else of the array.
pub(super) fn parse(text: &str, element: ElementType, shape: Option<&Shape>) -> Outcome<Vec<Box<dyn Stage>>> {
    let mut current = (element != ElementType::Bytes).then_some(element);
    let mut stages = Vec::new();
    for text in text.split("->").map(str::trim) {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let entry = stage::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = stage::ALL.iter().map(|entry| entry.name).collect();
            Failure::usage(format!("--stages: there is no stage {name:?}, only {}", names.join(", ")))
        })?;
        let at = format!("--stages: {name}");
        let mut options = options(entry, settings, shape).map_err(|why| Failure::usage(why).at(&at))?;
        if entry.settings.contains(&"element") {
            options.element = options.element.or(current);
            current = options.element;
        }
        if entry.settings.contains(&"word_size") && options.word_size.is_none() {
            options.word_size = current.and_then(|element| WordSize::from_bytes(element.bytes()));
        }
        let stage = entry.stage(&options).map_err(|error| match error {
            Error::MissingSetting { setting: "element", .. } => {
                Failure::usage("has to know the element type: say element=TYPE or --dtype TYPE").at(&at)
            }
            error => Failure::refused(error).at(&at),
        })?;
        stages.push(stage);
    }
    Ok(stages)
}

/// Reads `key=value,key=value`.
fn options(entry: &Entry, text: &str, shape: Option<&Shape>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut seen = Vec::new();
    for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        let (key, value) = setting.split_once('=').ok_or_else(|| format!("{setting:?} is no setting: write KEY=VALUE"))?;
        let (key, value) = (key.trim(), value.trim());
        if !entry.settings.contains(&key) {
            return Err(match entry.settings {
                [] => format!("there is no {key}: it has no settings"),
                all => format!("there is no {key}, only {}", all.join(", ")),
            });
        }
        if seen.contains(&key) {
            return Err(format!("{key} is given twice"));
        }
        seen.push(key);
        set(&mut options, key, value, shape).map_err(|why| format!("{key}: {why}"))?;
    }
    Ok(options)
}

fn set(options: &mut Options, key: &str, value: &str, shape: Option<&Shape>) -> Result<(), String> {
    match key {
        "word_size" => options.word_size = Some(parse_word_size(value)?),
        "chunk_size" => options.chunk_size = Some(parse_chunk_size(value)?),
        "element" => options.element = Some(parse_element(value)?),
        "block_size" => options.block_size = Some(number(value)?),
        "order" => options.order = Some(number(value)?),
        "order2" => options.order2 = Some(switch(value)?),
        "centering" => options.centering = Some(switch(value)?),
        "extents" if value == "shape" => {
            options.extents = Some(of_shape(shape.ok_or("there is no shape: give --shape too")?.extents()));
        }
        "extents" => options.extents = Some(extents(value)?),
        "tile" => options.tile = Some(extents(value)?),
        "blocks_per_tile" => options.blocks_per_tile = Some(number(value)?),
        "policy" => {
            options.policy = Some(Policy::by_name(value).ok_or(format!("there is no {value:?}, only plain and outlier"))?);
        }
        _ => return Err("can't be given here".into()),
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no whole number"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{text:?} is neither on nor off")),
    }
}

/// Reads up to three extents, slowest first, and gives them fastest first.
fn extents(text: &str) -> Result<[u64; 3], String> {
    let shape: Shape = text.parse().map_err(|error: Error| error.to_string())?;
    match shape.extents() {
        extents @ [_] | extents @ [_, _] | extents @ [_, _, _] => Ok(of_shape(extents)),
        extents => Err(format!("{} extents, at most 3 are possible", extents.len())),
    }
}

/// The extents of a shape, fastest first; axes beyond the third are taken together.
fn of_shape(extents: &[u64]) -> [u64; 3] {
    let mut axes = extents.iter().rev().copied();
    let (nx, ny) = (axes.next().unwrap_or(1), axes.next().unwrap_or(1));
    [nx, ny, axes.fold(1, u64::saturating_mul)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, element: ElementType) -> Vec<Vec<u8>> {
        let shape = "6x5x4x3".parse().unwrap();
        parse(text, element, Some(&shape)).unwrap().iter().map(|stage| stage.record().settings).collect()
    }

    #[test]
    fn word_sizes_follow_the_elements() {
        let chain = "lorenzo:element=i32 , block_size=32,order=2,centering=on->zigzag -> clog: chunk_size=4096";
        let expected = records(
            "lorenzo:element=i32,block_size=32,order=2,centering=on -> zigzag:word_size=4 -> clog:word_size=4,chunk_size=4096",
            ElementType::Bytes,
        );
        assert_eq!(records(chain, ElementType::Bytes), expected);
        assert_eq!(records(chain, ElementType::U8), expected);
        assert_eq!(
            records("zigzag -> clog", ElementType::F64),
            records("zigzag:word_size=8 -> clog:word_size=8", ElementType::Bytes)
        );
        assert_eq!(
            records("lorenzo -> zigzag", ElementType::I16),
            records("lorenzo:element=i16 -> zigzag:word_size=2", ElementType::Bytes)
        );
    }

    #[test]
    fn extents_are_slowest_first() {
        let of = |text| records(text, ElementType::I16);
        assert_eq!(of("lorenzo:extents=shape"), of("lorenzo:extents=30x4x3"));
        assert_eq!(of("tiled_lorenzo:extents=30x4x3,tile=1x2x3")[0][1..4], [3, 2, 1]);
        let lorenzo = &of("lorenzo:extents=7x9")[0];
        assert_eq!((lorenzo[8], lorenzo[16], lorenzo[24]), (9, 7, 1));
    }

    #[test]
    fn errors_name_the_stage_and_the_key() {
        for (text, expected) in [
            ("", "--stages: there is no stage \"\""),
            ("zigzag ->", "--stages: there is no stage \"\""),
            ("lorentz", "--stages: there is no stage \"lorentz\""),
            ("lorenzo", "--stages: lorenzo: has to know the element type"),
            ("lorenzo:element=i32,size=3", "--stages: lorenzo: there is no size, only element"),
            ("clog:element=i32", "--stages: clog: there is no element, only word_size, chunk_size"),
            ("stored:word_size=2", "--stages: stored: there is no word_size: it has no settings"),
            ("lorenzo:element", "--stages: lorenzo: \"element\" is no setting"),
            ("lorenzo:element=i33", "--stages: lorenzo: element: there is no element type \"i33\""),
            ("lorenzo:element=f32", "--stages: lorenzo: lorenzo does not take f32"),
            ("lorenzo:element=i32,block_size=x", "--stages: lorenzo: block_size: \"x\" is no whole number"),
            ("lorenzo:element=i32,block_size=1025", "--stages: lorenzo: lorenzo has no block size 1025"),
            ("lorenzo:element=i32,order=2", "--stages: lorenzo: lorenzo has order 2 only with a block size"),
            ("lorenzo:element=i32,order=1,order=2", "--stages: lorenzo: order is given twice"),
            ("lorenzo:element=i32,centering=yes", "--stages: lorenzo: centering: \"yes\" is neither"),
            ("lorenzo:element=i32,extents=1x2x3x4", "--stages: lorenzo: extents: 4 extents"),
            ("lorenzo:element=i32,extents=shape", "--stages: lorenzo: extents: there is no shape"),
            ("clog -> zigzag:word_size=3", "--stages: zigzag: word_size: words have 1, 2, 4 or 8 bytes, not 3"),
            ("adaptive_lorenzo:element=i16,policy=cheap", "--stages: adaptive_lorenzo: policy: there is no \"cheap\""),
        ] {
            let failure = parse(text, ElementType::Bytes, None).unwrap_err();
            assert!(failure.message().starts_with(expected), "{text}: {}", failure.message());
        }
    }
}

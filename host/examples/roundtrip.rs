//! Compresses an array in memory, looks at what came out, and restores it: whole, and one slice of it.
//!
//!     cargo run --release --example roundtrip

use std::io::Cursor;
use std::path::Path;
use warpack::archive::Archive;
use warpack::stage::{self, Options};
use warpack::{CompressOptions, DecompressOptions, ElementType, Shape, WordSize, compress, decompress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Eight slices of an MR head, 16 bits a value, little-endian, nothing before them.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/mr_t1w7t_8x384x274_i16.raw");
    let plain = std::fs::read(path)?;
    let slice_bytes = 384 * 274 * 2;

    // A stage by its name and settings. What is not said has a default.
    let clog = stage::by_name("clog").ok_or("no such stage")?;
    let settings = Options { word_size: Some(WordSize::W2), ..Default::default() };
    let options = CompressOptions {
        element: ElementType::I16,
        shape: Some(Shape::new(vec![8, 384, 274])?),
        // Blocks can be decoded alone: here one a slice.
        block_bytes: slice_bytes,
        ..CompressOptions::new((clog.from_options)(&settings)?)
    };
    let archive = compress(&plain, &options)?;
    println!("{} -> {} bytes, {:.3} : 1", plain.len(), archive.len(), plain.len() as f64 / archive.len() as f64);

    // The archive says all that decoding needs.
    let again = decompress(&archive, &DecompressOptions::default())?;
    assert!(again == plain);
    println!("restored: every byte is the same");

    // One slice, by the index. A file serves as well as this cursor.
    let mut reader = Archive::open(Cursor::new(&archive), &DecompressOptions::default())?;
    println!("{} blocks, {} elements", reader.info().blocks, reader.header().element);
    let range = 5 * slice_bytes..6 * slice_bytes;
    let mut slice = Vec::new();
    reader.copy_range(range.clone(), &mut slice)?;
    assert!(slice == plain[range.start as usize..range.end as usize]);
    println!("slice 5 alone: {} bytes", slice.len());

    // Damage is found, and the error says where.
    let mut damaged = archive;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    match decompress(&damaged, &DecompressOptions::default()) {
        Ok(_) => Err("a damaged archive was taken".into()),
        Err(error) => {
            print!("one flipped bit: {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                print!(": {cause}");
                source = cause.source();
            }
            println!();
            Ok(())
        }
    }
}

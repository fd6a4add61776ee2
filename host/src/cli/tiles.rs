//! What `warpack info` says about the tiles of a causal archive.

use super::json::Json;
use crate::archive::Archive;
use crate::causal::frame::{HEADER_BYTES, Header};
use crate::stage::causal::{Causal, ENTRY};
use crate::{Error, Result};
use std::io::{Read, Seek};

/// The tiles of all blocks that are not stored.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    tiles: Vec<Tile>,
    stored_blocks: u64,
}

#[derive(Debug)]
struct Tile {
    block: u64,
    header: Header,
}

/// Bytes of the parts of one frame, or of many.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    plain: u64,
    header: u64,
    model: u64,
    records: u64,
    payload: u64,
    filling: u64,
}

impl Parts {
    fn of(header: &Header) -> Self {
        let mut parts = Self {
            plain: header.tile_bytes.into(),
            header: HEADER_BYTES as u64,
            model: header.model_bytes.into(),
            records: header.record_bytes(),
            payload: 2 * u64::from(header.words),
            filling: 0,
        };
        parts.filling = header.frame_bytes() - parts.header - parts.model - parts.records - parts.payload;
        parts
    }

    fn plus(self, more: Self) -> Self {
        Self {
            plain: self.plain + more.plain,
            header: self.header + more.header,
            model: self.model + more.model,
            records: self.records + more.records,
            payload: self.payload + more.payload,
            filling: self.filling + more.filling,
        }
    }

    fn json(self) -> Vec<(&'static str, Json)> {
        vec![
            ("plain_bytes", self.plain.into()),
            ("header_bytes", self.header.into()),
            ("model_bytes", self.model.into()),
            ("record_bytes", self.records.into()),
            ("payload_bytes", self.payload.into()),
            ("filling_bytes", self.filling.into()),
        ]
    }

    fn text(self) -> String {
        let Self { plain, model, records, payload, .. } = self;
        format!("{plain} bytes: model {model}, records {records}, payload {payload}")
    }
}

impl Tiles {
    /// The headers of all frames, if `archive` is one of the causal codec alone.
    pub(super) fn read(archive: &mut Archive<impl Read + Seek>) -> Result<Option<Self>> {
        let stage = match archive.header().records.as_slice() {
            [record] if record.id == ENTRY.id => Causal::from_record(record)?,
            _ => return Ok(None),
        };
        let mut tiles = Self::default();
        for block in 0..archive.info().blocks {
            let Some((coded, plain_bytes)) = archive.coded_block(block)? else {
                tiles.stored_blocks += 1;
                continue;
            };
            let in_block = |source| Error::InBlock { index: block, source: Box::new(source) };
            let plain_bytes =
                usize::try_from(plain_bytes).map_err(|_| Error::TooLong { bytes: plain_bytes, max: usize::MAX as u64 })?;
            let (frames, _) = stage.frames(&coded, plain_bytes).map_err(in_block)?;
            tiles.tiles.extend(frames.into_iter().map(|(header, _)| Tile { block, header }));
        }
        Ok(Some(tiles))
    }

    fn total(&self) -> Parts {
        self.tiles.iter().map(|tile| Parts::of(&tile.header)).fold(Parts::default(), Parts::plus)
    }

    pub(super) fn as_json(&self) -> Json {
        let tile = |tile: &Tile| {
            let header = &tile.header;
            let mut fields = vec![
                ("block", tile.block.into()),
                ("form", header.form.name().into()),
                ("representation", representation(header).into()),
                ("chunk_bytes", (header.grain.bytes() as u64).into()),
            ];
            fields.extend(Parts::of(header).json());
            Json::Object(fields)
        };
        Json::Object(vec![
            ("stored_blocks", self.stored_blocks.into()),
            ("total", Json::Object(self.total().json())),
            ("list", self.tiles.iter().map(tile).collect()),
        ])
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = format!("  tiles    {}, {}\n", self.tiles.len(), self.total().text());
        if self.stored_blocks > 0 {
            text.push_str(&format!("           {} blocks are stored\n", self.stored_blocks));
        }
        for (index, tile) in self.tiles.iter().enumerate() {
            let header = &tile.header;
            let (form, chunk) = (header.form.name(), header.grain.bytes());
            text.push_str(&format!(
                "  {index:<8} {}, {form}, chunks of {chunk}, {}\n",
                representation(header),
                Parts::of(header).text()
            ));
        }
        text
    }
}

fn representation(header: &Header) -> &'static str {
    header.representation.map_or("stored", |representation| representation.name())
}

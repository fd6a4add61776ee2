//! CRC-32C, the checksum of headers and index. It finds every change of up to 32 bits in a row.

const POLYNOMIAL: u32 = 0x82F6_3B78; // 0x1EDC6F41 with its bits reversed

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// A checksum in the making.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crc(u32);

impl Crc {
    pub(super) const fn new() -> Self {
        Self(u32::MAX)
    }

    /// A checksum over `prefix` and what follows.
    pub(super) fn after(prefix: &[u8]) -> Self {
        let mut crc = Self::new();
        crc.update(prefix);
        crc
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 >> 8 ^ TABLE[(self.0 as u8 ^ byte) as usize];
        }
    }

    pub(super) const fn finish(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC catalogues, and two of RFC 3720, appendix B.4.
    #[test]
    fn published_values_hold() {
        assert_eq!(Crc::after(b"123456789").finish(), 0xE306_9283);
        assert_eq!(Crc::after(&[0; 32]).finish(), 0x8A91_36AA);
        assert_eq!(Crc::after(&[0xFF; 32]).finish(), 0x62A8_AB43);
        let mut parts = Crc::after(b"1234");
        parts.update(b"56789");
        assert_eq!(parts.finish(), 0xE306_9283);
    }
}

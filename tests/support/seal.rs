//! The checksums of archives that were changed by hand.

fn crc32c(parts: &[&[u8]]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in parts.concat() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    (!crc).to_le_bytes()
}

/// Puts the right checksum into a header that was changed by hand.
pub fn reseal(header: &mut [u8]) {
    header[12..16].fill(0);
    let crc = crc32c(&[header]);
    header[12..16].copy_from_slice(&crc);
}

/// Puts the right checksum into a block header, or into the end (without a number).
pub fn reseal_part(seal: &[u8], number: Option<u64>, part: &mut [u8]) {
    part[4..8].fill(0);
    let number = number.map(u64::to_le_bytes);
    let crc = crc32c(&[seal, number.as_ref().map_or(&[], |number| &number[..]), part]);
    part[4..8].copy_from_slice(&crc);
}

//! Differences along all axes, line by line: each number is read and written once.

#![forbid(unsafe_code)]

use super::Word;
use super::scan::scan;

/// About how many elements are in work at a time.
const BAND_ELEMENTS: usize = 2048;

/// The same array without the axes that have one element: along those nothing changes.
pub(super) fn lines(extents: [u64; 3]) -> [usize; 3] {
    let mut long = extents.into_iter().filter(|extent| *extent > 1);
    // Their product is a length in memory.
    [0; 3].map(|_: u8| long.next().unwrap_or(1) as usize)
}

/// The lines that line `(y, z)` is foretold by: one before it in its plane, the same one in the plane before, and the one before that.
struct Neighbours {
    up: Option<usize>,
    back: Option<usize>,
    both: Option<usize>,
}

/// The number of each line, and those of its neighbours.
fn walk([_, ny, nz]: [usize; 3]) -> impl Iterator<Item = (usize, Neighbours)> {
    (0..nz).flat_map(move |z| {
        (0..ny).map(move |y| {
            let line = z * ny + y;
            let up = (y > 0).then(|| line - 1);
            let back = (z > 0).then(|| line - ny);
            (line, Neighbours { up, back, both: back.filter(|_| y > 0).map(|back| back - 1) })
        })
    })
}

pub(super) fn forward<T: Word>([nx, ny, nz]: [usize; 3], plain: &[T::Cell], output: &mut [T::Cell]) {
    let plane = nx * ny;
    // Lines that have a line before them are taken several at a time: short ones are not worth a loop each.
    let band = (BAND_ELEMENTS / nx).max(1);
    for z in 0..nz {
        for y in (0..1).chain((1..ny).step_by(band)) {
            let lines = if y == 0 { 1 } else { band.min(ny - y) };
            let start = z * plane + y * nx;
            let part = |back: usize| &plain[start - back..][..lines * nx];
            let (own, output) = (part(0), &mut output[start..][..lines * nx]);
            if y > 0 && z > 0 {
                let (up, back, both) = (part(nx), part(plane), part(plane + nx));
                differences::<T>(nx, output, |x| {
                    T::load(own[x]).minus(T::load(up[x])).minus(T::load(back[x])).plus(T::load(both[x]))
                });
            } else if y > 0 || z > 0 {
                let other = part(if y > 0 { nx } else { plane });
                differences::<T>(nx, output, |x| T::load(own[x]).minus(T::load(other[x])));
            } else {
                differences::<T>(nx, output, |x| T::load(own[x]));
            }
        }
    }
}

/// The differences along lines of `nx` of what is left after those across them.
#[inline(always)]
fn differences<T: Word>(nx: usize, output: &mut [T::Cell], across: impl Fn(usize) -> T) {
    // As if all were one line, in one sweep; then the first of each.
    for (x, output) in output[1..].iter_mut().enumerate() {
        *output = across(x + 1).minus(across(x)).store();
    }
    for x in (0..output.len()).step_by(nx) {
        output[x] = across(x).store();
    }
}

pub(super) fn inverse<T: Word>(extents: [usize; 3], output: &[T::Cell], plain: &mut [T::Cell]) {
    let nx = extents[0];
    for (number, neighbours) in walk(extents) {
        let output = &output[number * nx..][..nx];
        let (before, own) = plain.split_at_mut(number * nx);
        let (own, line) = (&mut own[..nx], |number: usize| &before[number * nx..][..nx]);
        match neighbours {
            Neighbours { up: Some(up), back: Some(back), both: Some(both) } => {
                let (up, back, both) = (line(up), line(back), line(both));
                sums::<T>(output, own, |x| T::load(up[x]).plus(T::load(back[x])).minus(T::load(both[x])));
            }
            Neighbours { up: Some(other), .. } | Neighbours { back: Some(other), .. } => {
                let other = line(other);
                sums::<T>(output, own, |x| T::load(other[x]));
            }
            _ => sums::<T>(output, own, |_| T::default()),
        }
    }
}

/// The running sums of a line, and what the lines before it add.
#[inline(always)]
fn sums<T: Word>(output: &[T::Cell], own: &mut [T::Cell], across: impl Fn(usize) -> T) {
    if size_of::<T>() == 1 {
        // The sums of bytes are faster by themselves.
        scan::<T, false>(output, T::default(), own);
        for (x, own) in own.iter_mut().enumerate() {
            *own = T::load(*own).plus(across(x)).store();
        }
        return;
    }
    let mut sum = T::default();
    for (x, (output, own)) in output.iter().zip(own).enumerate() {
        sum = sum.plus(T::load(*output));
        *own = sum.plus(across(x)).store();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_one_element_are_left_out() {
        assert_eq!(lines([1, 300, 1]), [300, 1, 1]);
        assert_eq!(lines([5, 1, 7]), [5, 7, 1]);
        assert_eq!(lines([1, 1, 9]), [9, 1, 1]);
        assert_eq!(lines([2, 3, 4]), [2, 3, 4]);
        assert_eq!(lines([1, 2, 1]), [2, 1, 1]);
    }
}

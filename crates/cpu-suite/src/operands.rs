//! The buffers that a case works on: inputs filled from the case's name, one output, sizes.
//!
//! Inputs depend on operator, dtype and shape and on nothing else, so that both sides' outputs can be compared by a
//! digest across processes and rounds. Both sides of a duet work on the same buffers. Keeps one invariant: a buffer's
//! memory starts on a cache line and does not move while the operands live, because kernels hold its address.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::dtype::{Dtype, Scalar};

/// What an input holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// Numbers spread evenly between two bounds; whole ones for integers.
    Uniform(f64, f64),
    /// The same in the first scalar of each cache line, 0 in the others.
    FirstOfLine(f64, f64),
    /// `e^(-2 pi i k / n)` for `k` below half of `n` complex numbers, as pairs.
    Twiddles(usize),
}

/// How large a case's buffers are, in scalars, and what its inputs hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Scalars of the output.
    pub output: usize,
    /// Scalars and contents of each input.
    pub inputs: Vec<(usize, Fill)>,
    /// Sizes that the kernel is told.
    pub sizes: Vec<usize>,
}

/// A cache line; a vector of them is aligned to it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;

impl Line {
    /// Writes so many numbers from the start, rounded to the scalar.
    fn write(&mut self, scalar: Scalar, count: usize, mut number: impl FnMut() -> f64) {
        match scalar {
            Scalar::F32 => fill(&mut self.0, count, || (number() as f32).to_ne_bytes()),
            Scalar::I32 => fill(&mut self.0, count, || (number() as i32).to_ne_bytes()),
            Scalar::F64 => fill(&mut self.0, count, || number().to_ne_bytes()),
        }
    }
}

/// Memory of scalars, aligned to a cache line.
#[derive(Debug, Clone)]
pub struct Buffer {
    lines: Vec<Line>,
    bytes: usize,
    scalar: Scalar,
}

impl Buffer {
    /// Memory for so many scalars, zero.
    #[must_use]
    pub fn new(scalar: Scalar, scalars: usize) -> Self {
        let bytes = scalars * scalar_bytes(scalar);
        Self { lines: vec![Line([0; LINE_BYTES]); bytes.div_ceil(LINE_BYTES)], bytes, scalar }
    }

    pub(crate) fn address(&mut self) -> u64 {
        self.lines.as_mut_ptr().expose_provenance() as u64
    }

    /// Its bytes, in pieces of a cache line.
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let last = self.lines.len().saturating_sub(1);
        let rest = self.bytes - last * LINE_BYTES;
        self.lines
            .iter()
            .enumerate()
            .map(move |(i, line)| if i == last { &line.0[..rest] } else { &line.0[..] })
    }

    /// Its numbers.
    #[must_use]
    pub fn numbers(&self) -> Vec<f64> {
        let mut numbers = Vec::with_capacity(self.bytes / scalar_bytes(self.scalar));
        for piece in self.pieces() {
            match self.scalar {
                Scalar::F32 => {
                    numbers.extend(words(piece).map(|word| f64::from(f32::from_ne_bytes(word))));
                }
                Scalar::I32 => {
                    numbers.extend(words(piece).map(|word| f64::from(i32::from_ne_bytes(word))));
                }
                Scalar::F64 => numbers.extend(words(piece).map(f64::from_ne_bytes)),
            }
        }
        numbers
    }

    /// Writes numbers one after the other from the start, rounded to the scalar.
    pub fn write(&mut self, mut number: impl FnMut() -> f64) {
        let mut left = self.bytes / scalar_bytes(self.scalar);
        let a_line = LINE_BYTES / scalar_bytes(self.scalar);
        for line in &mut self.lines {
            let here = left.min(a_line);
            left -= here;
            line.write(self.scalar, here, &mut number);
        }
    }

    /// Writes a number at the start of each cache line, rounded to the scalar.
    fn write_first_of_lines(&mut self, mut number: impl FnMut() -> f64) {
        for line in &mut self.lines {
            line.write(self.scalar, 1, &mut number);
        }
    }

    /// Overwrites everything, so that what a kernel did not write is seen.
    pub fn poison(&mut self) {
        self.lines.fill(Line([0xA5; LINE_BYTES]));
    }

    /// True if both hold the same bits.
    #[must_use]
    pub fn same_bits(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.pieces().eq(other.pieces())
    }

    /// SHA-256 of its bytes in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for piece in self.pieces() {
            digest.update(piece);
        }
        hex(&digest.finalize())
    }
}

/// Bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn scalar_bytes(scalar: Scalar) -> usize {
    match scalar {
        Scalar::F32 | Scalar::I32 => 4,
        Scalar::F64 => 8,
    }
}

fn words<const N: usize>(piece: &[u8]) -> impl Iterator<Item = [u8; N]> {
    piece.as_chunks().0.iter().copied()
}

fn fill<const N: usize>(line: &mut [u8; LINE_BYTES], count: usize, mut word: impl FnMut() -> [u8; N]) {
    for place in line.as_chunks_mut().0.iter_mut().take(count) {
        *place = word();
    }
}

/// A case's buffers and sizes, ready for a kernel.
#[derive(Debug)]
pub struct Operands {
    inputs: Vec<Buffer>,
    output: Buffer,
    sizes: Vec<usize>,
    words: Vec<u64>,
}

impl Operands {
    /// Allocates and fills; the name of the case decides the numbers.
    #[must_use]
    pub fn new(layout: &Layout, dtype: Dtype, case_name: &str) -> Self {
        let mut inputs: Vec<Buffer> = layout
            .inputs
            .iter()
            .enumerate()
            .map(|(position, (scalars, contents))| {
                let mut buffer = Buffer::new(dtype.scalar(), *scalars);
                match *contents {
                    Fill::Uniform(low, high) => {
                        let mut draws = generator(case_name, position);
                        buffer.write(|| draws.random_range(low..high));
                    }
                    Fill::FirstOfLine(low, high) => {
                        let mut draws = generator(case_name, position);
                        buffer.write_first_of_lines(|| draws.random_range(low..high));
                    }
                    Fill::Twiddles(points) => {
                        let mut next = 0;
                        buffer.write(|| {
                            let angle = -std::f64::consts::TAU * f64::from(next / 2) / points as f64;
                            next += 1;
                            if next % 2 == 1 { angle.cos() } else { angle.sin() }
                        });
                    }
                }
                buffer
            })
            .collect();
        let mut output = Buffer::new(dtype.scalar(), layout.output);
        let words = std::iter::once(output.address())
            .chain(inputs.iter_mut().map(Buffer::address))
            .chain(layout.sizes.iter().map(|size| *size as u64))
            .collect();
        Self { inputs, output, sizes: layout.sizes.clone(), words }
    }

    /// What kernels are called with: addresses of the output and the inputs, then sizes.
    ///
    /// Takes the operands mutably because a kernel writes through these addresses.
    pub(crate) fn words(&mut self) -> &[u64] {
        &self.words
    }

    /// The inputs.
    #[must_use]
    pub fn inputs(&self) -> &[Buffer] {
        &self.inputs
    }

    /// The output.
    #[must_use]
    pub fn output(&self) -> &Buffer {
        &self.output
    }

    /// The output, to be written by an operator without a kernel, with the first input.
    pub fn output_and_first_input(&mut self) -> (&mut Buffer, &Buffer) {
        (&mut self.output, &self.inputs[0])
    }

    /// Overwrites the output, so that what a kernel does not write is seen.
    pub fn poison_output(&mut self) {
        self.output.poison();
    }

    /// The sizes.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

/// The generator of an input's numbers: another one for every case and input, the same in every process.
fn generator(case_name: &str, position: usize) -> SmallRng {
    let digest = Sha256::digest(format!("{case_name} input {position}"));
    let seed = digest.first_chunk().copied().expect("a SHA-256 has 32 bytes");
    SmallRng::seed_from_u64(u64::from_le_bytes(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(case_name: &str) -> Operands {
        let layout = Layout { output: 5, inputs: vec![(19, Fill::Uniform(-2.0, 2.0)); 2], sizes: vec![19] };
        Operands::new(&layout, Dtype::F32, case_name)
    }

    #[test]
    fn inputs_follow_from_the_case_alone() {
        let (first, again, other) = (operands("add [19]"), operands("add [19]"), operands("add [20]"));
        assert_eq!(first.inputs()[0].numbers(), again.inputs()[0].numbers());
        assert_ne!(first.inputs()[0].numbers(), first.inputs()[1].numbers());
        assert_ne!(first.inputs()[0].numbers(), other.inputs()[0].numbers());
        assert!(first.inputs()[0].numbers().iter().all(|number| (-2.0..2.0).contains(number)));
        assert_eq!(first.inputs()[0].numbers().len(), 19);
    }

    #[test]
    fn bits_decide_and_padding_does_not() {
        let mut one = Buffer::new(Scalar::F32, 17);
        let mut two = Buffer::new(Scalar::F32, 17);
        one.poison();
        let numbers: Vec<f64> = (0..17).map(f64::from).collect();
        for buffer in [&mut one, &mut two] {
            let mut next = numbers.iter();
            buffer.write(|| *next.next().unwrap());
        }
        assert!(one.same_bits(&two));
        assert_eq!(one.digest(), two.digest());
        assert_eq!(one.numbers(), numbers);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| (*number as f32).to_ne_bytes()).collect();
        assert_eq!(one.digest(), hex(&Sha256::digest(&bytes)));
        two.write(|| -0.0);
        one.write(|| 0.0);
        assert!(!one.same_bits(&two), "0 and -0 are equal numbers of different bits");
    }

    #[test]
    fn buffers_start_on_a_cache_line() {
        let mut operands = operands("add [19]");
        assert!(operands.words()[..3].iter().all(|address| address % 64 == 0));
        assert_eq!(operands.words()[3], 19);
    }
}

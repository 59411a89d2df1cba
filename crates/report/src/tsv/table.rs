//! A table in the making: fields in, lines out.
//!
//! Which columns there are is left to whoever writes one. Invariant: all fields are escaped here and nowhere else, so that none can
//! end its line or its column.

use crate::text::printable;

/// A table in the making: all of its fields are escaped here and nowhere else.
pub(crate) struct Table {
    text: String,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Self { text: header.join("\t") }
    }

    pub(super) fn header(&mut self, names: &[&str]) {
        self.more(names);
    }

    /// Begins a line.
    pub(crate) fn row<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) {
        self.text.push('\n');
        for (index, field) in fields.into_iter().enumerate() {
            if index > 0 {
                self.text.push('\t');
            }
            self.text.push_str(&escaped(field.as_ref()));
        }
    }

    /// Goes on with the line.
    pub(crate) fn more<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) {
        for field in fields {
            self.text.push('\t');
            self.text.push_str(&escaped(field.as_ref()));
        }
    }

    pub(crate) fn text(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

fn escaped(field: &str) -> String {
    printable(&field.replace('\\', "\\\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_cannot_break_its_line() {
        assert_eq!(escaped("a\tb\nc\rd\\e\u{1b}f"), "a\\tb\\nc\\rd\\\\e\\u{1b}f");
    }
}

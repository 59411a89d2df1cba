//! Operators compiled by Cranelift, for machines without a card

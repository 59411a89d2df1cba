//! Visibility variables that are inherited: a campaign schedules only inside them.
//!
//! The grammar is CUDA's, which the other vendors took over: entries separated by commas, an index, a UUID or the
//! start of one; the list ends at the first entry that is none; an empty list means no card, not all.

use switchback_model::card::Card;

use crate::backend::{Backend, ListedCard};

impl Backend {
    /// The cards that the environment allows, as entries for [`restrict`]; none if it restricts nothing.
    ///
    /// Where a second variable filters below the first (`ROCR_VISIBLE_DEVICES` below `HIP_VISIBLE_DEVICES`), indices
    /// of the first count among the cards that the second left.
    #[must_use]
    pub fn inherited_mask(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let mut mask: Option<Vec<String>> = None;
        for name in self.visibility.iter().rev() {
            let Some(text) = variable(name) else { continue };
            let entries = parse(&text);
            mask = Some(match mask {
                None => entries,
                Some(below) => entries
                    .into_iter()
                    .map_while(|entry| match entry.parse::<usize>() {
                        Ok(index) => below.get(index).cloned(),
                        Err(_) => Some(entry),
                    })
                    .collect(),
            });
        }
        mask
    }
}

/// Entries of a visibility variable, up to the first that is none.
#[must_use]
pub fn parse(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).take_while(|entry| is_entry(entry)).map(str::to_owned).collect()
}

fn is_entry(entry: &str) -> bool {
    let is_index = !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit());
    is_index || entry.starts_with("GPU-") || entry.starts_with("MIG-")
}

/// The listed cards that a mask names, in its order; a part of a card (`MIG-…`) is passed on as it was written.
///
/// The list ends at an entry that names no card or more than one.
#[must_use]
pub fn restrict(backend: &Backend, listed: &[ListedCard], mask: &[String]) -> Vec<ListedCard> {
    mask.iter().map_while(|entry| find(backend, listed, entry)).collect()
}

fn find(backend: &Backend, listed: &[ListedCard], entry: &str) -> Option<ListedCard> {
    if entry.starts_with("MIG-") {
        let card = Card { uuid: Some(entry.into()), ..backend.card(entry) };
        return Some(ListedCard { card, facts: Default::default() });
    }
    let named = |it: &&ListedCard| {
        it.card.index == entry
            || entry.starts_with("GPU-")
                && it.card.uuid.as_deref().is_some_and(|uuid| uuid.starts_with(entry))
    };
    let mut found = listed.iter().filter(named);
    let card = found.next()?;
    found.next().is_none().then(|| card.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn listed(indices: std::ops::Range<u32>) -> Vec<ListedCard> {
        let cuda = Backend::named("cuda").unwrap();
        indices
            .map(|index| ListedCard {
                card: Card { uuid: Some(format!("GPU-5a88edb{index}-00")), ..cuda.card(&index.to_string()) },
                facts: BTreeMap::new(),
            })
            .collect()
    }

    fn visible(text: &str, cards: u32) -> Vec<String> {
        let cuda = Backend::named("cuda").unwrap();
        let mask =
            cuda.inherited_mask(|name| (name == "CUDA_VISIBLE_DEVICES").then(|| text.to_owned())).unwrap();
        restrict(cuda, &listed(0..cards), &mask).into_iter().map(|it| it.card.index).collect()
    }

    #[test]
    fn the_list_ends_at_the_first_entry_that_is_none() {
        assert_eq!(visible("0,1,2,3,-1,5,6,7", 8), ["0", "1", "2", "3"]);
        assert_eq!(visible("1, 9,0", 8), ["1"]);
        assert!(visible("", 8).is_empty());
        assert!(visible("none", 8).is_empty());
    }

    #[test]
    fn uuids_may_be_cut_short_while_they_name_one_card() {
        assert_eq!(visible("GPU-5a88edb3,GPU-5a88edb1-", 8), ["3", "1"]);
        assert!(visible("GPU-5a88", 8).is_empty());
    }

    #[test]
    fn parts_of_cards_are_passed_on() {
        for mig in
            ["MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/2", "MIG-11111111-2222-3333-4444-555555555555"]
        {
            assert_eq!(visible(mig, 1), [mig]);
        }
    }

    #[test]
    fn an_unset_variable_restricts_nothing() {
        assert_eq!(Backend::named("cuda").unwrap().inherited_mask(|_| None), None);
        assert_eq!(Backend::named("cpu").unwrap().inherited_mask(|_| Some("0".into())), None);
    }

    #[test]
    fn hip_counts_among_what_rocr_left() {
        let rocm = Backend::named("rocm").unwrap();
        let both = |name: &str| Some(if name == "ROCR_VISIBLE_DEVICES" { "4,5" } else { "1" }.to_owned());
        assert_eq!(rocm.inherited_mask(both), Some(vec!["5".into()]));
    }
}

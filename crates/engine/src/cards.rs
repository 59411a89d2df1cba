//! Which back end and which card a campaign measures on.

use std::collections::BTreeMap;

use switchback_device::{Backend, ListedCard, ListingError, mask};
use switchback_model::card::Card;
use switchback_model::conditions::FIELDS;

use crate::error::EngineError;
use crate::request::{Request, RequestCard};

/// What stands for all cards where cards are named.
pub const ALL: &str = "all";

/// A chosen card, with what its listing says of it.
#[derive(Debug, Clone)]
pub struct ChosenCard {
    /// The back end.
    pub backend: &'static Backend,
    /// The card.
    pub card: Card,
    /// Facts that are conditions.
    pub facts: BTreeMap<String, String>,
    /// What is to be said of a power limit below the card's own.
    pub capped: Option<String>,
}

impl From<ChosenCard> for RequestCard {
    fn from(it: ChosenCard) -> Self {
        Self { card: it.card, facts: it.facts }
    }
}

/// Chooses the cards to measure on.
///
/// `backend` names the back end, or the first that lists a card is taken. `devices` are indices or UUIDs as `--devices`
/// gives them; none means the first card that the inherited visibility variable leaves, [`ALL`] all of them.
///
/// # Errors
/// No such back end, no card, a device that is not listed or that the visibility variable hides.
pub fn choose(
    suite: &str,
    backend: Option<&str>,
    devices: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<ChosenCard>, EngineError> {
    let (backend, listed) = match backend {
        Some(name) => {
            let backend = Backend::named(name).ok_or_else(|| unknown_backend(name))?;
            (backend, list(backend)?)
        }
        None if suite == "cpu" => {
            let cpu = Backend::named("cpu").ok_or_else(|| unknown_backend("cpu"))?;
            (cpu, list(cpu)?)
        }
        None => first_with_cards(suite)?,
    };
    let visible = match backend.inherited_mask(variable) {
        Some(entries) => mask::restrict(backend, &listed, &entries),
        None => listed.clone(),
    };
    let wanted: Vec<ListedCard> = if devices.is_empty() {
        visible.first().cloned().into_iter().collect()
    } else if devices == [ALL] {
        visible
    } else {
        devices
            .iter()
            .map(|device| {
                visible
                    .iter()
                    .find(|it| it.card.index == *device || it.card.uuid.as_deref() == Some(device))
                    .cloned()
                    .ok_or_else(|| {
                        let names: Vec<&str> = visible.iter().map(|it| it.card.index.as_str()).collect();
                        EngineError::usage(
                            format!("`{device}` is no card that `{}` can use", backend.name),
                            format!("there are: {}", names.join(", ")),
                        )
                    })
            })
            .collect::<Result<_, _>>()?
    };
    if wanted.is_empty() {
        return Err(EngineError::usage(
            format!("the inherited `{}` leaves no card", backend.visibility.first().unwrap_or(&"mask")),
            "unset it, or name cards in it",
        ));
    }
    Ok(wanted.into_iter().map(|it| chosen(backend, it)).collect())
}

fn chosen(backend: &'static Backend, listed: ListedCard) -> ChosenCard {
    let capped = switchback_device::backend::power_capped(&listed.facts);
    let facts = listed
        .facts
        .into_iter()
        .filter(|(field, _)| FIELDS.contains(field))
        .map(|(field, value)| (field.to_owned(), value))
        .collect();
    ChosenCard { backend, card: listed.card, facts, capped }
}

/// True if a card is still listed; none where that cannot be told.
#[must_use]
pub fn is_listed(backend: &'static Backend, card: &Card) -> Option<bool> {
    let name = card.lock_name();
    match backend.list() {
        Ok(listed) => Some(listed.iter().any(|it| it.card.lock_name() == name)),
        Err(ListingError::NoCard { .. }) => Some(false),
        Err(ListingError::NoTool { .. } | ListingError::Command { .. }) => None,
    }
}

/// The cards of this machine on which a campaign that was begun earlier goes on, and what is to be said of that.
///
/// A card is known by its UUID. One that is not here is replaced by one that is not in use otherwise and of which the same
/// is told (device, driver, power limit): a campaign may go on with another machine's equal cards, whole rounds at a time.
///
/// # Errors
/// Cards cannot be listed, or none of them can stand for the campaign's.
pub fn again(
    backend: &'static Backend,
    request: &Request,
) -> Result<(Vec<RequestCard>, Vec<String>), EngineError> {
    let wanted = request.cards();
    if matches!(backend.list(), Err(ListingError::NoTool { .. })) {
        return Ok((wanted, Vec::new()));
    }
    let listed: Vec<RequestCard> = list(backend)?.into_iter().map(|it| chosen(backend, it).into()).collect();
    let (cards, notes) = matched(&wanted, &listed);
    if cards.is_empty() {
        return Err(EngineError::Preflight(vec![switchback_model::finding::Finding::failure(
            "a card is there",
            notes.join("; "),
            "`--out` anew measures on the cards that are here",
        )]));
    }
    Ok((cards, notes))
}

fn matched(wanted: &[RequestCard], listed: &[RequestCard]) -> (Vec<RequestCard>, Vec<String>) {
    let mut free: Vec<&RequestCard> = listed.iter().collect();
    let mut places: Vec<Option<RequestCard>> = wanted
        .iter()
        .map(|it| {
            let name = it.card.lock_name();
            let at = free.iter().position(|listed| listed.card.lock_name() == name)?;
            Some(free.remove(at).clone())
        })
        .collect();
    let mut notes = Vec::new();
    for (place, it) in places.iter_mut().zip(wanted).filter(|(place, _)| place.is_none()) {
        let name = it.card.lock_name();
        match free.iter().position(|listed| listed.facts == it.facts) {
            Some(at) => {
                let other = free.remove(at).clone();
                notes.push(format!("card `{name}` is not here; goes on with `{}`", other.card.lock_name()));
                *place = Some(other);
            }
            None => notes.push(format!("card `{name}` is not here, and none that is like it")),
        }
    }
    (places.into_iter().flatten().collect(), notes)
}

fn list(backend: &'static Backend) -> Result<Vec<ListedCard>, EngineError> {
    match backend.list() {
        Ok(cards) => Ok(cards),
        // Where no listing tool is known, the visibility variable alone decides: one card, by its index.
        Err(ListingError::NoTool { .. }) => {
            let index = backend
                .inherited_mask(|name| std::env::var(name).ok())
                .and_then(|entries| entries.first().cloned())
                .unwrap_or_else(|| "0".into());
            Ok(vec![ListedCard { card: backend.card(&index), facts: BTreeMap::new() }])
        }
        Err(error) => Err(no_card(&error)),
    }
}

fn no_card(error: &ListingError) -> EngineError {
    EngineError::Preflight(vec![switchback_model::finding::Finding::failure(
        "a card is there",
        chain(error),
        error.hint(),
    )])
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

fn first_with_cards(suite: &str) -> Result<(&'static Backend, Vec<ListedCard>), EngineError> {
    let mut refusals = Vec::new();
    for backend in Backend::ALL.iter().filter(|backend| backend.name != "cpu") {
        match backend.list() {
            Ok(cards) => return Ok((backend, cards)),
            Err(error) => refusals.push(format!("{}: {}", backend.name, chain(&error))),
        }
    }
    // A foreign program need not use a card at all.
    if suite == "command"
        && let Some(cpu) = Backend::named("cpu")
    {
        return Ok((cpu, list(cpu)?));
    }
    Err(EngineError::Preflight(vec![switchback_model::finding::Finding::failure(
        "a card is there",
        format!("no back end lists a card ({})", refusals.join("; ")),
        "`--backend` names one; `--suite cpu` needs no card",
    )]))
}

fn unknown_backend(name: &str) -> EngineError {
    let names: Vec<&str> = Backend::ALL.iter().map(|backend| backend.name).collect();
    EngineError::usage(format!("`{name}` is no back end"), format!("there are: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(uuid: &str, power_limit_w: &str) -> RequestCard {
        let card =
            Card { backend: "cuda".into(), index: uuid.to_owned(), uuid: Some(uuid.into()), name: None };
        RequestCard { card, facts: BTreeMap::from([("power_limit_w".to_owned(), power_limit_w.to_owned())]) }
    }

    #[test]
    fn a_campaign_goes_on_with_its_own_cards_or_with_equal_ones_and_says_so() {
        let wanted = [card("GPU-1", "700"), card("GPU-2", "700"), card("GPU-3", "600")];
        let listed = [card("GPU-9", "700"), card("GPU-1", "700"), card("GPU-8", "500")];
        let (cards, notes) = matched(&wanted, &listed);
        let names: Vec<String> = cards.iter().map(|it| it.card.lock_name()).collect();
        assert_eq!(names, ["GPU-1", "GPU-9"]);
        let said = [
            "card `GPU-2` is not here; goes on with `GPU-9`",
            "card `GPU-3` is not here, and none that is like it",
        ];
        assert_eq!(notes, said);
        assert_eq!(matched(&wanted[..1], &listed), (vec![listed[1].clone()], vec![]));
    }

    #[test]
    fn all_cards_are_those_that_are_visible() {
        let all = choose("cpu", None, &[ALL.to_owned()], |_| None).unwrap();
        assert!(all.len() >= 2, "{all:?}");
    }

    #[test]
    fn the_cpu_suite_needs_no_card_and_a_wrong_name_lists_the_right_ones() {
        let chosen = choose("cpu", None, &[], |_| None).unwrap();
        assert_eq!((chosen.len(), chosen[0].backend.name), (1, "cpu"));
        let error = choose("cpu", Some("cude"), &[], |_| None).unwrap_err();
        assert_eq!(error.to_string(), "`cude` is no back end");
        assert!(error.hint().unwrap().contains("cuda"));
        let error = choose("cpu", None, &["99".into()], |_| None).unwrap_err();
        assert!(error.to_string().contains("`99` is no card"));
    }
}

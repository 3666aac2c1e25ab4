//! The asks of a run: numbered, and open until an answer is sent to the adapter. An id names the ask that used it last;
//! a number names one ask. What is kept of open asks is bounded.

use super::room::Room;
use super::rules::AskRules;
use crate::model::{Answer, AnsweredBy, Ask, AskAnswered, Choice, Decision, EventKind, InputRejected};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

/// How many bytes of the question are kept of an open ask.
const TITLE: usize = 1 << 10;

/// How many ids of closed asks are remembered.
const CLOSED: usize = 10_000;

/// Why an ask cannot be answered.
const NOT_OPEN: &str = "there is no such ask, or it is not open any more";

/// The asks of a run.
#[derive(Debug, Default)]
pub(super) struct Asks {
    /// How many there were so far.
    count: u64,
    open: BTreeMap<u64, OpenAsk>,
    /// The open asks without an answer, by the time at which they count as denied.
    waiting: BTreeSet<(Until, u64)>,
    by_id: HashMap<String, u64>,
    /// Asks that found no room: they are denied.
    refused: BTreeSet<u64>,
    /// Answers that need no person, given when all available output was handled.
    own_answers: Vec<OwnAnswer>,
    closed: ClosedIds,
    room: Room,
    /// How many found no room in all.
    omitted: u64,
}

/// When an ask counts as denied: `Duration::MAX` if it never does.
type Until = Duration;

/// An answer that needs no person.
#[derive(Debug)]
enum OwnAnswer {
    /// Of a rule.
    Rule { number: u64, answer: Answer },
    /// To an ask that found no room.
    Refusal(AskAnswered),
}

/// An ask without what only its reader needs.
#[derive(Debug)]
struct OpenAsk {
    ask: Ask,
    until: Until,
    /// Whether it has an answer that is not sent yet.
    decided: bool,
    /// Whether an earlier ask had the same id, and a caller may still want to answer that one.
    ambiguous: bool,
    bytes: usize,
}

impl Asks {
    /// Takes note of an ask or its end, and numbers it. Without rules nothing is answered here. Returns the end of another
    /// ask with the same id, which comes before this event: an answer to the first must not reach the second.
    pub(super) fn observe(
        &mut self,
        event: &mut EventKind,
        until: Option<Duration>,
        rules: Option<&AskRules>,
    ) -> Option<EventKind> {
        match event {
            EventKind::AskWithdrawn { id, number } => {
                *number = self.withdraw(id);
                None
            }
            EventKind::Ask(ask) => {
                let replaced = self.withdraw(&ask.id);
                let kept = self.open(ask, until);
                let number = ask.number;
                self.own_answers.extend(rules.and_then(|rules| {
                    if kept {
                        rules.answer(ask).map(|answer| OwnAnswer::Rule { number, answer })
                    } else {
                        let denied = Answer::to(ask, Decision::Deny);
                        Some(OwnAnswer::Refusal(AskAnswered::new(ask, denied, AnsweredBy::Limit)))
                    }
                }));
                replaced.map(|number| EventKind::AskWithdrawn { id: ask.id.clone(), number: Some(number) })
            }
            _ => None,
        }
    }

    /// Numbers an ask and opens it. Returns false if there is no room: then it is denied.
    fn open(&mut self, ask: &mut Ask, until: Option<Duration>) -> bool {
        self.count += 1;
        ask.number = self.count;
        let kept = reduced(ask);
        let choices: usize = kept.choices.iter().map(|choice| choice.id.len() + size_of::<Choice>()).sum();
        let bytes = kept.id.len() + kept.title.len() + choices;
        if !self.room.take(bytes) {
            self.refused.insert(ask.number);
            self.omitted += 1;
            return false;
        }
        self.by_id.insert(kept.id.clone(), kept.number);
        let ambiguous = self.closed.contains(&kept.id);
        let until = until.unwrap_or(Until::MAX);
        self.waiting.insert((until, kept.number));
        self.open.insert(kept.number, OpenAsk { ask: kept, until, decided: false, ambiguous, bytes });
        true
    }

    /// Closes the ask with this id, if one is open, together with an answer that was not sent yet.
    fn withdraw(&mut self, id: &str) -> Option<u64> {
        let number = *self.by_id.get(id)?;
        self.close(number, false);
        Some(number)
    }

    /// An answer is sent to the adapter. Returns the question. Recordings of earlier versions have no numbers.
    pub(super) fn sent(&mut self, answered: &AskAnswered) -> Option<String> {
        let number = match answered.number {
            0 => self.by_id.get(&answered.id).copied().unwrap_or_default(),
            number => number,
        };
        self.close(number, answered.by == AnsweredBy::Caller)
    }

    /// The turn has ended: nobody waits for an answer.
    pub(super) fn clear(&mut self) {
        self.refused.clear();
        while let Some(number) = self.open.keys().next().copied() {
            self.close(number, false);
        }
    }

    fn close(&mut self, number: u64, by_caller: bool) -> Option<String> {
        self.refused.remove(&number);
        let OpenAsk { ask, until, bytes, .. } = self.open.remove(&number)?;
        self.waiting.remove(&(until, number));
        self.room.give_back(bytes);
        self.by_id.remove(&ask.id);
        if !by_caller {
            self.closed.add(&ask.id);
        }
        Some(ask.title)
    }

    /// A caller's answer, applied to its ask, which takes no other from now on; or why it is not.
    pub(super) fn answer(&mut self, answer: Answer) -> Result<AskAnswered, InputRejected> {
        let (ask, number) = (answer.ask.clone(), answer.number);
        let answered = self.find(&answer).map(|found| self.decide(found, answer, AnsweredBy::Caller));
        match answered {
            Ok(Some(answered)) => Ok(answered),
            Ok(None) => Err(InputRejected::answer(ask, number, NOT_OPEN)),
            Err(reason) => Err(InputRejected::answer(ask, number, reason)),
        }
    }

    /// The number of the ask that a caller answers, or why there is none.
    fn find(&self, answer: &Answer) -> Result<u64, String> {
        let number = match (answer.number, &answer.ask) {
            (Some(number), _) => Some(number),
            (None, Some(id)) => self.by_id.get(id).copied(),
            (None, None) => return Err("it names no ask: an answer needs the `number` of one".to_owned()),
        };
        let open = number.and_then(|number| self.open.get(&number)).filter(|open| !open.decided);
        // The id beside a number must be that of the ask.
        let open = open.filter(|open| answer.ask.as_ref().is_none_or(|id| *id == open.ask.id)).ok_or(NOT_OPEN)?;
        let number = open.ask.number;
        if open.ambiguous && answer.number.is_none() {
            return Err(format!("an earlier ask had the same id: answer by its `number`, which is {number} now"));
        }
        answer.check(&open.ask).map(|()| number)
    }

    /// The answer, applied to its ask. None if it is not open, or has one.
    fn decide(&mut self, number: u64, answer: Answer, by: AnsweredBy) -> Option<AskAnswered> {
        let open = self.open.get_mut(&number).filter(|open| !open.decided)?;
        open.decided = true;
        self.waiting.remove(&(open.until, number));
        Some(AskAnswered::new(&open.ask, answer, by))
    }

    /// Whether anything can be answered without a person.
    pub(super) fn has_own_answers(&self) -> bool {
        !self.own_answers.is_empty()
    }

    /// The answers that need no person. An ask may have been withdrawn since.
    pub(super) fn take_own_answers(&mut self) -> Vec<AskAnswered> {
        let answers = std::mem::take(&mut self.own_answers).into_iter();
        let decided = answers.filter_map(|answer| match answer {
            OwnAnswer::Rule { number, answer } => self.decide(number, answer, AnsweredBy::Rule),
            OwnAnswer::Refusal(denied) => Some(denied),
        });
        decided.collect()
    }

    /// Denies the asks that nobody has answered in time.
    pub(super) fn expire(&mut self, now: Duration) -> Vec<AskAnswered> {
        let late: Vec<u64> = self.waiting.range(..=(now, u64::MAX)).map(|(_, number)| *number).collect();
        let deny = |number| {
            let answer = Answer::to(&self.open.get(&number)?.ask, Decision::Deny);
            self.decide(number, answer, AnsweredBy::Timeout)
        };
        late.into_iter().filter_map(deny).collect()
    }

    /// Whether the answer still has its ask.
    pub(super) fn awaits(&self, answered: &AskAnswered) -> bool {
        self.open.contains_key(&answered.number) || self.refused.contains(&answered.number)
    }

    /// When the next ask counts as denied.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.waiting.first().map(|(until, _)| *until).filter(|until| *until < Until::MAX)
    }

    /// Whether an ask waits for an answer.
    pub(super) fn any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How many asks found no room.
    pub(super) fn omitted(&self) -> u64 {
        self.omitted
    }
}

/// What an answer and the report need of an ask.
fn reduced(ask: &Ask) -> Ask {
    let mut kept = Ask::new(&ask.id, ask.kind, &ask.title[..ask.title.floor_char_boundary(TITLE)]);
    kept.number = ask.number;
    kept.input_editable = ask.input_editable;
    let choice = |choice: &Choice| Choice { id: choice.id.clone(), kind: choice.kind, label: String::new() };
    kept.choices = ask.choices.iter().map(choice).collect();
    kept
}

/// The ids of asks that were closed without an answer of the caller, the latest of them. Only their hashes are kept: two
/// ids with the same hash make a caller answer by number, which is never wrong.
#[derive(Debug, Default)]
struct ClosedIds {
    order: VecDeque<u64>,
    hashes: HashSet<u64>,
}

impl ClosedIds {
    fn add(&mut self, id: &str) {
        let hash = hash(id);
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
        }
        if self.order.len() > CLOSED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
    }

    fn contains(&self, id: &str) -> bool {
        self.hashes.contains(&hash(id))
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AskKind;

    fn ask(asks: &mut Asks, id: &str, title: &str, rules: Option<&AskRules>) -> (Ask, Option<EventKind>) {
        let mut event = EventKind::Ask(Ask::new(id, AskKind::Permission, title));
        let before = asks.observe(&mut event, None, rules);
        let EventKind::Ask(ask) = event else { panic!("{event:?}") };
        (ask, before)
    }

    #[test]
    fn an_answer_by_id_never_reaches_an_ask_that_it_may_not_be_meant_for() {
        let by_id = || Answer::new("a", Decision::Allow);
        for by_caller in [true, false] {
            let mut asks = Asks::default();
            let (first, _) = ask(&mut asks, "a", "may I?", None);
            asks.close(1, by_caller);
            let (second, before) = ask(&mut asks, "a", "may I?", None);
            assert_eq!((first.number, second.number, before), (1, 2, None));
            assert!(asks.answer(Answer::to(&first, Decision::Allow)).is_err());
            assert!(asks.answer(Answer { ask: Some("b".to_owned()), number: Some(2), ..by_id() }).is_err());
            let answered = asks.answer(by_id());
            assert_eq!(answered.is_ok(), by_caller, "the caller may have meant the first: {answered:?}");
            assert_eq!(asks.answer(Answer::to(&second, Decision::Allow)).is_ok(), !by_caller, "one answer is enough");
        }
        let nameless = Answer { ask: None, ..by_id() };
        assert!(Asks::default().answer(nameless).is_err_and(|rejected| rejected.reason.contains("`number`")));
    }

    #[test]
    fn a_second_ask_with_an_open_id_withdraws_the_first_and_its_answers() {
        let rules: AskRules = toml::from_str("default = \"allow\"").expect("rules");
        let mut asks = Asks::default();
        let (first, _) = ask(&mut asks, "a", "may I?", Some(&rules));
        let sent_late = asks.take_own_answers().remove(0);
        assert!(asks.awaits(&sent_late));
        let (_, before) = ask(&mut asks, "a", "may I, too?", None);
        assert_eq!(before, Some(EventKind::AskWithdrawn { id: "a".to_owned(), number: Some(first.number) }));
        assert!(!asks.awaits(&sent_late), "it was not given to the second");
        ask(&mut asks, "b", "may I?", Some(&rules));
        ask(&mut asks, "b", "may I, too?", None);
        assert_eq!(asks.take_own_answers(), []);
    }

    #[test]
    fn the_next_deadline_is_known_without_looking_at_every_open_ask() {
        let mut asks = Asks::default();
        let mut open = |id: &str, until: Option<u64>| {
            let mut event = EventKind::Ask(Ask::new(id, AskKind::Permission, "may I?"));
            asks.observe(&mut event, until.map(Duration::from_secs), None);
        };
        (0..9_000).for_each(|number| open(&number.to_string(), Some(100 + number)));
        open("never", None);
        open("early", Some(7));
        assert_eq!(asks.deadline(), Some(Duration::from_secs(7)));
        assert_eq!(asks.expire(Duration::from_secs(6)), []);
        assert_eq!(asks.expire(Duration::from_secs(7)).len(), 1);
        assert_eq!(asks.expire(Duration::from_secs(7)), [], "each once");
        assert_eq!(asks.deadline(), Some(Duration::from_secs(100)));
        assert_eq!(asks.expire(Duration::from_secs(9_098)).len(), 8_999);
        asks.close(9_000, true);
        assert_eq!((asks.deadline(), asks.any_waiting()), (None, true), "one waits for ever");
        assert_eq!(asks.waiting.len(), 1, "answered and closed asks are not looked at again");
        asks.clear();
        assert!(!asks.any_waiting() && asks.open.is_empty());
    }

    #[test]
    fn open_asks_without_end_are_denied_and_counted() {
        let rules = AskRules::default();
        let mut asks = Asks::default();
        let title = "x".repeat(100_000);
        for number in 0..20_000 {
            ask(&mut asks, &number.to_string(), &title, Some(&rules));
        }
        let denied = asks.take_own_answers();
        let kept = 20_000 - denied.len();
        assert!((900..1100).contains(&kept), "{kept} titles of a kibibyte are about a mebibyte");
        assert_eq!(denied.len() as u64, asks.omitted());
        assert!(denied.iter().all(|denied| denied.by == AnsweredBy::Limit && asks.awaits(denied)));
        asks.clear();
        assert!(asks.take_own_answers().is_empty() && !asks.awaits(&denied[0]) && !asks.any_waiting());
        ask(&mut asks, "a", &title, Some(&rules));
        assert!(asks.any_waiting(), "there is room again");
    }
}

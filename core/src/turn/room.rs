//! How much of one kind of thing is kept of a run. An agent that names new things without end must not make the host
//! remember them all: what finds no room is counted instead.

/// How many things of one kind are kept.
const ENTRIES: usize = 10_000;

/// How many bytes their ids and names may have in all.
const BYTES: usize = 1 << 20;

/// The longest id that an agent may use for anything, and the longest name that is kept.
pub(super) const ID_LIMIT: usize = 1 << 10;

/// The room that is left.
#[derive(Debug, Clone)]
pub(super) struct Room {
    entries: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room { entries: ENTRIES, bytes: BYTES }
    }
}

impl Room {
    /// Takes room for one more entry of so many bytes. Returns whether there is any.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let taken = self.entries > 0 && self.grow(bytes);
        self.entries -= usize::from(taken);
        taken
    }

    /// Takes so many bytes more for an entry that has its place.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }

    /// Gives back the room of one entry.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.entries += 1;
        self.bytes += bytes;
    }
}

/// A name, unless it is too long to be kept.
pub(super) fn short(name: Option<&String>) -> Option<&String> {
    name.filter(|name| name.len() <= ID_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_takes_none() {
        let mut room = Room { entries: 2, bytes: 10 };
        assert!(room.take(6) && !room.take(5), "too many bytes");
        assert!(room.take(4) && !room.take(0), "too many entries");
        room.give_back(4);
        assert!(room.take(1) && room.grow(3) && !room.grow(1));
    }
}

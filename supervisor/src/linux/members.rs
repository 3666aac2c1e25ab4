//! Which processes belong to a run: a pure question to a table.
//!
//! An agent opens a session of its own, and sessions are only ever inherited. So whoever shares a session with a
//! member is a member, and so is whoever has a member for a parent.

use std::collections::HashSet;

use super::table::{Entry, Identity};

/// What is known of a run when the table is looked at.
pub(super) struct Claim<'a> {
    /// The process that asks; it and its ancestors are never members.
    pub(super) host: i32,
    /// The agent, where it is known.
    pub(super) agent: Option<Identity>,
    /// The agent's session counts even without the agent: nobody else can have got its number meanwhile.
    pub(super) session_is_fresh: bool,
    /// When the run began: nothing older belongs to it.
    pub(super) since: u64,
    /// Who was a member at an earlier look.
    pub(super) known: &'a HashSet<Identity>,
    /// Who bears the markers, or is in the cgroup.
    pub(super) marked: &'a HashSet<i32>,
    /// How to claim orphans that nothing else connects with a run.
    pub(super) adoption: Option<&'a Adoption>,
}

/// For a host that is the subreaper: orphans of its runs become its own children.
#[derive(Debug)]
pub(super) struct Adoption {
    /// The children that the host started itself.
    pub(super) own: HashSet<Identity>,
    /// When the other live runs began. An orphan may be of any run that is older than it is, so it is claimed only when
    /// no other run comes into question; the last of them gets it.
    pub(super) rivals: Vec<u64>,
}

impl Adoption {
    /// Whether `entry` was adopted by `host`. What the host started without this module shares the host's session.
    pub(super) fn adopted(&self, entry: &Entry, host: i32, host_session: Option<i32>) -> bool {
        entry.parent == host && Some(entry.session) != host_session && !self.own.contains(&entry.identity())
    }

    fn claims(&self, entry: &Entry, host: i32, host_session: Option<i32>) -> bool {
        self.adopted(entry, host, host_session) && self.rivals.iter().all(|&began| began > entry.start)
    }
}

/// The members, zombies among them.
pub(super) fn family(table: &[Entry], claim: &Claim<'_>) -> Vec<Entry> {
    let spared = ancestors(table, claim.host);
    let session_of = |pid: i32| table.iter().find(|entry| entry.pid == pid).map(|entry| entry.session);
    // Kernel threads have session 0.
    let mut foreign: HashSet<i32> = spared.iter().filter_map(|&pid| session_of(pid)).collect();
    foreign.insert(0);
    let host_session = session_of(claim.host);

    let mut sessions = HashSet::new();
    if let Some(agent) = claim.agent {
        let holder = table.iter().find(|entry| entry.pid == agent.pid);
        let ours = holder.map_or(claim.session_is_fresh, |entry| entry.start == agent.start);
        if ours && !foreign.contains(&agent.pid) {
            sessions.insert(agent.pid);
        }
    }

    let mut outside: Vec<Entry> =
        table.iter().copied().filter(|entry| entry.start >= claim.since && !spared.contains(&entry.pid)).collect();
    let mut members: Vec<Entry> = Vec::new();
    let mut pids = HashSet::new();
    loop {
        let before = members.len();
        outside.retain(|entry| {
            let belongs = pids.contains(&entry.parent)
                || sessions.contains(&entry.session)
                || claim.agent == Some(entry.identity())
                || claim.known.contains(&entry.identity())
                || claim.marked.contains(&entry.pid)
                || claim.adoption.is_some_and(|adoption| adoption.claims(entry, claim.host, host_session));
            if belongs {
                members.push(*entry);
                pids.insert(entry.pid);
                if !foreign.contains(&entry.session) {
                    sessions.insert(entry.session);
                }
            }
            !belongs
        });
        if members.len() == before {
            return members;
        }
    }
}

/// The host, its ancestors, and init.
fn ancestors(table: &[Entry], host: i32) -> HashSet<i32> {
    let mut found = HashSet::from([0, 1]);
    let mut pid = host;
    while found.insert(pid) {
        match table.iter().find(|entry| entry.pid == pid) {
            Some(entry) => pid = entry.parent,
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    const HOST: i32 = 50;
    const AGENT: Identity = Identity { pid: 100, start: 1000 };

    fn entry(pid: i32, parent: i32, session: i32, start: u64) -> Entry {
        Entry { pid, parent, session, start, living: true, ending: false }
    }

    /// Init, the user's shell, the host in the shell's session, the agent in its own; and `more`.
    fn table(more: &[Entry]) -> Vec<Entry> {
        let mut table =
            vec![entry(1, 0, 1, 0), entry(40, 1, 40, 10), entry(HOST, 40, 40, 500), entry(100, HOST, 100, 1000)];
        table.extend_from_slice(more);
        table
    }

    /// Of a run of this host, of which nothing is known but its agent.
    fn claim<'a>() -> Claim<'a> {
        static KNOWN: LazyLock<HashSet<Identity>> = LazyLock::new(HashSet::new);
        static MARKED: LazyLock<HashSet<i32>> = LazyLock::new(HashSet::new);
        Claim {
            host: HOST,
            agent: Some(AGENT),
            session_is_fresh: true,
            since: AGENT.start,
            known: &KNOWN,
            marked: &MARKED,
            adoption: None,
        }
    }

    fn members(table: &[Entry], claim: &Claim<'_>) -> Vec<i32> {
        let mut pids: Vec<i32> = family(table, claim).iter().map(|entry| entry.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn by_parentage_whatever_the_order() {
        let table = table(&[entry(103, 102, 103, 1003), entry(102, 101, 102, 1002), entry(101, 100, 101, 1001)]);
        assert_eq!(members(&table, &claim()), [100, 101, 102, 103]);
    }

    #[test]
    fn by_the_session_of_the_agent_and_of_any_member() {
        let orphans = [entry(101, 1, 100, 1001), entry(102, 101, 102, 1002), entry(103, 1, 102, 1003)];
        assert_eq!(members(&table(&orphans), &claim()), [100, 101, 102, 103]);
    }

    #[test]
    fn strangers_are_not_members() {
        let strangers =
            [entry(60, 40, 40, 2000), entry(61, HOST, 40, 2000), entry(62, 1, 62, 2000), entry(2, 0, 0, 2000)];
        assert_eq!(members(&table(&strangers), &claim()), [100]);
    }

    #[test]
    fn known_ones_only_with_their_start_time() {
        let known = HashSet::from([Identity { pid: 300, start: 1500 }, Identity { pid: 301, start: 1500 }]);
        let table = table(&[entry(300, 1, 300, 1500), entry(301, 1, 301, 1501)]);
        assert_eq!(members(&table, &Claim { known: &known, ..claim() }), [100, 300]);
    }

    #[test]
    fn marked_ones_with_their_children_but_never_older_than_the_run() {
        let marked = HashSet::from([300, 302]);
        let table = table(&[entry(300, 1, 300, 1500), entry(301, 300, 301, 1501), entry(302, 1, 302, 999)]);
        assert_eq!(members(&table, &Claim { marked: &marked, ..claim() }), [100, 300, 301]);
    }

    #[test]
    fn never_the_host_its_ancestors_or_init_even_if_marked() {
        let marked = HashSet::from([1, 40, HOST]);
        let all = Claim { marked: &marked, since: 0, ..claim() };
        assert_eq!(members(&table(&[entry(60, 40, 40, 2000)]), &all), [100]);
    }

    #[test]
    fn a_marked_one_in_the_hosts_session_does_not_draw_the_session_in() {
        let marked = HashSet::from([300]);
        let table = table(&[entry(300, 1, 40, 1500), entry(301, 40, 40, 1600)]);
        assert_eq!(members(&table, &Claim { marked: &marked, ..claim() }), [100, 300]);
    }

    #[test]
    fn a_recycled_agent_number_is_a_stranger_with_its_session() {
        let mut table = table(&[entry(101, 100, 100, 3001)]);
        table[3].start = 3000;
        assert_eq!(members(&table, &claim()), [0; 0]);
    }

    #[test]
    fn the_session_of_a_gone_agent_counts_only_while_fresh() {
        let mut table = table(&[entry(101, 1, 100, 1001)]);
        table.remove(3);
        assert_eq!(members(&table, &claim()), [101]);
        assert_eq!(members(&table, &Claim { session_is_fresh: false, ..claim() }), [0; 0]);
    }

    #[test]
    fn adopted_orphans_go_to_the_only_run_that_could_have_started_them() {
        let orphans = [entry(300, HOST, 300, 1500), entry(301, 300, 301, 1501), entry(302, HOST, 40, 1500)];
        let table = table(&orphans);
        let own = HashSet::from([AGENT]);
        for (rivals, expected) in [
            (vec![], vec![100, 300, 301]),
            (vec![1600], vec![100, 300, 301]),
            (vec![1500], vec![100]),
            (vec![900, 1600], vec![100]),
        ] {
            let adoption = Adoption { own: own.clone(), rivals };
            assert_eq!(members(&table, &Claim { adoption: Some(&adoption), ..claim() }), expected, "{adoption:?}");
        }
    }

    #[test]
    fn the_agents_of_other_runs_are_not_adopted() {
        let table = table(&[entry(200, HOST, 200, 1500)]);
        let adoption = Adoption { own: HashSet::from([AGENT, Identity { pid: 200, start: 1500 }]), rivals: vec![] };
        assert_eq!(members(&table, &Claim { adoption: Some(&adoption), ..claim() }), [100]);
    }

    #[test]
    fn a_table_without_the_host_or_with_a_loop_does_no_harm() {
        let table = [entry(7, 8, 7, 2000), entry(8, 7, 8, 2000)];
        assert_eq!(ancestors(&table, 7), HashSet::from([0, 1, 7, 8]));
        assert_eq!(members(&table, &claim()), [0; 0]);
    }
}

//! Which processes belong to a run: a pure function of a process table.
//!
//! An agent opens its own session, and sessions are only ever inherited. So a process that shares a session with a
//! member is a member, and so is a process whose parent is a member.

use std::collections::HashSet;

use super::process_table::{ProcessEntry, ProcessIdentity};

/// What is known about a run when the table is searched.
pub(super) struct Criteria<'a> {
    /// The process that searches. Neither it nor its ancestors are ever members.
    pub(super) host: i32,
    /// Absent if the agent's process id was not recorded.
    pub(super) agent: Option<ProcessIdentity>,
    /// Whether the agent's session counts even if the agent has exited, because its id cannot have been reused yet.
    pub(super) session_id_is_ours: bool,
    /// The start time of the run. No older process belongs to it.
    pub(super) started_at: u64,
    /// The members found by an earlier scan.
    pub(super) known: &'a HashSet<ProcessIdentity>,
    /// The processes that carry the markers or are in the cgroup.
    pub(super) marked: &'a HashSet<i32>,
    /// How to claim orphans that are connected with no run in any other way.
    pub(super) adoption: Option<&'a Adoption>,
}

/// For a host that is the subreaper: orphans of its runs become its children.
#[derive(Debug)]
pub(super) struct Adoption {
    /// The agents, which are children that the host started itself.
    pub(super) agents: HashSet<ProcessIdentity>,
    /// The start times of the other live runs. An orphan may belong to any run that is older than the orphan, so it is
    /// claimed only if no other run is possible. The last of the possible runs gets it.
    pub(super) other_runs: Vec<u64>,
}

impl Adoption {
    /// Whether `host` adopted the process. Children that the host started by other means share the host's session.
    pub(super) fn is_adopted(&self, entry: &ProcessEntry, host: i32, host_session: Option<i32>) -> bool {
        entry.parent == host && Some(entry.session) != host_session && !self.agents.contains(&entry.identity())
    }

    fn claims(&self, entry: &ProcessEntry, host: i32, host_session: Option<i32>) -> bool {
        self.is_adopted(entry, host, host_session)
            && self.other_runs.iter().all(|&started_at| started_at > entry.start_time)
    }
}

/// The members of the run, zombies included.
pub(super) fn find_members(table: &[ProcessEntry], criteria: &Criteria<'_>) -> Vec<ProcessEntry> {
    let excluded = ancestors(table, criteria.host);
    let session_of = |pid: i32| table.iter().find(|entry| entry.pid == pid).map(|entry| entry.session);
    // Kernel threads have session 0.
    let mut foreign_sessions: HashSet<i32> = excluded.iter().filter_map(|&pid| session_of(pid)).collect();
    foreign_sessions.insert(0);
    let host_session = session_of(criteria.host);

    let mut sessions = HashSet::new();
    if let Some(agent) = criteria.agent {
        let current = table.iter().find(|entry| entry.pid == agent.pid);
        let ours = current.map_or(criteria.session_id_is_ours, |entry| entry.start_time == agent.start_time);
        if ours && !foreign_sessions.contains(&agent.pid) {
            sessions.insert(agent.pid);
        }
    }

    let mut candidates: Vec<ProcessEntry> = table
        .iter()
        .copied()
        .filter(|entry| entry.start_time >= criteria.started_at && !excluded.contains(&entry.pid))
        .collect();
    let mut members: Vec<ProcessEntry> = Vec::new();
    let mut pids = HashSet::new();
    loop {
        let before = members.len();
        candidates.retain(|entry| {
            let is_member = pids.contains(&entry.parent)
                || sessions.contains(&entry.session)
                || criteria.agent == Some(entry.identity())
                || criteria.known.contains(&entry.identity())
                || criteria.marked.contains(&entry.pid)
                || criteria.adoption.is_some_and(|adoption| adoption.claims(entry, criteria.host, host_session));
            if is_member {
                members.push(*entry);
                pids.insert(entry.pid);
                if !foreign_sessions.contains(&entry.session) {
                    sessions.insert(entry.session);
                }
            }
            !is_member
        });
        if members.len() == before {
            return members;
        }
    }
}

/// The host, its ancestors, and init.
fn ancestors(table: &[ProcessEntry], host: i32) -> HashSet<i32> {
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
    const AGENT: ProcessIdentity = ProcessIdentity { pid: 100, start_time: 1000 };

    fn entry(pid: i32, parent: i32, session: i32, start_time: u64) -> ProcessEntry {
        ProcessEntry { pid, parent, session, start_time, alive: true, exiting: false }
    }

    /// Init, the user's shell, the host in the shell's session, the agent in its own session, and `more`.
    fn table(more: &[ProcessEntry]) -> Vec<ProcessEntry> {
        let mut table =
            vec![entry(1, 0, 1, 0), entry(40, 1, 40, 10), entry(HOST, 40, 40, 500), entry(100, HOST, 100, 1000)];
        table.extend_from_slice(more);
        table
    }

    /// For a run of this host of which only the agent is known.
    fn criteria<'a>() -> Criteria<'a> {
        static KNOWN: LazyLock<HashSet<ProcessIdentity>> = LazyLock::new(HashSet::new);
        static MARKED: LazyLock<HashSet<i32>> = LazyLock::new(HashSet::new);
        Criteria {
            host: HOST,
            agent: Some(AGENT),
            session_id_is_ours: true,
            started_at: AGENT.start_time,
            known: &KNOWN,
            marked: &MARKED,
            adoption: None,
        }
    }

    fn members(table: &[ProcessEntry], criteria: &Criteria<'_>) -> Vec<i32> {
        let mut pids: Vec<i32> = find_members(table, criteria).iter().map(|entry| entry.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn children_of_members_are_members_in_any_table_order() {
        let table = table(&[entry(103, 102, 103, 1003), entry(102, 101, 102, 1002), entry(101, 100, 101, 1001)]);
        assert_eq!(members(&table, &criteria()), [100, 101, 102, 103]);
    }

    #[test]
    fn processes_in_the_session_of_any_member_are_members() {
        let orphans = [entry(101, 1, 100, 1001), entry(102, 101, 102, 1002), entry(103, 1, 102, 1003)];
        assert_eq!(members(&table(&orphans), &criteria()), [100, 101, 102, 103]);
    }

    #[test]
    fn unrelated_processes_are_not_members() {
        let unrelated =
            [entry(60, 40, 40, 2000), entry(61, HOST, 40, 2000), entry(62, 1, 62, 2000), entry(2, 0, 0, 2000)];
        assert_eq!(members(&table(&unrelated), &criteria()), [100]);
    }

    #[test]
    fn known_processes_are_members_only_if_the_start_time_matches() {
        let known = HashSet::from([
            ProcessIdentity { pid: 300, start_time: 1500 },
            ProcessIdentity { pid: 301, start_time: 1500 },
        ]);
        let table = table(&[entry(300, 1, 300, 1500), entry(301, 1, 301, 1501)]);
        assert_eq!(members(&table, &Criteria { known: &known, ..criteria() }), [100, 300]);
    }

    #[test]
    fn marked_processes_and_their_children_are_members_unless_older_than_the_run() {
        let marked = HashSet::from([300, 302]);
        let table = table(&[entry(300, 1, 300, 1500), entry(301, 300, 301, 1501), entry(302, 1, 302, 999)]);
        assert_eq!(members(&table, &Criteria { marked: &marked, ..criteria() }), [100, 300, 301]);
    }

    #[test]
    fn the_host_its_ancestors_and_init_are_never_members_even_if_marked() {
        let marked = HashSet::from([1, 40, HOST]);
        let all = Criteria { marked: &marked, started_at: 0, ..criteria() };
        assert_eq!(members(&table(&[entry(60, 40, 40, 2000)]), &all), [100]);
    }

    #[test]
    fn a_marked_process_in_the_session_of_the_host_does_not_add_that_session() {
        let marked = HashSet::from([300]);
        let table = table(&[entry(300, 1, 40, 1500), entry(301, 40, 40, 1600)]);
        assert_eq!(members(&table, &Criteria { marked: &marked, ..criteria() }), [100, 300]);
    }

    #[test]
    fn a_process_with_the_reused_id_of_the_agent_is_not_a_member_nor_is_its_session() {
        let mut table = table(&[entry(101, 100, 100, 3001)]);
        table[3].start_time = 3000;
        assert_eq!(members(&table, &criteria()), [0; 0]);
    }

    #[test]
    fn the_session_of_an_exited_agent_counts_only_if_its_id_is_ours() {
        let mut table = table(&[entry(101, 1, 100, 1001)]);
        table.remove(3);
        assert_eq!(members(&table, &criteria()), [101]);
        assert_eq!(members(&table, &Criteria { session_id_is_ours: false, ..criteria() }), [0; 0]);
    }

    #[test]
    fn an_adopted_orphan_belongs_to_the_only_run_that_could_have_started_it() {
        let orphans = [entry(300, HOST, 300, 1500), entry(301, 300, 301, 1501), entry(302, HOST, 40, 1500)];
        let table = table(&orphans);
        let agents = HashSet::from([AGENT]);
        for (other_runs, expected) in [
            (vec![], vec![100, 300, 301]),
            (vec![1600], vec![100, 300, 301]),
            (vec![1500], vec![100]),
            (vec![900, 1600], vec![100]),
        ] {
            let adoption = Adoption { agents: agents.clone(), other_runs };
            assert_eq!(
                members(&table, &Criteria { adoption: Some(&adoption), ..criteria() }),
                expected,
                "{adoption:?}"
            );
        }
    }

    #[test]
    fn the_agents_of_other_runs_are_not_adopted() {
        let table = table(&[entry(200, HOST, 200, 1500)]);
        let adoption = Adoption {
            agents: HashSet::from([AGENT, ProcessIdentity { pid: 200, start_time: 1500 }]),
            other_runs: vec![],
        };
        assert_eq!(members(&table, &Criteria { adoption: Some(&adoption), ..criteria() }), [100]);
    }

    #[test]
    fn a_table_without_the_host_or_with_a_parent_loop_is_handled() {
        let table = [entry(7, 8, 7, 2000), entry(8, 7, 8, 2000)];
        assert_eq!(ancestors(&table, 7), HashSet::from([0, 1, 7, 8]));
        assert_eq!(members(&table, &criteria()), [0; 0]);
    }
}

//! What the groups of a scenario ask for: the files of their workloads, and the sequences of requests.

use crate::scenario::{Group, Mode, Scenario, ScenarioError, Workload, of_option};
use std::io::BufRead;
use std::sync::Arc;
use wasp_http::Request;
use wasp_random::Key;
use wasp_workload::named::RequestFiles;
use wasp_workload::{BuildError, Deal, Inputs, Located, Requests, Site, Sites, seed_of_group};

/// Opens the log with this name.
pub type OpenLog<'a> = &'a mut dyn FnMut(&str) -> std::io::Result<Box<dyn BufRead>>;

impl Scenario {
    /// Makes the files that the clients ask for, or reads them off the logs that are replayed, which `open` opens. They follow from the
    /// workloads and the seeds of their files, so the runs of an experiment may share them.
    ///
    /// # Errors
    /// If a log is missing or cannot be replayed, a workload has something that cannot be asked for, or two workloads contradict each other.
    pub fn sites(&self, mut open: Option<OpenLog<'_>>) -> Result<Arc<Sites>, ScenarioError> {
        let (mut sites, mut fields) = (Sites::default(), Vec::new());
        let mut add = |workload: &Workload, seed: u64, directory: &str, field: &str| {
            let site = build(workload, seed, (&mut open, &self.files), field)?;
            let added = sites.add(site, directory);
            let added = added.map_err(|error| ScenarioError::new(field, error.to_string()))?;
            check_targets(&sites.all()[added], field)?;
            fields.push(field.to_owned());
            Ok(added)
        };
        let shared = self.workload.as_ref();
        let shared = shared.map(|workload| add(workload, self.seed, "", "workload")).transpose()?;
        let of_group = |group: &Group| match &group.workload {
            Some(workload) => {
                let directory = workload.options.directory_of(&group.name);
                let seed = seed_of_group(self.seed, &group.name);
                add(workload, seed, &directory, &group.workload_field())
            }
            None => Ok(shared.expect("a checked scenario has a workload for every group")),
        };
        for site in self.clients.iter().map(of_group).collect::<Result<Vec<_>, _>>()? {
            sites.assign(site);
        }
        if self.mode == Mode::Sim {
            sites.answers().map_err(|found| of_option(&fields[found.site], &found.error))?;
        }
        Ok(Arc::new(sites))
    }

    /// What a group asks for.
    pub(crate) fn workload_of<'a>(&'a self, group: &'a Group) -> &'a Workload {
        let asked = group.workload.as_ref().or(self.workload.as_ref());
        asked.expect("a checked scenario has a workload for every group")
    }
}

/// The site of a workload, which stands at `field`. Its files have this seed unless it gives one.
fn build(
    workload: &Workload,
    seed: u64,
    (open, files): (&mut Option<OpenLog<'_>>, &RequestFiles),
    field: &str,
) -> Result<Site, ScenarioError> {
    let mut log = match (&workload.options, open) {
        (wasp_workload::Workload::Replay(replay), Some(open)) => {
            let message = |error| format!("{}: cannot be read: {error}", replay.log);
            let opened = open(&replay.log);
            Some(opened.map_err(|error| ScenarioError::new(format!("{field}.log"), message(error)))?)
        }
        _ => None,
    };
    let log = log.as_mut().map(|log| log as &mut dyn BufRead);
    let inputs = Inputs { log, files: Some(files) };
    let site = workload.options.build(workload.seed.unwrap_or(seed), inputs);
    site.map_err(|error| of_build(field, &error))
}

/// Makes sure that all files of a site can be asked for.
fn check_targets(located: &Located, field: &str) -> Result<(), ScenarioError> {
    // Named requests are checked before they are built.
    let files = located.site.files().files().iter().filter(|_| located.named().is_none());
    files.map(|file| located.path(file)).try_for_each(|path| {
        let request = Request::new(wasp_http::Method::Get, &path, "host");
        request.map(drop).map_err(|error| ScenarioError::new(field, error.to_string()))
    })
}

fn of_build(field: &str, error: &BuildError) -> ScenarioError {
    match error {
        BuildError::Option(error) => of_option(field, error),
        BuildError::Log { .. } | BuildError::NoLog { .. } => {
            ScenarioError::new(format!("{field}.log"), error.to_string())
        }
    }
}

/// What a group asks for: what there is, an order, and how that is dealt.
pub(crate) struct Asking<'a> {
    pub(crate) located: &'a Located,
    pub(crate) deal: Deal,
    pub(crate) requests: Arc<Requests>,
    /// Clients of other groups that come before the group's, where one sequence is dealt to all of them.
    pub(crate) before: u32,
    /// Clients among whom that sequence is dealt.
    pub(crate) of: u32,
}

/// What each group asks for. Groups without a workload of their own share one sequence; the keys of a group's own have its name.
pub(crate) fn asking<'a>(scenario: &'a Scenario, sites: &'a Sites, root: Key) -> Vec<Asking<'a>> {
    let sharing = |groups: &[Group]| -> u32 {
        groups.iter().filter(|group| group.workload.is_none()).map(|group| group.count).sum()
    };
    let mut shared: Option<Arc<Requests>> = None;
    let of_group = |(place, group): (usize, &'a Group)| {
        let (located, deal) = (sites.of(place), scenario.workload_of(group).deal);
        if group.workload.is_some() {
            let requests = Arc::new(located.site.requests(root.name(&group.name)));
            return Asking { located, deal, requests, before: 0, of: group.count };
        }
        let requests = Arc::clone(shared.get_or_insert_with(|| Arc::new(located.site.requests(root))));
        let (before, of) = (sharing(&scenario.clients[..place]), sharing(&scenario.clients));
        Asking { located, deal, requests, before, of }
    };
    scenario.clients.iter().enumerate().map(of_group).collect()
}

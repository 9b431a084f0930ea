//! A thread that takes censuses beside the run: to look at every thread of the machine may take longer than the emulator can be away from its device.

use crate::census::Census;
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long a census is waited for. On a machine that gives the thread no time for so long, what it would say is of no use either.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes a census when it is asked to, and later says what it was. Its thread ends with it.
#[derive(Debug)]
pub(crate) struct Sampler {
    requests: Sender<()>,
    censuses: Receiver<Census>,
}

impl Sampler {
    /// A sampler for which the processes `roots` and all their descendants are the run's own. Its thread has the CPUs and the priority that the calling
    /// one has now.
    pub(crate) fn new(roots: Vec<u32>) -> io::Result<Self> {
        let (requests, asked) = channel::<()>();
        let (answer, censuses) = channel();
        let work = move || {
            let mut own = BTreeSet::new();
            while asked.recv().is_ok() {
                let census = Census::take(&roots, &own);
                own.extend(census.own.iter().copied());
                if answer.send(census).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("wasp-meters".to_owned()).spawn(work)?;
        Ok(Self { requests, censuses })
    }

    /// Asks for a census, and does not wait for it.
    pub(crate) fn request(&self) {
        // Without its thread there will be no answer, and the figures are absent.
        let _ = self.requests.send(());
    }

    /// The census of the earliest request that has not been answered, waited for.
    pub(crate) fn census(&self) -> Option<Census> {
        self.censuses.recv_timeout(PATIENCE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn censuses_come_in_the_order_of_the_requests() {
        let sampler = Sampler::new(vec![std::process::id()]).unwrap();
        sampler.request();
        sampler.request();
        let (first, second) = (sampler.census().unwrap(), sampler.census().unwrap());
        assert!(first.at < second.at);
        assert!(first.own.is_subset(&second.own) && !first.own.is_empty());
    }

    #[test]
    fn a_sampler_whose_requests_nobody_waits_for_can_go() {
        let sampler = Sampler::new(vec![std::process::id()]).unwrap();
        sampler.request();
        drop(sampler);
    }
}

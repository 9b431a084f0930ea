//! Streams of requests: what is asked for in which order, and how it is dealt to clients.
//!
//! A sequence is made once, from the keys of the run, and shared; a client's stream is a place in it. The streams of
//! clients depend on keys and on nothing that happens in the run, so they are the same live and simulated.

use crate::{Delay, FileId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wasp_random::{Key, Purpose};
use wasp_units::Duration;

/// Longest sequence, at four bytes each.
pub(crate) const MOST_REQUESTS: u64 = 50_000_000;

/// The place of a page among the pages of a site.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PageId(u32);

/// A step of a stream: which page, and when, if a replayed log tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// What is asked for.
    pub page: PageId,
    /// When the request begins, from the beginning of the stream.
    pub at: Option<Duration>,
}

/// What a user asks for at once: a file, and the files embedded in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Page<'a> {
    /// The file that is asked for first.
    pub base: FileId,
    /// The files that are asked for when it has arrived, in this order.
    pub embedded: &'a [FileId],
    /// When the request begins, from the beginning of the stream; only a replayed log with times knows.
    pub at: Option<Duration>,
}

/// How a sequence is dealt to clients.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Deal {
    /// Each client has a stream of its own: it enters the sequence at a keyed place and walks on, around the end, or it
    /// draws by its own key. Other clients do not matter.
    #[default]
    Own,
    /// Client c of n takes requests c, c + n, c + 2n... of the one sequence, and begins again at c after the end
    /// (Simmonds et al. 2003, section 5.2.2). What a client asks for depends on the number of clients.
    Modulo,
}

/// The pages of a site: each a base file with a run of embedded ones.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pages {
    bases: Vec<FileId>,
    /// Where the embedded files of each page end.
    ends: Vec<u32>,
    embedded: Vec<FileId>,
}

impl Pages {
    /// Files by themselves.
    pub(crate) fn plain(files: u32) -> Self {
        let bases = (0..files).map(FileId).collect();
        Self { bases, ends: vec![0; files as usize], embedded: Vec::new() }
    }

    pub(crate) fn push(&mut self, base: FileId, embedded: impl IntoIterator<Item = FileId>) {
        self.embedded.extend(embedded);
        self.bases.push(base);
        self.ends.push(self.embedded.len() as u32);
    }

    pub(crate) fn len(&self) -> usize {
        self.bases.len()
    }

    pub(crate) fn get(&self, page: u32) -> (FileId, &[FileId]) {
        let page = page as usize;
        let start = page.checked_sub(1).map_or(0, |before| self.ends[before]);
        (self.bases[page], &self.embedded[start as usize..self.ends[page] as usize])
    }
}

/// All that is asked for in a run.
#[derive(Clone, Debug)]
pub struct Requests {
    pages: Arc<Pages>,
    order: Order,
    key: Key,
    repeat: bool,
    /// Where each page is a session: its files are steps.
    session: Option<Arc<Session>>,
}

/// Sessions: pages whose files are steps, which a client asks for one by one, each when it has the one before.
#[derive(Debug)]
pub struct Session {
    /// The pause after each step.
    pub thinks: Vec<Delay>,
    /// So many steps, at the beginning, are for a client's first session only.
    pub once: u32,
}

#[derive(Clone, Debug)]
enum Order {
    /// Pages one after the other, with times if they have some.
    Sequence { pages: Arc<[u32]>, times: Option<Arc<Times>> },
    /// Independent draws: where the weights of pages end, as a share of their sum.
    Weighted(Arc<[f64]>),
}

/// When the requests of a sequence begin.
#[derive(Debug)]
pub(crate) struct Times {
    /// From the beginning of the sequence, never falling.
    pub(crate) at: Vec<Duration>,
    /// How much later the sequence begins again.
    pub(crate) period: Duration,
}

impl Requests {
    /// Pages in this order; `key` is the root key of the run.
    ///
    /// # Panics
    /// If the sequence is empty.
    pub(crate) fn sequence(pages: Arc<Pages>, sequence: Arc<[u32]>, key: Key) -> Self {
        assert!(!sequence.is_empty(), "a sequence of requests has at least one");
        Self {
            pages,
            order: Order::Sequence { pages: sequence, times: None },
            key: of_run(key),
            repeat: true,
            session: None,
        }
    }

    /// The files one by one as the steps of a session, again and again.
    pub(crate) fn of_session(session: Session, key: Key) -> Self {
        let mut pages = Pages::default();
        pages.push(FileId(0), (1..session.thinks.len() as u32).map(FileId));
        let sequence = Self::sequence(Arc::new(pages), Arc::new([0]), key);
        Self { session: Some(Arc::new(session)), ..sequence }
    }

    /// Files drawn independently by weight; `key` is the root key of the run.
    pub(crate) fn weighted(weights: &[f64], key: Key) -> Self {
        let sum: f64 = weights.iter().sum();
        let mut shares: Vec<f64> = Vec::with_capacity(weights.len());
        shares.extend(weights.iter().scan(0.0, |before, weight| {
            *before += weight / sum;
            Some(*before)
        }));
        // The sum of the shares is 1 but for rounding; no unit may fall beyond the last file that has a weight.
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        shares[last..].fill(1.0);
        let pages = Arc::new(Pages::plain(weights.len() as u32));
        Self { pages, order: Order::Weighted(shares.into()), key: of_run(key), repeat: true, session: None }
    }

    pub(crate) fn with_times(mut self, new: Option<Arc<Times>>) -> Self {
        if let Order::Sequence { times, .. } = &mut self.order {
            *times = new;
        }
        self
    }

    pub(crate) fn with_repeat(mut self, repeat: bool) -> Self {
        self.repeat = repeat;
        self
    }

    /// Pages in the sequence before it begins again; `None` if it never does.
    #[must_use]
    pub fn len(&self) -> Option<usize> {
        match &self.order {
            Order::Sequence { pages, .. } => Some(pages.len()),
            Order::Weighted(_) => None,
        }
    }

    /// Never: there is always something to ask for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The base file of a page, and the files embedded in it.
    #[must_use]
    pub fn files(&self, page: PageId) -> (FileId, &[FileId]) {
        self.pages.get(page.0)
    }

    /// What all sessions have in common, where pages are sessions.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.session.as_deref()
    }

    /// Whether any page has embedded files.
    #[must_use]
    pub fn has_embedded(&self) -> bool {
        !self.pages.embedded.is_empty()
    }

    /// Whether requests have times of their own.
    #[must_use]
    pub const fn has_times(&self) -> bool {
        matches!(&self.order, Order::Sequence { times: Some(_), .. })
    }

    /// The pages of the sequence in their order, once through; nothing where each request is drawn by itself.
    pub fn pages(&self) -> impl Iterator<Item = Page<'_>> {
        let sequence: &[u32] = match &self.order {
            Order::Sequence { pages, .. } => pages,
            Order::Weighted(_) => &[],
        };
        (0..sequence.len()).map(|place| self.page(sequence[place], None))
    }

    /// The stream of client number `client` of `clients`, which are counted in their group for [`Deal::Own`] (whose
    /// name enters the key) and among all that share the sequence for [`Deal::Modulo`].
    ///
    /// # Panics
    /// If `clients` is zero.
    #[must_use]
    pub fn stream(self: &Arc<Self>, deal: Deal, group: &str, client: u32, clients: u32) -> RequestStream {
        assert!(client < clients, "client {client} of {clients}");
        let own = self.key.name(group).entity(u64::from(client));
        let place = match (&self.order, deal) {
            (Order::Weighted(_), Deal::Own) => Place::Draw { key: own, next: 0, step: 1 },
            (Order::Weighted(_), Deal::Modulo) => {
                Place::Draw { key: self.key, next: u64::from(client), step: u64::from(clients) }
            }
            (Order::Sequence { pages, .. }, Deal::Own) => {
                let start = own.stream().below(pages.len() as u64) as usize;
                Place::Walk { start, step: 1, next: start, turn: 0, left: pages.len() }
            }
            (Order::Sequence { pages, .. }, Deal::Modulo) => {
                let start = client as usize % pages.len();
                let step = clients as usize;
                Place::Walk { start, step, next: start, turn: 0, left: (pages.len() - start).div_ceil(step) }
            }
        };
        RequestStream { requests: Arc::clone(self), deal, place, page: 0, rest: None }
    }

    fn page(&self, page: u32, at: Option<Duration>) -> Page<'_> {
        let (base, embedded) = self.pages.get(page);
        Page { base, embedded, at }
    }
}

fn of_run(root: Key) -> Key {
    root.purpose(Purpose::Request)
}

/// What one client asks for, page by page with [`Self::next_page`] or file by file with [`Self::next_file`].
#[derive(Clone, Debug)]
pub struct RequestStream {
    requests: Arc<Requests>,
    deal: Deal,
    place: Place,
    page: u32,
    /// The embedded files of the page that `next_file` has still to give.
    rest: Option<(u32, u32)>,
}

#[derive(Clone, Debug)]
enum Place {
    Draw { key: Key, next: u64, step: u64 },
    Walk { start: usize, step: usize, next: usize, turn: u64, left: usize },
}

impl RequestStream {
    /// What all streams of the run have in common.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The next step; `None` when the client has asked for everything and nothing repeats.
    #[inline]
    pub fn next_step(&mut self) -> Option<Step> {
        self.rest = None;
        let at = self.advance()?;
        Some(Step { page: PageId(self.page), at })
    }

    /// The next page; `None` when the client has asked for everything and nothing repeats.
    pub fn next_page(&mut self) -> Option<Page<'_>> {
        let Step { page, at } = self.next_step()?;
        Some(self.requests.page(page.0, at))
    }

    /// The next file: the base of a page, then its embedded files one by one, then the next page.
    pub fn next_file(&mut self) -> Option<FileId> {
        if let Some((next, end)) = self.rest
            && next < end
        {
            self.rest = Some((next + 1, end));
            return Some(self.requests.pages.get(self.page).1[next as usize]);
        }
        self.advance()?;
        let (base, embedded) = self.requests.pages.get(self.page);
        self.rest = Some((0, embedded.len() as u32));
        Some(base)
    }

    /// Moves to the next page and returns when it begins.
    fn advance(&mut self) -> Option<Option<Duration>> {
        match (&mut self.place, &self.requests.order) {
            (Place::Draw { key, next, step }, Order::Weighted(shares)) => {
                let unit = key.unit(*next);
                *next += *step;
                self.page = shares.partition_point(|&share| share <= unit) as u32;
                Some(None)
            }
            (Place::Walk { start, step, next, turn, left }, Order::Sequence { pages, times }) => {
                if *left == 0 {
                    return None;
                }
                let (place, turned) = (*next, *turn);
                self.page = pages[place];
                *next += *step;
                if *next >= pages.len() {
                    (*next, *turn) = (if self.deal == Deal::Own { 0 } else { *start }, turned + 1);
                }
                if !self.requests.repeat {
                    *left -= 1;
                }
                // A stream of a client's own begins when the client does.
                let origin = if self.deal == Deal::Own { *start } else { 0 };
                Some(times.as_ref().map(|times| times.since(origin, place, turned)))
            }
            // A stream is made from the order that it walks.
            _ => None,
        }
    }
}

impl Times {
    /// When the request at `place` begins in turn `turn`, from the time of the one at `origin` in turn 0.
    fn since(&self, origin: usize, place: usize, turn: u64) -> Duration {
        let time = self.at[place].as_nanos().saturating_add(self.period.as_nanos().saturating_mul(turn));
        Duration::from_nanos(time.saturating_sub(self.at[origin].as_nanos()))
    }
}

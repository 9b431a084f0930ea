//! The sites of a run: that of the workload which groups of clients share, and those of groups' own, with all their files on one server.

use crate::named::{Answers, Contradiction, NamedSet};
use crate::{File, FileId, FileSet, Site, SizeSource, Workload};
use std::cmp::Ordering;
use wasp_random::Key;
use wasp_units::Bytes;

/// What two workloads cannot both have on one server: files of one path that differ in size.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{path} has {size} here and {other} in another workload; another path, or the same size, would be valid"
)]
pub struct Clash {
    /// The path.
    pub path: String,
    /// The size of the file that was to be added.
    pub size: Bytes,
    /// The size of the file that is there.
    pub other: Bytes,
}

/// The sites of a run, whose server has the files of all of them, or is an application that answers their named requests.
#[derive(Debug, Default)]
pub struct Sites {
    sites: Vec<Located>,
    /// The site of each group, in the order of the groups' index.
    of_group: Vec<usize>,
    /// The files of all sites, where these are not just those of the first.
    together: Option<Together>,
    empty: FileSet,
}

/// A site, and where the server has its files.
#[derive(Debug)]
pub struct Located {
    /// What there is to ask for. Its files have their own places and paths.
    pub site: Site,
    /// The directory below which the server has the files, such as `/homes`; empty at the top.
    pub directory: String,
}

impl Located {
    /// The path that a file of the site has on the server.
    #[must_use]
    pub fn path(&self, file: &File) -> String {
        format!("{}{}", self.directory, file.path)
    }

    /// The named requests, if the site is one of these.
    #[must_use]
    pub const fn named(&self) -> Option<&NamedSet> {
        if let Site::Requests(set) = &self.site { Some(set) } else { None }
    }
}

/// The files of several sites.
#[derive(Debug, Default)]
struct Together {
    files: FileSet,
    /// Of each file, how its size is known.
    sources: Vec<SizeSource>,
}

impl Together {
    /// Adds the files of a site.
    fn add(&mut self, located: &Located) -> Result<(), Clash> {
        if located.named().is_some() {
            return Ok(());
        }
        for (file, place) in located.site.files().files().iter().zip(0..) {
            let (path, size, source) =
                (located.path(file), file.size, located.site.size_source(FileId(place)));
            let Some(there) = self.files.find(&path) else {
                self.files.push(File { path, ..file.clone() });
                self.sources.push(source);
                continue;
            };
            let known = &mut self.sources[there.0 as usize];
            let there = self.files.get_mut(there).expect("the file was found");
            let least = source.min(*known);
            if there.size != size && source.max(*known) == SizeSource::Option && least > SizeSource::Guess {
                return Err(Clash { path, size, other: there.size });
            }
            there.size = match source.cmp(known) {
                Ordering::Less => there.size,
                Ordering::Equal => there.size.max(size),
                Ordering::Greater => size,
            };
            *known = source.max(*known);
        }
        Ok(())
    }
}

impl Sites {
    /// Adds a site, whose files the server has below `directory` (such as `/homes`; nothing for the top). Returns its number.
    ///
    /// # Errors
    /// A file has the path of one that is there, and another size; nothing can be added from then on. Files that agree in both are one file of
    /// the server. Of the sizes that logs give a file it has the largest one, as with those of one log. A size that no line of a log gives yields to
    /// any other.
    pub fn add(&mut self, site: Site, directory: &str) -> Result<usize, Clash> {
        let located = Located { site, directory: directory.to_owned() };
        let is_first = self.sites.is_empty() && directory.is_empty() && located.named().is_none();
        if !is_first {
            if self.together.is_none() {
                let mut together = Together::default();
                self.sites.iter().try_for_each(|there| together.add(there))?;
                self.together = Some(together);
            }
            self.together.get_or_insert_default().add(&located)?;
        }
        self.sites.push(located);
        Ok(self.sites.len() - 1)
    }

    /// The next group asks for what the site with this number has.
    ///
    /// # Panics
    /// If there is no such site.
    pub fn assign(&mut self, site: usize) {
        assert!(site < self.sites.len(), "site {site} of {}", self.sites.len());
        self.of_group.push(site);
    }

    /// What a server that stands in for an application answers to the named requests.
    ///
    /// # Errors
    /// Two of them have one method and one target, and expect what no answer can be; a file of another site is a request for it.
    pub fn answers(&self) -> Result<Answers, Contradiction> {
        let named =
            self.sites.iter().enumerate().filter_map(|(site, located)| Some((site, located.named()?)));
        let requests =
            named.flat_map(|(site, set)| set.requests().iter().map(move |request| (site, request)));
        Answers::new(requests, self.files())
    }

    /// The files of the server.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        let first = || self.sites.first().map_or(&self.empty, |first| first.site.files());
        self.together.as_ref().map_or_else(first, |together| &together.files)
    }

    /// The sites in the order in which they were added.
    #[must_use]
    pub fn all(&self) -> &[Located] {
        &self.sites
    }

    /// The site of the group with this index.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn of(&self, group: usize) -> &Located {
        &self.sites[self.of_group[group]]
    }
}

impl Workload {
    /// Where a server has the files of a group's own workload. Generated files are in a directory of the group's name, because the paths of two
    /// such sets are the same. The files of a list or a log have the paths that these give.
    #[must_use]
    pub fn directory_of(&self, group: &str) -> String {
        match self {
            Self::Single(_) | Self::Replay(_) | Self::Requests(_) => String::new(),
            Self::Surge(_) | Self::Prowgen(_) => format!("/{group}"),
        }
    }
}

/// The seed of the file set of a group's own workload, in an experiment with this seed: another for each group, and at most 2^63 - 1.
#[must_use]
pub fn seed_of_group(seed: u64, group: &str) -> u64 {
    Key::root(seed, 0).name(group).draw(0) >> 1
}

//! Which files are embedded in which page.

use crate::requests::Pages;
use crate::{Class, FileId};
use std::collections::BTreeSet;

/// The pages of a set, and how often each is asked for.
#[derive(Debug)]
pub(super) struct Composition {
    pub(super) pages: Pages,
    pub(super) references: Vec<u32>,
    /// References to embedded files beyond those that their popularity gives them, in one pass through all pages.
    pub(super) overdrawn: u64,
}

/// Composes pages. As in SURGE (`object.c`) the most popular base file gets the smallest page, and each visit of a page uses
/// up one reference of every file embedded in it.
///
/// SURGE takes for each page the files that have most references left, so that a few popular files end up in all pages and
/// most others in none, and it leaves a page short when no references are left. Here a page takes the files whose references
/// come nearest to its visits from above, or else those with most left; and its count stands, if need be with files that are
/// then asked for more often than intended.
pub(super) fn compose(classes: &[Class], references: &[u32], mut counts: Vec<u32>) -> Composition {
    let of_class = |wanted| (0..classes.len()).filter(move |&file| classes[file] == wanted);
    let mut bases: Vec<usize> = of_class(Class::Base).collect();
    bases.sort_by_key(|&file| (std::cmp::Reverse(references[file]), file));
    counts.sort_unstable();
    let mut pool: BTreeSet<(i64, usize)> =
        of_class(Class::Embedded).map(|file| (i64::from(references[file]), file)).collect();
    let mut composition = Composition { pages: Pages::default(), references: Vec::new(), overdrawn: 0 };
    for (&base, &count) in bases.iter().zip(&counts) {
        let visits = i64::from(references[base]);
        let taken: Vec<(i64, usize)> = (0..count).map_while(|_| take(&mut pool, visits)).collect();
        composition.add(base, references[base], taken.iter().map(|&(_, file)| file));
        for (left, file) in taken {
            composition.overdrawn += (visits - left.max(0)).max(0) as u64;
            pool.insert((left - visits, file));
        }
    }
    for loner in of_class(Class::Loner) {
        composition.add(loner, references[loner], []);
    }
    composition
}

/// Takes the file with the fewest references left that suffice, or else the one with most; `None` from an empty pool.
fn take(pool: &mut BTreeSet<(i64, usize)>, visits: i64) -> Option<(i64, usize)> {
    let taken = pool.range((visits, 0)..).next().or_else(|| pool.last()).copied()?;
    pool.remove(&taken);
    Some(taken)
}

impl Composition {
    fn add(&mut self, base: usize, references: u32, embedded: impl IntoIterator<Item = usize>) {
        let id = |file: usize| FileId(file as u32);
        self.pages.push(id(base), embedded.into_iter().map(id));
        self.references.push(references);
    }
}

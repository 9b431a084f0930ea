//! A queue with room for its first entry in place.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// A queue whose first entry needs no memory of its own: a connection that asks and answers seldom has two of anything, and there may be
/// many thousands of connections, of which none is in a cache when its turn comes.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    first: Option<T>,
    /// Empty if there is no first.
    behind: VecDeque<T>,
}

/// Room kept behind the first entry when there is none; more is given back.
const KEPT_CAPACITY: usize = 64;

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { first: None, behind: VecDeque::new() }
    }
}

impl<T> Fifo<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.behind.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        self.behind.back().or(self.first.as_ref())
    }

    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        self.behind.back_mut().or(self.first.as_mut())
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(behind) => self.behind.get(behind),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index.checked_sub(1) {
            None => self.first.as_mut(),
            Some(behind) => self.behind.get_mut(behind),
        }
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.behind.push_back(entry);
        }
    }

    #[inline]
    pub(crate) fn push_front(&mut self, entry: T) {
        if let Some(second) = self.first.replace(entry) {
            self.behind.push_front(second);
        }
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.behind.is_empty() {
            self.first = self.behind.pop_front();
        } else if self.behind.capacity() > KEPT_CAPACITY {
            self.behind = VecDeque::new();
        }
        first
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.behind)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.behind)
    }

    /// How many entries at the front satisfy `predicate`, which those behind them do not.
    pub(crate) fn partition_point(&self, mut predicate: impl FnMut(&T) -> bool) -> usize {
        match &self.first {
            Some(first) if predicate(first) => 1 + self.behind.partition_point(predicate),
            _ => 0,
        }
    }
}

impl<T> Index<usize> for Fifo<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("the index is below the length")
    }
}

impl<T> IndexMut<usize> for Fifo<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("the index is below the length")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_deque(acts in prop::collection::vec(0..4_u8, 0..200)) {
            let (mut fifo, mut deque) = (Fifo::default(), VecDeque::new());
            for (number, act) in acts.into_iter().enumerate() {
                match act {
                    0 | 1 => (fifo.push_back(number), deque.push_back(number)).0,
                    2 => (fifo.push_front(number), deque.push_front(number)).0,
                    _ => prop_assert_eq!(fifo.pop_front(), deque.pop_front()),
                }
                prop_assert!(fifo.iter().eq(&deque) && fifo.iter_mut().eq(&mut deque));
                prop_assert_eq!((fifo.len(), fifo.is_empty()), (deque.len(), deque.is_empty()));
                prop_assert_eq!((fifo.front(), fifo.back()), (deque.front(), deque.back()));
                prop_assert_eq!(fifo.back_mut(), deque.back_mut());
                for index in 0..=deque.len() {
                    prop_assert_eq!(fifo.get(index), deque.get(index));
                    prop_assert_eq!(fifo.get_mut(index), deque.get_mut(index));
                }
            }
        }

        #[test]
        fn a_partition_is_found(below in 0..20_usize, above in 0..20_usize) {
            let mut fifo = Fifo::default();
            (0..below + above).for_each(|entry| fifo.push_back(entry));
            prop_assert_eq!(fifo.partition_point(|entry| *entry < below), below);
        }
    }

    #[test]
    fn much_room_is_given_back() {
        let mut fifo = Fifo::default();
        (0..10_000).for_each(|entry| fifo.push_back(entry));
        while fifo.pop_front().is_some() {}
        assert!(fifo.behind.capacity() <= KEPT_CAPACITY);
    }
}

//! The transactions of one connection, in the order of their requests.

use super::transaction::Transaction;
use std::collections::VecDeque;

/// A queue whose first entry needs no memory of its own: without pipelining there is no other.
#[derive(Debug, Default)]
pub(super) struct Queue {
    front: Option<Transaction>,
    behind: VecDeque<Transaction>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        usize::from(self.front.is_some()) + self.behind.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.front.is_none()
    }

    pub(super) fn front(&self) -> Option<&Transaction> {
        self.front.as_ref()
    }

    pub(super) fn push(&mut self, transaction: Transaction) {
        if self.front.is_none() {
            self.front = Some(transaction);
        } else {
            self.behind.push_back(transaction);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Transaction> {
        let front = self.front.take();
        if !self.behind.is_empty() {
            self.front = self.behind.pop_front();
        }
        front
    }

    /// The transaction at this place.
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Transaction> {
        match place.checked_sub(1) {
            None => self.front.as_mut(),
            Some(behind) => self.behind.get_mut(behind),
        }
    }

    /// The transactions from place `from` on.
    pub(super) fn iter_mut_from(&mut self, from: usize) -> impl Iterator<Item = &mut Transaction> {
        self.front.iter_mut().chain(&mut self.behind).skip(from)
    }
}

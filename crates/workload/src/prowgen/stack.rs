//! Temporal locality by a stack of bounded depth.

use crate::OptionError;
use crate::error::within;
use serde::{Deserialize, Serialize};
use wasp_random::Stream;

/// Deepest stack.
const DEEPEST: u32 = 100_000;

/// The stack model.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase", deny_unknown_fields)]
pub enum Stack {
    /// Requests in random order.
    None {},
    /// The probability belongs to the place in the stack: that of the object of the same rank in popularity.
    Static {
        /// Most objects on the stack.
        depth: u32,
    },
    /// The probability belongs to the object, wherever on the stack it is.
    Dynamic {
        /// Most objects on the stack.
        depth: u32,
    },
}

impl Stack {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        match *self {
            Self::None {} => Ok(()),
            Self::Static { depth } | Self::Dynamic { depth } => within("depth", depth, 1, DEEPEST),
        }
    }

    /// A sequence in which object i comes `references[i]` times; the references fall.
    pub(super) fn sequence(&self, references: &[u32], stream: &mut Stream) -> Vec<u32> {
        match *self {
            Self::None {} => {
                let all = (0..).zip(references);
                let mut sequence: Vec<u32> =
                    all.flat_map(|(object, &count)| std::iter::repeat_n(object, count as usize)).collect();
                crate::shuffle(&mut sequence, stream);
                sequence
            }
            Self::Static { depth } => {
                generate(references, stream, depth as usize, &mut Places::new(references, depth as usize))
            }
            Self::Dynamic { depth } => {
                generate(references, stream, depth as usize, &mut Objects::new(references))
            }
        }
    }
}

/// What a stack model decides: the objects on the stack, and which of them is asked for.
trait Model {
    /// Number of objects on the stack.
    fn len(&self) -> usize;
    /// Weight of the stack, where all objects on and off it have the sum of all references.
    fn weight(&self) -> u64;
    /// Takes the object on which `choice`, below the weight, falls.
    fn take(&mut self, choice: u64) -> u32;
    /// Puts an object on top.
    fn push(&mut self, object: u32);
    /// Takes the object at the bottom.
    fn pop_bottom(&mut self) -> u32;
}

/// Draws each request from the stack or, with the probability that the stack leaves, from the objects off it, which are
/// equally likely. An object without references left is gone; a stack that overflows gives back its bottom.
fn generate(references: &[u32], stream: &mut Stream, depth: usize, model: &mut impl Model) -> Vec<u32> {
    let total: u64 = references.iter().map(|&count| u64::from(count)).sum();
    let mut left = references.to_vec();
    let mut off: Vec<u32> = (0..references.len() as u32).collect();
    let mut sequence = Vec::with_capacity(total as usize);
    while (sequence.len() as u64) < total {
        let choice = stream.below(if off.is_empty() { model.weight() } else { total });
        let object = if choice < model.weight() {
            model.take(choice)
        } else {
            off.swap_remove(stream.below(off.len() as u64) as usize)
        };
        sequence.push(object);
        left[object as usize] -= 1;
        if left[object as usize] > 0 {
            model.push(object);
            if model.len() > depth {
                off.push(model.pop_bottom());
            }
        }
    }
    sequence
}

/// The static model: place j of the stack has the weight of the object of rank j.
struct Places {
    /// The top is last.
    stack: Vec<u32>,
    /// Sums of the weights of the places from the top.
    sums: Vec<u64>,
}

impl Places {
    fn new(references: &[u32], depth: usize) -> Self {
        let sums = references.iter().take(depth + 1).scan(0, |sum, &count| {
            *sum += u64::from(count);
            Some(*sum)
        });
        Self { stack: Vec::new(), sums: sums.collect() }
    }
}

impl Model for Places {
    fn len(&self) -> usize {
        self.stack.len()
    }

    fn weight(&self) -> u64 {
        self.stack.len().checked_sub(1).map_or(0, |bottom| self.sums[bottom])
    }

    fn take(&mut self, choice: u64) -> u32 {
        let place = self.sums.partition_point(|&sum| sum <= choice);
        self.stack.remove(self.stack.len() - 1 - place)
    }

    fn push(&mut self, object: u32) {
        self.stack.push(object);
    }

    fn pop_bottom(&mut self) -> u32 {
        self.stack.remove(0)
    }
}

/// The dynamic model: an object on the stack has the weight of its references. A Fenwick tree over the objects finds the one
/// that a choice falls on, and a linked list keeps the order of use for the bottom.
struct Objects<'a> {
    references: &'a [u32],
    /// Fenwick tree of the weights of the objects on the stack.
    tree: Vec<u64>,
    weight: u64,
    len: usize,
    /// Towards the top and towards the bottom, for each object and, last, for the ends of the list.
    links: Vec<[u32; 2]>,
}

const UP: usize = 0;
const DOWN: usize = 1;

impl<'a> Objects<'a> {
    fn new(references: &'a [u32]) -> Self {
        let ends = references.len() as u32;
        let links = vec![[ends; 2]; references.len() + 1];
        Self { references, tree: vec![0; references.len() + 1], weight: 0, len: 0, links }
    }

    fn ends(&self) -> u32 {
        self.references.len() as u32
    }

    fn change(&mut self, object: u32, add: bool) {
        let weight = u64::from(self.references[object as usize]);
        let delta = if add { weight } else { weight.wrapping_neg() };
        self.weight = self.weight.wrapping_add(delta);
        let mut index = object as usize + 1;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].wrapping_add(delta);
            index += index & index.wrapping_neg();
        }
    }

    fn find(&self, choice: u64) -> u32 {
        let mut left = choice;
        let mut place = 0;
        let mut step = (self.tree.len() - 1).checked_ilog2().map_or(0, |bits| 1 << bits);
        while step > 0 {
            if place + step < self.tree.len() && self.tree[place + step] <= left {
                place += step;
                left -= self.tree[place];
            }
            step /= 2;
        }
        place as u32
    }

    fn unlink(&mut self, object: u32) {
        let [up, down] = self.links[object as usize];
        self.links[up as usize][DOWN] = down;
        self.links[down as usize][UP] = up;
        self.len -= 1;
        self.change(object, false);
    }
}

impl Model for Objects<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn weight(&self) -> u64 {
        self.weight
    }

    fn take(&mut self, choice: u64) -> u32 {
        let object = self.find(choice);
        self.unlink(object);
        object
    }

    fn push(&mut self, object: u32) {
        let ends = self.ends();
        // The top is what lies below the upper end.
        let top = self.links[ends as usize][DOWN];
        self.links[object as usize] = [ends, top];
        self.links[top as usize][UP] = object;
        self.links[ends as usize][DOWN] = object;
        self.len += 1;
        self.change(object, true);
    }

    fn pop_bottom(&mut self) -> u32 {
        let bottom = self.links[self.ends() as usize][UP];
        self.unlink(bottom);
        bottom
    }
}

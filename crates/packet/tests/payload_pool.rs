//! The payload pool against a model of it: a map from handles to the bytes they should show.

use crate::common::{bytes_of, config};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wasp_packet::{Payload, PayloadPool, View};

#[derive(Clone, Debug)]
enum Operation {
    Store { len: usize, content: u8 },
    Share(prop::sample::Index),
    TrimFront(prop::sample::Index, u32),
    Truncate(prop::sample::Index, u32),
    Release(prop::sample::Index),
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let len = prop_oneof![4 => 0_usize..300, 4 => 200_usize..2_100, 1 => 2_000_usize..65_536];
    let which = any::<prop::sample::Index>;
    prop_oneof![
        6 => (len, any::<u8>()).prop_map(|(len, content)| Operation::Store { len, content }),
        2 => which().prop_map(Operation::Share),
        1 => (which(), 0_u32..2_000).prop_map(|(which, count)| Operation::TrimFront(which, count)),
        1 => (which(), 0_u32..2_000).prop_map(|(which, len)| Operation::Truncate(which, len)),
        4 => which().prop_map(Operation::Release),
    ]
}

/// A payload of the pool, the bytes it should show, and the slab that the model gave it.
struct Held {
    payload: Payload,
    bytes: Vec<u8>,
    slab: Option<u64>,
}

struct Model {
    pool: PayloadPool,
    limit: usize,
    held: Vec<Held>,
    references: BTreeMap<u64, u32>,
    stored: u64,
    exhausted: u64,
}

impl Model {
    fn new(limit: usize) -> Self {
        let pool = PayloadPool::new(limit);
        Self { pool, limit, held: vec![], references: BTreeMap::new(), stored: 0, exhausted: 0 }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Store { len, content } => self.store(len, content),
            _ if self.held.is_empty() => {}
            Operation::Share(which) => {
                let original = &self.held[which.index(self.held.len())];
                let payload = self.pool.share(&original.payload);
                let copy = Held { payload, bytes: original.bytes.clone(), slab: original.slab };
                if let Some(slab) = copy.slab {
                    *self.references.get_mut(&slab).expect("a slab in use") += 1;
                }
                self.held.push(copy);
            }
            Operation::TrimFront(which, count) => {
                let place = which.index(self.held.len());
                let held = &mut self.held[place];
                held.payload.trim_front(count);
                held.bytes.drain(..held.bytes.len().min(count as usize));
            }
            Operation::Truncate(which, len) => {
                let place = which.index(self.held.len());
                let held = &mut self.held[place];
                held.payload.truncate(len);
                held.bytes.truncate(len as usize);
            }
            Operation::Release(which) => {
                let held = self.held.swap_remove(which.index(self.held.len()));
                self.release(held);
            }
        }
    }

    fn store(&mut self, len: usize, content: u8) {
        let bytes: Vec<u8> = (0..len).map(|place| (place as u8).wrapping_mul(7) ^ content).collect();
        let Some(payload) = self.pool.store(&bytes) else {
            self.exhausted += 1;
            let chunk = if len <= 256 {
                64 << 10
            } else if len <= 2_048 {
                128 << 10
            } else {
                256 << 10
            };
            assert!(self.pool.allocated() + chunk > self.limit, "refused {len} bytes with room to grow");
            return;
        };
        let slab = (len != 0).then_some(self.stored);
        self.stored += 1;
        if let Some(slab) = slab {
            self.references.insert(slab, 1);
        }
        self.held.push(Held { payload, bytes, slab });
    }

    fn release(&mut self, held: Held) {
        self.pool.release(held.payload);
        if let Some(slab) = held.slab {
            let references = self.references.get_mut(&slab).expect("a slab in use");
            *references -= 1;
            if *references == 0 {
                self.references.remove(&slab);
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.pool.in_use(), self.references.len());
        assert!(self.pool.allocated() <= self.limit);
        assert_eq!(self.pool.exhausted(), self.exhausted);
        for held in &self.held {
            assert_eq!(held.payload.len() as usize, held.bytes.len());
            assert_eq!(self.pool.view(&held.payload), View::Bytes(&held.bytes));
        }
    }
}

proptest! {
    #![proptest_config(config(1_024))]

    #[test]
    fn the_pool_behaves_like_a_map_and_keeps_its_bound(
        limit in prop_oneof![Just(0_usize), Just(200 << 10), Just(500 << 10), Just(2 << 20)],
        operations in proptest::collection::vec(any_operation(), 0..120),
    ) {
        let mut model = Model::new(limit);
        for operation in operations {
            model.apply(operation);
            model.check();
        }
        while let Some(held) = model.held.pop() {
            model.release(held);
        }
        prop_assert_eq!(model.pool.in_use(), 0);
    }
}

#[test]
fn a_full_pool_refuses_counts_and_recovers() {
    let mut pool = PayloadPool::new(64 << 10);
    let mut held: Vec<Payload> = (0..256).map(|_| pool.store(&[1; 256]).expect("room")).collect();
    assert_eq!((pool.in_use(), pool.allocated(), pool.exhausted()), (256, 64 << 10, 0));
    assert_eq!(pool.store(&[1; 256]), None);
    assert_eq!(pool.store(&[1; 257]), None, "no chunk of a larger class fits");
    assert_eq!(pool.exhausted(), 2);
    pool.release(held.pop().expect("a payload"));
    held.push(pool.store(&[2; 100]).expect("the slab given back"));
    held.into_iter().for_each(|payload| pool.release(payload));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn at_the_bound_a_larger_free_slab_is_used() {
    let mut pool = PayloadPool::new(128 << 10);
    let large = pool.store(&[1; 2_000]).expect("room");
    let small = pool.store(&[2; 10]).expect("a slab of the larger class");
    assert_eq!((pool.in_use(), pool.allocated()), (2, 128 << 10));
    assert_eq!(bytes_of(&pool, &small), [2; 10]);
    pool.release(large);
    pool.release(small);
}

#[test]
fn a_payload_longer_than_a_packet_is_refused() {
    let mut pool = PayloadPool::new(1 << 20);
    assert_eq!(pool.store(&vec![0; 65_536]), None);
    assert_ne!(pool.store(&vec![0; 65_535]), None);
}

#[test]
fn a_virtual_payload_takes_no_slab() {
    let mut pool = PayloadPool::new(0);
    let mut payload = Payload::Virtual(1_000_000);
    let mut copy = pool.share(&payload);
    payload.trim_front(400_000);
    copy.truncate(10);
    assert_eq!((pool.view(&payload), pool.view(&copy)), (View::Virtual(600_000), View::Virtual(10)));
    payload.trim_front(u32::MAX);
    assert!(payload.is_empty());
    pool.release(payload);
    pool.release(copy);
    assert_eq!((pool.in_use(), pool.exhausted()), (0, 0));
}

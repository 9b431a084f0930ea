//! What a core has to send, frame by frame.

use super::{ScheduledServer, Work, WorkKind};
use crate::Turn;
use std::collections::VecDeque;
use wasp_packet::Packet;
use wasp_units::Duration;

/// Segments of one connection that leave together, as TCP segmentation offload makes them.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    segments: u32,
    /// How many of them were sent before.
    again: u32,
    /// Their connection.
    of: Option<Work>,
}

/// Frames of a connection that have not left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    number: u32,
    /// The core on which they wait.
    core: usize,
}

#[derive(Debug, Default)]
pub(super) struct Output {
    packets: VecDeque<Packet>,
    frames: VecDeque<Frame>,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// A packet that is a frame, of no connection.
    pub(super) fn push(&mut self, packet: Packet) {
        self.packets.push_back(packet);
        self.frames.push_back(Frame { segments: 1, again: 0, of: None });
    }
}

impl ScheduledServer {
    /// Makes the segments of a socket that can leave. They leave on this core, or on that where earlier ones of the connection still wait, so that
    /// none overtakes another (on Linux, a program that sends has locked the socket).
    pub(super) fn make_segments(&mut self, core: usize, slot: u32, turn: &mut Turn<'_>) {
        let waiting = self.stack.get(slot).map(|socket| socket.data.frames).unwrap_or_default();
        let core = if waiting.number > 0 { waiting.core } else { core };
        let (_, mut before) = self.sent(slot);
        let of = self.stack.get(slot).map(|socket| Work { slot, ordinal: socket.ordinal() });
        let mut frame = Frame { of, ..Frame::default() };
        while let Some(packet) = self.stack.poll_transmit(turn.now, turn.pool) {
            let (ended, again) = self.sent(slot);
            frame.segments += 1;
            frame.again += again - before;
            before = again;
            self.outputs[core].packets.push_back(packet);
            if ended {
                self.queue_frame(core, std::mem::replace(&mut frame, Frame { of, ..Frame::default() }));
            }
        }
        if frame.segments > 0 {
            self.queue_frame(core, frame);
        }
    }

    fn queue_frame(&mut self, core: usize, frame: Frame) {
        self.outputs[core].frames.push_back(frame);
        if let Some(socket) = frame.of.and_then(|work| self.socket_of(work)) {
            socket.data.frames.core = core;
            socket.data.frames.number += 1;
        }
    }

    /// The first frame of a core leaves.
    pub(super) fn send_frame(&mut self, core: usize) {
        let output = &mut self.outputs[core];
        let Some(frame) = output.frames.pop_front() else { return };
        self.leaving.extend(output.packets.drain(..frame.segments as usize));
        if let Some(socket) = frame.of.and_then(|work| self.socket_of(work)) {
            socket.data.frames.number -= 1;
        }
    }

    /// Whether the segment of a socket that left last ended its frame, and how many segments it has sent again.
    fn sent(&self, slot: u32) -> (bool, u32) {
        self.stack.get(slot).map_or((true, 0), |socket| {
            (socket.endpoint.ended_frame(), socket.endpoint.statistics().retransmitted)
        })
    }

    /// What the next frame of a core costs.
    pub(super) fn price_frame(&mut self, core: usize) -> Duration {
        let costs = &self.config.costs;
        let Some(Frame { segments, again, .. }) = self.outputs[core].frames.front().copied() else {
            return Duration::ZERO;
        };
        let (segments, again) = (u64::from(segments), u64::from(again));
        self.work_done.charge(WorkKind::Frame, 1, costs.per_frame)
            + self.work_done.charge(WorkKind::Segment, segments, costs.per_segment * segments)
            + self.work_done.charge(WorkKind::Retransmission, again, costs.per_retransmission * again)
    }
}

//! IPv4, TCP, UDP and ICMP headers: checked views and emitters, checksums, segmentation.

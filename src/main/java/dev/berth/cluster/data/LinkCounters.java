package dev.berth.cluster.data;

import dev.berth.metrics.MetricSeries;
import java.util.concurrent.atomic.LongAdder;

/** Counters of an instance's data links since its start. Thread-safe. */
final class LinkCounters {
  final LongAdder links = new LongAdder(); // open now, in both directions
  final LongAdder opened = new LongAdder(); // outgoing
  final LongAdder failed = new LongAdder(); // outgoing: broken or not connected
  final LongAdder framesSent = new LongAdder(); // messages
  final LongAdder bytesSent = new LongAdder(); // of messages
  final LongAdder framesReceived = new LongAdder(); // messages
  final LongAdder bytesReceived = new LongAdder();
  final LongAdder refusedSends = new LongAdder(); // limit reached, or unknown peer

  void show(MetricSeries into) {
    into.gauge("berth_links", links.sum());
    into.counter("berth_links_opened", opened.sum());
    into.counter("berth_links_failed", failed.sum());
    into.counter("berth_link_messages_sent", framesSent.sum());
    into.counter("berth_link_sent_bytes", bytesSent.sum());
    into.counter("berth_link_messages_received", framesReceived.sum());
    into.counter("berth_link_received_bytes", bytesReceived.sum());
    into.counter("berth_link_sends_refused", refusedSends.sum());
  }
}

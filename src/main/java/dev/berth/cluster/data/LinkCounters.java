package dev.berth.cluster.data;

import dev.berth.metrics.Series;
import java.util.concurrent.atomic.LongAdder;

/** What the data links of an instance do, counted since its start. Any thread. */
final class LinkCounters {
  final LongAdder links = new LongAdder(); // open now, those that others made included
  final LongAdder opened = new LongAdder(); // from here
  final LongAdder failed = new LongAdder(); // from here: broken, or not to be opened
  final LongAdder framesSent = new LongAdder(); // messages
  final LongAdder bytesSent = new LongAdder(); // of them
  final LongAdder framesReceived = new LongAdder(); // likewise
  final LongAdder bytesReceived = new LongAdder();
  final LongAdder refusedSends = new LongAdder(); // too much under way, or no such peer

  void show(Series into) {
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

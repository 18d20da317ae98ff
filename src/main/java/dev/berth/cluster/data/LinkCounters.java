package dev.berth.cluster.data;

import dev.berth.metrics.Series;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the data links of an instance do. Any thread.
 *
 * @param links that are open now, those that others made included
 * @param opened from here
 * @param failed from here: broken, or not to be opened
 * @param framesSent messages
 * @param bytesSent of them
 * @param framesReceived messages
 * @param bytesReceived of them
 * @param refusedSends messages that were not sent: too much under way, or no such peer
 */
public record LinkCounters(
    LongAdder links,
    LongAdder opened,
    LongAdder failed,
    LongAdder framesSent,
    LongAdder bytesSent,
    LongAdder framesReceived,
    LongAdder bytesReceived,
    LongAdder refusedSends) {
  LinkCounters() {
    this(
        new LongAdder(),
        new LongAdder(),
        new LongAdder(),
        new LongAdder(),
        new LongAdder(),
        new LongAdder(),
        new LongAdder(),
        new LongAdder());
  }

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

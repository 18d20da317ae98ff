package dev.berth.cluster.data;

import java.util.concurrent.atomic.LongAdder;

/**
 * What the data links of an instance do. Any thread.
 *
 * @param links that are open now, those that others made included
 * @param framesSent messages
 * @param bytesSent of them
 * @param framesReceived messages
 * @param bytesReceived of them
 * @param refusedSends messages that were not sent: too much under way, or no such peer
 */
public record LinkCounters(
    LongAdder links,
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
        new LongAdder());
  }
}

package dev.berth.metrics;

/** Registration that lasts until it is closed. Thread-safe; closing is idempotent. */
@FunctionalInterface
public interface MeterRegistration extends AutoCloseable {

  @Override
  void close();
}

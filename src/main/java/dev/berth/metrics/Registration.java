package dev.berth.metrics;

/** What was registered, until it is closed. Any thread; closing again does nothing. */
@FunctionalInterface
public interface Registration extends AutoCloseable {

  @Override
  void close();
}

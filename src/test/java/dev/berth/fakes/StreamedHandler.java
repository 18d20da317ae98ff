package dev.berth.fakes;

import dev.berth.api.AsyncHandler;

/** A handler that reads its requests as they come. */
@FunctionalInterface
public interface StreamedHandler extends AsyncHandler {
  @Override
  default boolean streamsRequests() {
    return true;
  }
}

package dev.berth.metrics;

import dev.berth.view.ExplanationConsumer;
import dev.berth.view.RequestExplanation;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;

/**
 * Publishes explained requests to the JDK's Flight Recorder as events {@code dev.berth.Request},
 * while a recording enables them. Loads no recorder class before the first explained request, and
 * the event class only if the recorder is running. Thread-safe.
 */
public final class FlightRecords implements ExplanationConsumer {

  private FlightRecords() {}

  /**
   * Returns a consumer for records, which discards them in a runtime without the recorder module.
   */
  public static ExplanationConsumer create() {
    return ModuleLayer.boot().findModule("jdk.jfr").isPresent()
        ? new FlightRecords()
        : ExplanationConsumer.NONE;
  }

  @Override
  public void explained(RequestExplanation explanation) {
    if (FlightRecorder.isInitialized() && EventType.getEventType(RequestEvent.class).isEnabled()) {
      new RequestEvent(explanation).commit();
    }
  }
}

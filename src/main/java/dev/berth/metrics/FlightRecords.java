package dev.berth.metrics;

import dev.berth.view.Explanations;
import dev.berth.view.RequestExplanation;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;

/**
 * Gives explained requests to the JDK's Flight Recorder as events {@code dev.berth.Request}, while
 * a recording wants them. Nothing of the recorder is loaded before the first explained request, and
 * the event only when someone has started it. Any thread.
 */
public final class FlightRecords implements Explanations {

  private FlightRecords() {}

  /** Keeps nothing in a runtime that was made without the recorder. */
  public static Explanations create() {
    return ModuleLayer.boot().findModule("jdk.jfr").isPresent()
        ? new FlightRecords()
        : Explanations.NONE;
  }

  @Override
  public void explained(RequestExplanation explanation) {
    if (FlightRecorder.isInitialized() && EventType.getEventType(RequestEvent.class).isEnabled()) {
      new RequestEvent(explanation).commit();
    }
  }
}

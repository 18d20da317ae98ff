package dev.berth.ingress.split;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.ShadowMeters.ShadowEvent;
import dev.berth.routing.CallObserver;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.explain.RequestRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Shadow copies of one request. Confined to the event loop. */
public final class ShadowCopies {
  private static final ShadowCopies NONE = new ShadowCopies(List.of());

  private final List<ShadowTarget> shadows;
  private final List<ShadowCall> made = new ArrayList<>(0);

  /** Returns the copies of a request. Without shadows, returns a shared empty instance. */
  public static ShadowCopies of(List<ShadowTarget> shadows) {
    return shadows.isEmpty() ? NONE : new ShadowCopies(shadows);
  }

  private ShadowCopies(List<ShadowTarget> shadows) {
    this.shadows = shadows;
  }

  /**
   * Sends a copy to each shadow that can receive one without harm. Called after the request was
   * sent to its router.
   *
   * @param of owner of the request's call
   */
  public void make(
      Request request, CallObserver of, RouterLoop loop, RandomGenerator random, long nowNanos) {
    for (ShadowTarget each : shadows) {
      if (each.shadow().fraction() < 1 && random.nextDouble() >= each.shadow().fraction()) {
        continue;
      }
      ShadowCall copy = new ShadowCall(of, each, loop, nowNanos);
      ShadowEvent became = copy.begin(request);
      if (became == ShadowEvent.COPIED) {
        made.add(copy); // counts itself when a replica has it
      } else {
        each.meters().count(became);
      }
      RequestRecorder recorder = of.explaining();
      if (recorder != null) {
        recorder.recordSplit("shadow " + each.shadow().to() + ": " + became);
      }
    }
  }

  /** Receives the client's response, or its head, for comparison. */
  public void userGot(Response response) {
    made.forEach(each -> each.userGot(response));
  }

  /** Cancels the copies with their request. */
  public void cancel() {
    made.forEach(ShadowCall::cancel);
  }
}

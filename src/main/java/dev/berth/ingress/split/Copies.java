package dev.berth.ingress.split;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.metrics.ShadowMeters.Event;
import dev.berth.routing.CallOwner;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.explain.RequestRecorder;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** The copies of one request that the shadows of its route get. Confined to its loop. */
public final class Copies {
  private static final Copies NONE = new Copies(List.of());

  private final List<ShadowTarget> shadows;
  private final List<ShadowCall> made = new ArrayList<>(0);

  /** Those of a request; nothing is made for it where nobody gets any. */
  public static Copies of(List<ShadowTarget> shadows) {
    return shadows.isEmpty() ? NONE : new Copies(shadows);
  }

  private Copies(List<ShadowTarget> shadows) {
    this.shadows = shadows;
  }

  /**
   * The request was given to its router, and waits for its answer: each shadow gets a copy that can
   * have one without harm.
   *
   * @param of who made the request
   */
  public void make(
      Request request, CallOwner of, RouterLoop loop, RandomGenerator random, long nowNanos) {
    for (ShadowTarget each : shadows) {
      if (each.shadow().fraction() < 1 && random.nextDouble() >= each.shadow().fraction()) {
        continue;
      }
      ShadowCall copy = new ShadowCall(of, each, loop, nowNanos);
      Event became = copy.begin(request);
      if (became == Event.COPIED) {
        made.add(copy); // which counts itself when a replica has it
      } else {
        each.meters().count(became);
      }
      RequestRecorder recorder = of.explaining();
      if (recorder != null) {
        recorder.split("shadow " + each.shadow().to() + ": " + became);
      }
    }
  }

  /** What the client gets, or the head of it. */
  public void userGot(Response response) {
    made.forEach(each -> each.userGot(response));
  }

  /** The request is given up, and its copies with it. */
  public void cancel() {
    made.forEach(ShadowCall::cancel);
  }
}

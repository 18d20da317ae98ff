package dev.berth.ingress;

import java.util.ArrayList;
import java.util.List;

/** What the ingress makes of clients that stand still, for the simulation, which has no sockets. */
public final class StalledProbe {
  private final WriteStall stall;

  /**
   * @param taken bytes that its client has taken so far
   */
  public StalledProbe(long taken, long now) {
    stall = new WriteStall(taken, now);
  }

  /** One look of the sweep; whether its client stands still. */
  public boolean look(long taken, long now) {
    stall.look(taken, now);
    return now - stall.sinceNanos() >= WriteStall.AFTER_NANOS;
  }

  /** An answer of which something waits; each has a connection of its own. */
  public record Waiting<A>(A answer, long bytes, StalledProbe of) {}

  /** Whom the ingress cuts, in order. */
  public static <A> List<A> victims(List<Waiting<A>> waiting, long now, long needed) {
    List<EvictableResponse<A>> table = new ArrayList<>();
    for (Waiting<A> each : waiting) {
      table.add(new EvictableResponse<>(each, each.answer, each.bytes, each.of.stall.sinceNanos()));
    }
    return EvictableResponse.victims(table, now, needed, 0).stream()
        .map(EvictableResponse::answer)
        .toList();
  }
}

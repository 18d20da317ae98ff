package dev.berth.routing.handle;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.routing.CallObserver;
import dev.berth.routing.GangMember;
import dev.berth.routing.HandleCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.slots.RoutedReplica;
import io.vertx.core.Promise;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The results of a broadcast, one per called replica. Confined to the loop. */
final class Broadcast {
  private final RouterLoop loop;
  private final @Nullable RequestContext within;
  private final List<RoutedReplica> replicas;
  private final Promise<List<BroadcastAnswer>> all;
  private final BroadcastAnswer[] answers; // in replica order
  private int missing;

  Broadcast(
      RouterLoop loop,
      @Nullable RequestContext within,
      List<RoutedReplica> replicas,
      Promise<List<BroadcastAnswer>> all) {
    this.loop = loop;
    this.within = within;
    this.replicas = replicas;
    this.all = all;
    this.answers = new BroadcastAnswer[replicas.size()];
    this.missing = replicas.size();
  }

  /** Returns the receiver of the result of the replica at a place. */
  CallObserver owner(int place, GangMember of) {
    return new HandleCall(of, loop) {
      @Override
      public void onResponse(Response response, String replicaId) {
        took(place, new BroadcastAnswer.Answered(replicaId, response));
      }

      @Override
      public void onFailure(BerthException failure) {
        took(place, new BroadcastAnswer.Failed(replicas.get(place).info.replicaId(), failure));
      }
    };
  }

  private void took(int place, BroadcastAnswer answer) {
    answers[place] = answer;
    if (--missing == 0) {
      loop.post(within, () -> all.complete(List.of(answers)));
    }
  }
}

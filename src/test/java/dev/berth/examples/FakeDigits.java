package dev.berth.examples;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.Selections;
import dev.berth.api.StreamedResponse;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A deployment of one replica that a test answers for. It is chosen at once unless {@link #full}.
 */
final class FakeDigits implements DeploymentHandle {
  static final String REPLICA_ID = "classify#digits#1";

  /** What was dispatched so far. */
  final List<Request> dispatched = new ArrayList<>();

  /** The answer to what is dispatched. */
  final Promise<Response> answer = Promise.promise();

  final Promise<ReplicaSelection> choice = Promise.promise();
  CallOptions options = CallOptions.defaults();
  boolean full;
  int chosen;
  int closed;
  int cancelled;

  void grant() {
    choice.complete(new Selection());
  }

  @Override
  public DeploymentId deployment() {
    return new DeploymentId("classify", "digits");
  }

  @Override
  public DeploymentHandle options(CallOptions given) {
    options = given;
    return this;
  }

  @Override
  public Selections.Choice startChooseAll(
      List<? extends DeploymentHandle> handles, Optional<Duration> wait) {
    throw new AssertionError("startChooseAll: called (expected: a choice of one)");
  }

  @Override
  public Call start(Request request) {
    throw new AssertionError("start: called (expected: a choice, then a dispatch)");
  }

  @Override
  public DeploymentHandle within(RequestContext parent) {
    return this;
  }

  @Override
  public Future<StreamedResponse> stream(Request request) {
    throw new AssertionError("stream: called (expected: a choice, then a dispatch)");
  }

  @Override
  public Future<List<BroadcastAnswer>> broadcast(Request request) {
    throw new AssertionError("broadcast: called (expected: a choice, then a dispatch)");
  }

  @Override
  public Choice startChoose() {
    chosen++;
    if (!full) {
      grant();
    }
    return new Choice() {
      @Override
      public Future<ReplicaSelection> selection() {
        return choice.future();
      }

      @Override
      public void cancel() {
        choice.tryFail(new BerthException.Cancelled("cancelled by the test"));
      }
    };
  }

  private final class Selection implements ReplicaSelection {
    @Override
    public String replicaId() {
      return REPLICA_ID;
    }

    @Override
    public DeploymentId deployment() {
      return FakeDigits.this.deployment();
    }

    @Override
    public String nodeId() {
      return "node-1";
    }

    @Override
    public Optional<String> host() {
      return Optional.empty();
    }

    @Override
    public OptionalInt port() {
      return OptionalInt.empty();
    }

    @Override
    public Optional<String> availabilityZone() {
      return Optional.empty();
    }

    @Override
    public Map<String, String> metadata() {
      return Map.of();
    }

    @Override
    public Duration leaseRemaining() {
      return Duration.ofSeconds(10);
    }

    @Override
    public Call start(Request request) {
      dispatched.add(request);
      return new Call() {
        @Override
        public Future<Response> response() {
          return answer.future();
        }

        @Override
        public void cancel() {
          cancelled++;
        }
      };
    }

    @Override
    public Future<Boolean> renew() {
      return Future.succeededFuture(true);
    }

    @Override
    public Future<Void> close() {
      closed++;
      return Future.succeededFuture();
    }
  }
}

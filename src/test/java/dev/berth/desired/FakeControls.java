package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.controller.ControllerEvent;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A controller that notes what it is told. */
final class FakeControls implements ServeControl.ControllerOperations {
  final List<ControllerEvent> told = new ArrayList<>();
  final List<Long> restarts = new ArrayList<>();
  @Nullable Set<String> deployments = Set.of("d");
  Set<String> autoscaled = Set.of();
  @Nullable String stateDir;
  @Nullable Set<Path> inUse = Set.of();

  @Override
  public void tell(ControllerEvent event) {
    told.add(event);
  }

  @Override
  public Future<ServeDetails> details(@Nullable Double capacity, @Nullable String dir) {
    stateDir = dir;
    return Future.succeededFuture(new ServeDetails("n", 1, 1, 1, capacity, dir, List.of()));
  }

  @Override
  public @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment) {
    return null;
  }

  @Override
  public @Nullable Map<String, Boolean> deployments(String application) {
    return deployments == null
        ? null
        : deployments.stream().collect(Collectors.toMap(each -> each, autoscaled::contains));
  }

  @Override
  public @Nullable Set<Path> jarsInUse() {
    return inUse;
  }

  @Override
  public Future<Void> restart(long term) {
    restarts.add(term);
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> drain() {
    return Future.succeededFuture();
  }
}

package dev.berth.node;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ScalingView;
import dev.berth.desired.ServeControl;
import dev.berth.node.scaling.ScalingJson;
import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.ServeDetails;
import dev.berth.protocol.port.CommandRefused;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the commands of operators reach of an instance. Belongs to the control loop.
 *
 * @param control null before the instance has any parts
 * @param nanoClock monotonic nanoseconds
 * @param drainAsked begins the drain of the instance
 */
record NodeControls(
    Supplier<@Nullable InstanceControl> control, LongSupplier nanoClock, Runnable drainAsked)
    implements ServeControl.Controls {

  private Optional<InstanceControl> made() {
    return Optional.ofNullable(control.get());
  }

  @Override
  public void tell(ControllerEvent event) {
    made().ifPresent(made -> made.tell(event)); // else the first controller is told of everything
  }

  @Override
  public Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir) {
    return Future.succeededFuture(
        controller().details(targetCapacity, stateDir, nanoClock.getAsLong()));
  }

  @Override
  public @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment) {
    long now = nanoClock.getAsLong();
    ScalingView view = controller().autoscaling(deployment, now);
    return view == null ? null : () -> ScalingJson.of(view, now);
  }

  @Override
  public @Nullable Set<String> deployments(String application) {
    ApplicationDetails known = controller().details(application);
    if (known == null) {
      return null;
    }
    return known.deployments().stream()
        .map(DeploymentDetails::name)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  @Override
  public boolean autoscales(DeploymentId id) {
    ApplicationDetails known = controller().details(id.application());
    return known != null
        && known.deployments().stream()
            .anyMatch(
                each ->
                    each.name().equals(id.name())
                        && each.config().containsKey(DeploymentConfig.AUTOSCALING_CONFIG.name()));
  }

  @Override
  public @Nullable Set<Path> jarsInUse() {
    return made().map(made -> made.jarsInUse()).orElse(null);
  }

  private Controller controller() {
    return made()
        .map(made -> made.plane.controller())
        .orElseThrow(
            () ->
                new CommandRefused(
                    CommandRefused.Kind.UNAVAILABLE,
                    "controller: none (expected: one, in a moment)"));
  }

  @Override
  public Future<Void> restart(long term) {
    return made()
        .map(made -> made.plane.restart(term))
        .orElseGet(() -> Future.failedFuture("controller: none (expected: a started instance)"));
  }

  @Override
  public Future<Void> drain() {
    drainAsked.run();
    return Future.succeededFuture();
  }
}

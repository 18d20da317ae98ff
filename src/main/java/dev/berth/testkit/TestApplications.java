package dev.berth.testkit;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.code.LoadedApplication;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ServeConfig;
import dev.berth.view.ApplicationStatus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The applications of a test: their start, their names, and their end.
 *
 * @param code of each, in the order given
 */
record TestApplications(TestInstance instance, ServeConfig config, Map<String, Application> code) {
  TestApplications {
    code = new LinkedHashMap<>(code);
  }

  /**
   * Starts their replicas.
   *
   * @throws IllegalStateException when one does not start, with what it threw
   */
  void deploy() {
    config.applications().forEach(this::deploy);
  }

  private void deploy(ApplicationConfig application) {
    String name = application.name();
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Application watched = watched(code.get(name), thrown);
    instance.declare(LoadedApplication.of(application, watched, config));
    boolean decided =
        instance.runUntil(
            () ->
                instance.status(name) == ApplicationStatus.RUNNING
                    || instance.failures.get(name) != null,
            () -> false);
    if (!decided) {
      throw new IllegalStateException(
          "application " + name + " did not start" + Unsettled.describe(instance));
    }
    String failure = instance.failures.get(name);
    if (failure != null) {
      throw new IllegalStateException("application " + name + ": " + failure, thrown.get());
    }
  }

  /** Keeps what a factory threw: the controller passes on its words only. */
  private static Application watched(
      Application application, AtomicReference<@Nullable Throwable> thrown) {
    List<Deployment> deployments = new ArrayList<>();
    for (Deployment each : application.deployments()) {
      HandlerFactory factory =
          replica -> {
            try {
              return each.factory().create(replica);
            } catch (Throwable failed) {
              thrown.compareAndSet(null, failed);
              throw failed;
            }
          };
      deployments.add(each.withFactory(factory));
    }
    return application.withDeployments(deployments);
  }

  /**
   * Starts what the controller holds in place of replicas that were lost.
   *
   * @throws IllegalStateException when one does not start
   */
  void replace() {
    boolean over = instance.replace();
    for (String name : code.keySet()) {
      String failure = instance.failures.get(name);
      if (failure != null) {
        throw new IllegalStateException("application " + name + ": " + failure);
      }
    }
    if (!over) {
      throw new AssertionError("replicas: not started" + Unsettled.describe(instance));
    }
  }

  /** The deployment that answers for the first application. */
  DeploymentId ingress() {
    Map.Entry<String, Application> first = code.entrySet().iterator().next();
    return new DeploymentId(first.getKey(), first.getValue().ingress());
  }

  /** The one deployment of a name, or of a name with its application's before it. */
  DeploymentId find(String name) {
    List<DeploymentId> all = new ArrayList<>();
    code.forEach(
        (application, built) ->
            built
                .deployments()
                .forEach(each -> all.add(new DeploymentId(application, each.name()))));
    List<DeploymentId> found =
        all.stream().filter(id -> id.name().equals(name) || id.toString().equals(name)).toList();
    if (found.size() != 1) {
      throw new IllegalArgumentException("deployment: " + name + " (expected: one of " + all + ")");
    }
    return found.get(0);
  }

  /**
   * Stops their replicas, with their hooks.
   *
   * @return false when something does not stop in time
   */
  boolean withdraw() {
    code.keySet().forEach(instance::withdraw);
    return instance.runUntil(
        () ->
            code.keySet().stream().allMatch(name -> instance.status(name) == null)
                && instance.threads.isIdle(),
        () -> false);
  }
}

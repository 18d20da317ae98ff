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
 * Applications of a test: their start, their names, and their end.
 *
 * @param code applications by name, in the order of the builder
 */
record TestApplications(TestInstance instance, ServeConfig config, Map<String, Application> code) {
  TestApplications {
    code = new LinkedHashMap<>(code);
  }

  /**
   * Starts the replicas of all applications.
   *
   * @throws IllegalStateException when a replica does not start; the cause is its error
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

  /** Records the error of a factory, since the controller passes on its text alone. */
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
   * Starts the replicas that the controller holds in place of lost ones.
   *
   * @throws IllegalStateException when a replica does not start
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

  /** Returns the ingress deployment of the first application. */
  DeploymentId ingress() {
    Map.Entry<String, Application> first = code.entrySet().iterator().next();
    return new DeploymentId(first.getKey(), first.getValue().ingress());
  }

  /** Returns the ingress of the application with the longest matching prefix; null for none. */
  @Nullable DeploymentId ingressOf(String path) {
    String longest = "";
    DeploymentId found = null;
    for (ApplicationConfig application : config.applications()) {
      String prefix = application.routePrefix();
      Application built = code.get(application.name());
      if (prefix != null && built != null && prefix.length() > longest.length()) {
        boolean root = prefix.equals("/");
        if (root || path.equals(prefix) || path.startsWith(prefix + "/")) {
          longest = prefix;
          found = new DeploymentId(application.name(), built.ingress());
        }
      }
    }
    return found;
  }

  /** Returns the one deployment of a name, or of a name that the application's name precedes. */
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
   * Stops the replicas of all applications, with their hooks.
   *
   * @return false when a replica or hook does not stop in time
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

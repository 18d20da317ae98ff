package dev.berth.code;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.replica.hooks.ContextClassLoaderScope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An application whose code is loaded, with the settings of its deployments.
 *
 * @param build identity of the code: equal for equal code and arguments
 * @param config as in the file
 * @param application result of the builder
 * @param settings effective settings of each deployment, the file's values over the code's
 * @param code that built it; null when it was built elsewhere
 */
public record LoadedApplication(
    String build,
    ApplicationConfig config,
    Application application,
    Map<DeploymentId, Settings> settings,
    @Nullable ApplicationCode code)
    implements AutoCloseable {

  /** Returns the class loader of the application's jars; null when it has none. */
  public @Nullable ClassLoader classLoader() {
    return code == null ? null : code.classLoader();
  }

  /**
   * Creates an object of a class that the file names, with the class loader of the application's
   * jars, or else Berth's. Runs user code.
   *
   * @param arguments for a constructor with a map parameter
   * @throws Exception among others, the exception of the constructor
   */
  public <T> T make(Class<T> type, String name, Map<String, @Nullable Object> arguments)
      throws Exception {
    ClassLoader own = classLoader();
    ClassLoader loader = own == null ? LoadedApplication.class.getClassLoader() : own;
    return ContextClassLoaderScope.call(
        loader,
        () -> {
          Class<? extends T> found = Class.forName(name, true, loader).asSubclass(type);
          try {
            return found.getConstructor(Map.class).newInstance(arguments);
          } catch (NoSuchMethodException takesNothing) {
            return found.getConstructor().newInstance();
          }
        });
  }

  /**
   * Creates an application whose builder was called elsewhere, without jars of its own.
   *
   * @throws ConfigException when the file names a deployment that the code does not have, or an
   *     invalid policy or ranker
   */
  public static LoadedApplication of(
      ApplicationConfig config, Application application, ServeConfig file) {
    List<ConfigProblem> problems = new ArrayList<>();
    new NamedClasses(config, LoadedApplication.class.getClassLoader(), problems).check();
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    return new LoadedApplication(
        "given",
        config,
        application,
        ApplicationLoader.settings(new BuildCache.BuildInputs(config, file), application),
        null);
  }

  public String name() {
    return config.name();
  }

  public DeploymentId id(String deployment) {
    return new DeploymentId(name(), deployment);
  }

  /** Returns the code of a deployment. */
  public Deployment deployment(DeploymentId id) {
    return application.deployments().stream()
        .filter(each -> each.name().equals(id.name()))
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("deployment: " + id + " (expected: known)"));
  }

  /** Returns the description for the controller. */
  public BuiltApplication built() {
    return built(settings, config);
  }

  /** Returns the description for the controller, with other settings than those of this object. */
  BuiltApplication built(Map<DeploymentId, Settings> wanted, ApplicationConfig as) {
    List<DeploymentTarget> targets = new ArrayList<>();
    String prefix = Objects.requireNonNullElse(as.routePrefix(), "");
    wanted.forEach(
        (id, value) ->
            targets.add(
                new DeploymentTarget(
                    id,
                    build,
                    DeploymentVersions.of(build, value, as.routePrefix()),
                    value,
                    0,
                    prefix)));
    Settings policy = as.settings().find(ApplicationConfig.AUTOSCALING_POLICY);
    boolean decides = AutoscalingOptions.policyClass(policy) != null;
    return new BuiltApplication(
        build, application.ingress(), targets, decides ? policy : null, as.routeSettings());
  }

  /** Closes the jars. Classes that are not yet loaded cannot be loaded afterwards. */
  @Override
  public void close() {
    if (code != null) {
      code.close();
    }
  }
}

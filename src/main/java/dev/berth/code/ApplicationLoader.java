package dev.berth.code;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.ServeConfig;
import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Loader of an application: finds the code and calls its builder. May block, and runs user code.
 */
final class ApplicationLoader {

  private ApplicationLoader() {}

  /**
   * Loads an application. For code that is already loaded, creates only new settings.
   *
   * @param known loaded code of this application, by build
   * @param builtIn handlers of the built-in application
   * @throws ConfigException with all problems of the file with this code
   * @throws StartFailedException when the code fails
   */
  static BuildCache.LoadedRevision read(
      BuildCache.BuildInputs source,
      Map<String, LoadedApplication> known,
      BuiltInHandlers builtIn) {
    ApplicationConfig config = source.config();
    ApplicationCode code = ApplicationCode.find(config);
    try {
      String build = code.identity();
      LoadedApplication same = known.get(build);
      if (same == null) {
        Application application = code.build(builtIn);
        LoadedApplication loaded =
            new LoadedApplication(build, config, application, settings(source, application), code);
        return new BuildCache.LoadedRevision(loaded, loaded.built());
      }
      code.close();
      Map<DeploymentId, Settings> settings = settings(source, same.application());
      return new BuildCache.LoadedRevision(same, same.built(settings, config));
    } catch (RuntimeException | Error failed) {
      code.close();
      throw failed;
    }
  }

  /**
   * Returns the effective settings of each deployment of the code: the file's values, then the
   * code's.
   */
  static Map<DeploymentId, Settings> settings(
      BuildCache.BuildInputs source, Application application) {
    ApplicationConfig config = source.config();
    List<ConfigProblem> unknown = unknown(config, application);
    if (!unknown.isEmpty()) {
      throw new ConfigException(unknown);
    }
    Map<DeploymentId, Settings> settings = new LinkedHashMap<>();
    for (Deployment code : application.deployments()) {
      settings.put(
          new DeploymentId(config.name(), code.name()),
          DeploymentConfig.atCapacity(
              config.deployment(code),
              source.file().find(ServeConfig.TARGET_CAPACITY),
              source.rises()));
    }
    return settings;
  }

  /** Returns problems for deployments that the file names and the code does not have. */
  private static List<ConfigProblem> unknown(ApplicationConfig config, Application application) {
    List<String> known = application.deployments().stream().map(Deployment::name).toList();
    List<ConfigProblem> unknown = new ArrayList<>();
    int index = 0;
    for (Settings given : config.deployments()) {
      String name = given.get(DeploymentConfig.NAME);
      if (!known.contains(name)) {
        unknown.add(unknown(config, "deployments[" + index + "].name", name, known));
      }
      index++;
    }
    TrafficOptions.named(config.get(ApplicationConfig.BERTH), config.name())
        .forEach(
            (at, id) -> {
              if (!known.contains(id.name())) {
                unknown.add(unknown(config, "berth." + at, id.name(), known));
              }
            });
    return unknown;
  }

  private static ConfigProblem unknown(
      ApplicationConfig config, String at, String name, List<String> known) {
    return ApplicationCode.problem(
        config,
        at,
        '"' + name + "\", unknown to " + config.get(ApplicationConfig.IMPORT_PATH),
        "one of " + String.join(", ", known));
  }
}

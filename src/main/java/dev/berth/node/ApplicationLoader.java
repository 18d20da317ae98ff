package dev.berth.node;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.DeploymentSettings;
import dev.berth.config.Problem;
import dev.berth.config.ServeConfig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the code of an application and calls its builder. May block, and runs user code. */
final class ApplicationLoader {

  private ApplicationLoader() {}

  /**
   * @param file that {@code config} is a part of
   * @throws ConfigException with every problem of what the file says, in view of the code
   * @throws StartFailedException when the code fails
   */
  static LoadedApplication load(ApplicationConfig config, ServeConfig file) {
    ApplicationCode code = ApplicationCode.find(config);
    try {
      Application application = code.build();
      return new LoadedApplication(
          code.identity(), config, application, settings(config, application, file), code);
    } catch (RuntimeException | Error failed) {
      code.close(failed);
      throw failed;
    }
  }

  /** The file's values over the code's, for each deployment of the code. */
  static Map<DeploymentId, DeploymentSettings> settings(
      ApplicationConfig config, Application application, ServeConfig file) {
    List<Problem> unknown = unknown(config, application);
    if (!unknown.isEmpty()) {
      throw new ConfigException(unknown);
    }
    Map<DeploymentId, DeploymentSettings> settings = new LinkedHashMap<>();
    for (Deployment code : application.deployments()) {
      DeploymentConfig ofCode = DeploymentConfig.of(code);
      DeploymentConfig merged =
          config.deployment(code.name()).map(own -> own.over(ofCode)).orElse(ofCode);
      settings.put(
          new DeploymentId(config.name(), code.name()),
          merged
              .resolve(file.berth().limits(), config.logging())
              .atCapacity(file.targetCapacity()));
    }
    return settings;
  }

  /** Deployments that the file overrides and the code does not have. */
  private static List<Problem> unknown(ApplicationConfig config, Application application) {
    List<String> known = application.deployments().stream().map(Deployment::name).toList();
    List<Problem> unknown = new ArrayList<>();
    int index = 0;
    for (DeploymentConfig given : config.deployments()) {
      if (!known.contains(given.name())) {
        unknown.add(
            config
                .source()
                .problem(
                    "deployments[" + index + "].name",
                    '"' + given.name() + "\", unknown to " + config.importPath(),
                    "one of " + String.join(", ", known)));
      }
      index++;
    }
    return unknown;
  }
}

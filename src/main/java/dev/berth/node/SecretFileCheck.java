package dev.berth.node;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.ProblemLocator;
import dev.berth.config.keys.Settings;
import dev.berth.dialect.ApiKeys;
import dev.berth.net.tls.TlsFileException;
import dev.berth.upstream.SecretHeaders;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Validator of the files with keys of clients and with headers of upstreams. */
public final class SecretFileCheck {
  private final List<ConfigProblem> problems = new ArrayList<>();

  private SecretFileCheck() {}

  /**
   * Reads the files below {@code berth.secrets_dir} as an instance does. Blocks on disk access.
   *
   * @return all problems; empty if the directory does not exist on this machine
   */
  public static List<ConfigProblem> problems(ServeConfig config) {
    SecretFileCheck check = new SecretFileCheck();
    Path directory = config.settings().find(InstanceOptions.SECRETS_DIR);
    if (directory != null && Files.isDirectory(directory)) {
      check.read(
          () -> ApiKeys.of(config.settings()), config.source(), "berth.openai.api_keys_file");
      config.applications().forEach(each -> check.readHeaders(directory, each));
    }
    return check.problems;
  }

  private void readHeaders(Path directory, ApplicationConfig application) {
    int deployment = 0;
    for (Settings each : application.deployments()) {
      int upstream = 0;
      for (Settings entry : each.all(DeploymentConfig.UPSTREAMS)) {
        String key = "deployments[%d].berth.upstreams[%d].headers_file";
        String file = entry.find(UpstreamOptions.HEADERS_FILE);
        if (file != null) {
          read(
              () -> SecretHeaders.read(directory, file),
              application.source(),
              key.formatted(deployment, upstream));
        }
        upstream++;
      }
      deployment++;
    }
  }

  private void read(Runnable reader, ProblemLocator source, String key) {
    try {
      reader.run();
    } catch (TlsFileException unusable) {
      String value = unusable.key + ": " + unusable.value;
      problems.add(source.problem(key, value, unusable.expected));
    }
  }
}

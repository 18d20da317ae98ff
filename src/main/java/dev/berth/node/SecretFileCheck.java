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
  private SecretFileCheck() {}

  /**
   * Reads the files below {@code berth.secrets_dir} as an instance does. Blocks on disk access.
   *
   * @return all problems; empty if the directory does not exist on this machine
   */
  public static List<ConfigProblem> problems(ServeConfig config) {
    List<ConfigProblem> problems = new ArrayList<>();
    Path directory = config.settings().find(InstanceOptions.SECRETS_DIR);
    if (directory == null || !Files.isDirectory(directory)) {
      return problems;
    }
    String keys = "berth.openai.api_keys_file";
    read(() -> ApiKeys.of(config.settings()), config.source(), keys, problems);
    for (ApplicationConfig each : config.applications()) {
      for (int at = 0; at < each.deployments().size(); at++) {
        List<Settings> entries = each.deployments().get(at).all(DeploymentConfig.UPSTREAMS);
        for (int entry = 0; entry < entries.size(); entry++) {
          String file = entries.get(entry).find(UpstreamOptions.HEADERS_FILE);
          String key = "deployments[" + at + "].berth.upstreams[" + entry + "].headers_file";
          if (file != null) {
            read(() -> SecretHeaders.read(directory, file), each.source(), key, problems);
          }
        }
      }
    }
    return problems;
  }

  private static void read(
      Runnable reader, ProblemLocator source, String key, List<ConfigProblem> problems) {
    try {
      reader.run();
    } catch (TlsFileException unusable) {
      String value = unusable.key + ": " + unusable.value;
      problems.add(source.problem(key, value, unusable.expected));
    }
  }
}

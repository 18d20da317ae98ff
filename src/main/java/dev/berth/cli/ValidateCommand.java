package dev.berth.cli;

import dev.berth.code.ApplicationCheck;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.HttpOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.net.tls.TlsFileException;
import dev.berth.net.tls.TlsFiles;
import dev.berth.node.SecretFileCheck;
import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonArray;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Command {@code berth validate}: reports all problems of a file, and starts nothing. */
@Command(
    name = "validate",
    header = "Checks a configuration and reports all problems.",
    description = {
      "Reads the named jars and TLS files and looks up the methods of import_path, but runs no code"
          + " of applications. Only berth run checks that an application has the deployments that"
          + " the file names.",
      "Reads the files of openai.api_keys_file and headers_file if berth.secrets_dir exists on this"
          + " machine.",
      "A warning reports an accepted key without effect; the file is still valid."
    },
    exitCodeList = {"0:the file is valid", "2:wrong usage, or the file has problems"},
    footer = {
      "  berth validate conf/quickstart.yaml",
      "  berth validate conf/quickstart.yaml --set http_options.port=8001",
      "  berth validate conf/quickstart.yaml --json | jq -r '.[].path'"
    })
final class ValidateCommand extends CliCommand {
  @Mixin private ConfigSource source;

  @Option(
      names = "--json",
      description = "Prints problems and warnings as a JSON array; [] if there are none.")
  private boolean json;

  @Override
  void run(PrintWriter out) {
    try {
      ServeConfig valid = source.read(List.of());
      List<ConfigProblem> found = new ArrayList<>(valid.warnings());
      found.addAll(ApplicationCheck.problems(valid));
      found.addAll(SecretFileCheck.problems(valid));
      checkTls(HttpOptions.tls(valid.settings()), valid, found);
      checkTls(AdminOptions.tls(valid.settings()), valid, found);
      ClusterConfig cluster = valid.cluster();
      if (cluster != null && cluster.tls() != null) {
        checkTls(cluster.tls().files(), valid, found);
      }
      if (found.size() > valid.warnings().size()) {
        throw new ConfigException(found);
      }
      if (json) {
        out.println(encode(valid.warnings()));
      } else {
        valid.warnings().forEach(spec.commandLine().getErr()::println);
        out.println(source.file + ": valid, " + count(valid.applications().size(), "application"));
      }
    } catch (ConfigException refused) {
      if (!json) {
        throw refused;
      }
      out.println(encode(refused.problems()));
      throw new CommandExitException(ExitCode.USAGE);
    }
  }

  private static void checkTls(
      @Nullable TlsFiles files, ServeConfig of, List<ConfigProblem> problems) {
    try {
      if (files != null) {
        files.read();
      }
    } catch (TlsFileException unusable) {
      problems.add(of.source().problem(unusable.key, unusable.value, unusable.expected));
    }
  }

  /** Prints a line for each problem and warning, and their counts when there are several. */
  static void print(ConfigException refused, PrintWriter err) {
    List<ConfigProblem> all = refused.problems();
    all.forEach(err::println);
    int warnings = (int) all.stream().filter(ConfigProblem::isWarning).count();
    if (all.size() > 1) {
      err.println(
          count(all.size() - warnings, "problem")
              + (warnings == 0 ? "" : ", " + count(warnings, "warning")));
    }
  }

  private static String count(int number, String what) {
    return number + " " + what + (number == 1 ? "" : "s");
  }

  private static String encode(List<ConfigProblem> problems) {
    JsonArray array = new JsonArray();
    for (ConfigProblem problem : problems) {
      String severity = problem.severity().name().toLowerCase(Locale.ROOT);
      array.add(new RecordWriter().record(problem).put("severity", severity));
    }
    return array.encodePrettily();
  }
}

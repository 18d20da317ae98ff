package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code berth config}: what was declared, as it was submitted. */
@Command(
    name = "config",
    header = "Prints the applications' configuration as it was submitted.",
    description = {
      "A YAML document for each application, as entries of applications in a file. What was not"
          + " said in the file is not said here; the values in effect are in berth status --json."
    },
    exitCodeList = {
      "0:printed",
      "1:there is no application of this name",
      "2:wrong usage",
      "3:no admin server answers at the address"
    },
    footer = {
      "  berth config",
      "  berth config shop",
      "  berth config --json | jq '.[].deployments'"
    })
final class ConfigCommand extends AdminCommand {
  private static final String BETWEEN = "\n---\n\n";

  @Parameters(paramLabel = "APP", arity = "0..1", description = "This application only.")
  private @Nullable String only;

  @Option(names = "--json", description = "Print a JSON array of them.")
  private boolean json;

  ConfigCommand(Surroundings around) {
    super(around);
  }

  @Override
  int run(PrintWriter out) throws InterruptedException {
    ServeStatus serve = server.status();
    if (only != null && serve.application(only) == null) {
      server.say(StatusCommand.noSuch(only, serve));
      return ExitCode.SOFTWARE;
    }
    List<JsonObject> configs = new ArrayList<>();
    for (ServeStatus.Application each : serve.shown(only)) {
      if (each.json().getValue("config") instanceof JsonObject config) {
        configs.add(config);
      }
    }
    if (json) {
      out.println(AdminServer.printable(new JsonArray(configs).encodePrettily()));
    } else {
      out.print(
          AdminServer.printable(
              String.join(BETWEEN, configs.stream().map(ConfigCommand::yaml).toList())));
    }
    return ExitCode.OK;
  }

  private static String yaml(JsonObject config) {
    DumpSettings settings =
        DumpSettings.builder()
            .setDefaultFlowStyle(FlowStyle.BLOCK)
            .setUseUnicodeEncoding(true)
            .setSplitLines(false)
            .build();
    return new Dump(settings).dumpToString(plain(config));
  }

  /** As the collections that YAML is written of. */
  private static @Nullable Object plain(@Nullable Object value) {
    if (value instanceof JsonObject object) {
      Map<String, @Nullable Object> plain = new LinkedHashMap<>();
      object.forEach(entry -> plain.put(entry.getKey(), plain(entry.getValue())));
      return plain;
    }
    if (value instanceof JsonArray array) {
      List<@Nullable Object> plain = new ArrayList<>();
      array.forEach(item -> plain.add(plain(item)));
      return plain;
    }
    return value;
  }
}

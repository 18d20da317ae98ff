package dev.berth.cli;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.schema.CoreSchema;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Command {@code berth config}: prints the declared configuration as submitted. */
@Command(
    name = "config",
    header = "Prints the configuration of the applications as submitted.",
    description = {
      "The output is a file for berth deploy; deploying it changes nothing. Paths of jars are"
          + " absolute. Keys that were not submitted are omitted; berth status --json shows the"
          + " values in effect."
    },
    exitCodeList = {"0:printed", "1:no such application"},
    footer = {
      "  berth config",
      "  berth config echo > echo.yaml",
      "  berth config --json | jq '.applications[].deployments'"
    })
final class ConfigCommand extends AdminCommand {
  /** Control characters that JSON leaves unescaped. */
  private static final Pattern OBEYED = Pattern.compile("[\\x{7f}-\\x{9f}]");

  @Parameters(paramLabel = "APP", arity = "0..1", description = "Application name. Default: all")
  private @Nullable String only;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    List<String> named = only == null ? List.of() : List.of(only);
    ServeStatus serve = server.status(named, List.of(), List.of());
    List<Object> configs =
        serve.shown(only).stream()
            .map(each -> each.json().getValue("config"))
            .filter(JsonObject.class::isInstance)
            .toList();
    JsonObject file = new JsonObject();
    if (only == null && serve.targetCapacity() != null) {
      file.put("target_capacity", serve.targetCapacity());
    }
    file.put("applications", new JsonArray(configs));
    out.print(json ? escaped(file.encodePrettily()) + "\n" : yaml(file));
  }

  /** Returns equivalent JSON without control characters. */
  private static String escaped(String json) {
    return OBEYED
        .matcher(json)
        .replaceAll(found -> "\\\\u%04x".formatted((int) found.group().charAt(0)));
  }

  private static String yaml(JsonObject config) {
    DumpSettings settings =
        DumpSettings.builder()
            .setDefaultFlowStyle(FlowStyle.BLOCK)
            .setSchema(new CoreSchema()) // as the reader: else ~ and 0x1f would be unquoted
            .setUseUnicodeEncoding(true)
            .setSplitLines(false)
            .build();
    return new Dump(settings)
        .dumpToString(new JsonObject(config.encode()).getMap()); // plain collections at all levels
  }
}

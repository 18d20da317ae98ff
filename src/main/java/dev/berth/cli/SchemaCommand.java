package dev.berth.cli;

import dev.berth.config.ServeConfig;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import picocli.CommandLine.Command;

/** Command {@code berth schema}: prints the JSON Schema of a configuration, for editors. */
@Command(
    name = "schema",
    header = "Prints the JSON Schema of a configuration, for editors.",
    description = {
      "The schema applies the same rules to each value as berth validate. Only berth validate"
          + " checks rules over several keys, files that must exist, and the code of applications.",
      "Editors with yaml-language-server find the schema by a comment in the file: #"
          + " yaml-language-server: $schema=berth.schema.json"
    },
    exitCodeList = {"0:printed", "2:wrong usage"},
    footer = {"  berth schema > berth.schema.json"})
final class SchemaCommand extends CliCommand {
  @Override
  void run(PrintWriter out) {
    out.println(new JsonObject(ServeConfig.schema()).encodePrettily());
  }
}

package dev.berth.cli;

import dev.berth.config.ServeConfig;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code berth schema}: the JSON Schema of a configuration, for editors. */
@Command(
    name = "schema",
    header = "Prints the JSON Schema of a configuration, for editors.",
    description = {
      "It says of each value what berth validate says. Left to berth validate are rules over"
          + " several keys, files that must exist, and the code of applications.",
      "An editor that speaks to yaml-language-server takes it from a comment in the file:"
          + " # yaml-language-server: $schema=berth.schema.json"
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:printed", "2:wrong usage"},
    footerHeading = "%nExamples:%n",
    footer = {"  berth schema > berth.schema.json"})
final class SchemaCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    spec.commandLine().getOut().println(new JsonObject(ServeConfig.schema()).encodePrettily());
    return ExitCode.OK;
  }
}

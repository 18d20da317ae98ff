package dev.berth.cli;

import dev.berth.dialect.ApiKeys;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Command {@code berth key}: commands about API keys. Subcommands do the work. */
@Command(
    name = "key",
    header = "Creates API keys for the clients of berth:openai applications.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeList = {"0:success", "2:wrong usage"},
    footer = {"  berth key new alice", "  berth key new --help"},
    subcommands = KeyCommand.KeyNew.class)
final class KeyCommand extends CliCommand {
  /** Command {@code berth key new}: prints a key and its line for the file of keys. */
  @Command(
      name = "new",
      header = "Creates a key, and prints it with its line for the file of keys.",
      description = {
        "The client sends the key as Authorization: Bearer KEY or x-api-key: KEY. Append the line to"
            + " the file that berth.openai.api_keys_file names, with mode 0600, and restart the"
            + " instance. The line has only the SHA-256 of the key, so that no command can show the"
            + " key again."
      },
      exitCodeList = {"0:printed", "2:wrong usage"},
      footer = {
        "  berth key new alice",
        "  berth key new batch-jobs --models smol,gpt-4o-mini",
        "  berth key new alice --json > alice.json"
      })
  static final class KeyNew extends CliCommand {
    private static final int RANDOM_BYTES = 16; // 128 bits
    private static final String PREFIX = "sk-berth-";

    @Parameters(
        paramLabel = "ID",
        description = "Name of the client in logs and metrics: 1 to 64 letters, digits, . _ or -")
    private String id;

    @Option(
        names = "--models",
        paramLabel = "NAME",
        split = ",",
        defaultValue = ApiKeys.ALL_MODELS,
        description = "Models that the key may use. Default: ${DEFAULT-VALUE}, which is all.")
    private List<String> models;

    @Option(names = "--json", description = "Prints the key and the line as JSON.")
    private boolean json;

    @Override
    void run(PrintWriter out) {
      if (!ApiKeys.isId(id)) {
        throw wrong("ID: " + id + " (expected: 1 to 64 letters, digits, . _ or -)");
      }
      if (!ApiKeys.areModels(Set.copyOf(models))) {
        throw wrong("--models: " + String.join(",", models) + " (expected: names of models, or *)");
      }
      byte[] random = new byte[RANDOM_BYTES];
      new SecureRandom().nextBytes(random);
      String key = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
      String line = ApiKeys.line(id, key, models);
      show(
          json,
          new JsonObject().put("id", id).put("key", key).put("line", line),
          () ->
              List.of(
                  "Key for the client:",
                  "  " + key,
                  "Line for the file of berth.openai.api_keys_file:",
                  "  " + line));
    }
  }
}

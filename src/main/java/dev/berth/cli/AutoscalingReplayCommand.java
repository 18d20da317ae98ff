package dev.berth.cli;

import dev.berth.config.ConfigException;
import dev.berth.node.scaling.ScalingReplay;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Command {@code berth autoscaling replay}: replays a recorded load under other rules, without an
 * instance.
 */
@Command(
    name = "replay",
    header = "Shows the decisions that other rules would make for a recorded load.",
    description = {
      "FILE is written by an instance with berth.autoscaling.record; FILE.1 is read before it. The"
          + " load is used as recorded, although fewer replicas would have made more requests wait."
          + " Custom policies of applications are not called."
    },
    exitCodeList = {
      "0:shown",
      "1:the file cannot be read, or has no record of the deployment",
      "2:wrong usage, or a key with an invalid value"
    },
    footer = {
      "  berth autoscaling replay scaling.jsonl --set target_ongoing_requests=4",
      "  berth autoscaling replay scaling.jsonl --json \\",
      "    --set berth.autoscaling.panic_window_s=6"
    })
final class AutoscalingReplayCommand extends CliCommand {
  private static final int MAX_ROWS = 24;

  @Parameters(paramLabel = "FILE", description = "File of recorded load.")
  private Path file;

  @Mixin private ConfigSource.ConfigOverrides changes = new ConfigSource.ConfigOverrides();

  @Option(names = "--app", paramLabel = "NAME", description = "Name of the application.")
  private @Nullable String application;

  @Option(names = "--deployment", paramLabel = "NAME", description = "Name of the deployment.")
  private @Nullable String deployment;

  @Option(
      names = "--start-s",
      paramLabel = "SECONDS",
      defaultValue = "1",
      description = "Seconds from request to readiness of a replica. Default: ${DEFAULT-VALUE}")
  private double startSeconds;

  @Option(names = "--json", description = "Prints every change of the number as JSON.")
  private boolean json;

  @Override
  void run(PrintWriter out) {
    Duration start = Duration.ofMillis(Math.max(0, Math.round(startSeconds * 1e3)));
    JsonObject both;
    try {
      both = new ScalingReplay(file).run(application, deployment, changes.with(List.of()), start);
    } catch (ConfigException refused) {
      refused.problems().stream()
          .map(each -> each.toString().replace(ScalingReplay.ENTRY, ""))
          .forEach(spec.commandLine().getErr()::println);
      throw new CommandExitException(ExitCode.USAGE);
    } catch (IOException unreadable) {
      throw failure(file + ": " + unreadable + " (expected: a readable file)");
    } catch (IllegalArgumentException none) {
      throw failure(String.valueOf(none.getMessage()));
    }
    if (both.getInteger("unreadable") > 0) {
      say(file + ": " + both.getValue("unreadable") + " unreadable lines skipped");
    }
    show(json, both, () -> table(both).lines());
  }

  private static Table table(JsonObject both) {
    JsonObject recorded = both.getJsonObject("recorded");
    JsonObject changed = both.getJsonObject("changed");
    long from = both.getLong("from_ms");
    long step = Math.max(1_000, (both.getLong("to_ms") - from) / MAX_ROWS / 1_000 * 1_000);
    Table table = new Table("|as recorded|changed");
    List<String> last = List.of();
    for (long at = from; at <= both.getLong("to_ms"); at += step) {
      List<String> now = List.of(at(recorded, at), at(changed, at));
      if (!now.equals(last)) {
        table.row(Instant.ofEpochMilli(at), now.get(0), now.get(1));
      }
      last = now;
    }
    for (String total : List.of("replica_seconds", "seconds_over_target", "late_request_seconds")) {
      String before = ServeStatus.figure(recorded.getValue(total));
      String after = ServeStatus.figure(changed.getValue(total));
      table.row(total.replace('_', ' '), before, after);
    }
    return table;
  }

  /** Returns the running and the wanted replicas at a time. */
  private static String at(JsonObject outcome, long atMs) {
    return ServeStatus.list(outcome, "points").stream()
        .filter(point -> point.getLong("at_ms") <= atMs)
        .map(point -> point.getValue("running") + "/" + point.getValue("wanted"))
        .reduce("", (before, last) -> last);
  }
}

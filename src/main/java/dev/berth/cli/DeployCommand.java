package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_NOT_FOUND;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeployPayload;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Command {@code berth deploy}: declares the applications of a file to a running instance. */
@Command(
    name = "deploy",
    header = "Declares the applications of a file to a running instance.",
    description = {
      "The file is checked first, as by berth validate, except for checks that need the code. The"
          + " instance accepts all of it or nothing, persists it and applies it: new replicas"
          + " replace old ones, one by one. Applications that this file named before and no longer"
          + " names are deleted, unless deployed by other means since. Others stay unless --prune"
          + " deletes them; --app deploys only one.",
      "Unless --set changes it, the file is identified by host and real path: an instance that"
          + " starts with the same file can then find the changes in it.",
      "http_options, logging_config and berth of the file apply at the start of an instance and are"
          + " not sent. Relative paths of jars become absolute: the instance must be able to read"
          + " them. A cluster node, and any instance with --upload, is sent the jars that it lacks,"
          + " also with --dry-run; unused jars are deleted after an hour."
    },
    exitCodeList = {
      "0:accepted; with --wait, every application runs",
      "1:refused or not confirmed; or with --wait: an application failed, and the cause is shown",
      "2:wrong usage, a configuration with problems, or --prune with neither -y nor a terminal to"
          + " confirm on; nothing was changed",
      "4:with --wait: not every application runs in time; the instance continues"
    },
    footer = {
      "  berth deploy conf/quickstart.yaml --wait",
      "  berth deploy conf/quickstart.yaml --prune --dry-run",
      "  berth deploy conf/quickstart.yaml --app echo \\",
      "    --set applications.echo.deployments.echo.num_replicas=2",
      "  BERTH_TOKEN=secret berth deploy conf/quickstart.yaml"
    })
final class DeployCommand extends MutatingCommand {
  private static final String ALL = "/api/v1/applications";
  private static final String KEPT = "kept";
  private static final String PRUNED = "pruned";
  private static final Set<String> GONE_OR_OTHERS = Set.of("deleted", PRUNED, KEPT);

  @Mixin private ConfigSource source;

  @Option(
      names = "--app",
      paramLabel = "NAME",
      description = "Name of the only application to deploy; the others stay unchanged.")
  private @Nullable String only;

  @Option(names = "--dry-run", description = "Shows the changes without making them.")
  private boolean dryRun;

  @Option(
      names = "--upload",
      description = "Sends the jars, for an instance that cannot read their paths.")
  private boolean upload;

  @Option(
      names = "--prune",
      description =
          "Deletes every application that the file does not name, also those declared by other"
              + " means. Asks for confirmation on a terminal.")
  private boolean prune;

  @Option(
      names = {"-y", "--yes"},
      description = "Deletes without confirmation.")
  private boolean yes;

  private final JarUploads uploads = new JarUploads();

  @Override
  void run(PrintWriter out) throws InterruptedException {
    DeployPayload submission = source.submission();
    submission.config().warnings().forEach(spec.commandLine().getErr()::println);
    sayNotSent(submission.leftOut());
    if (only != null && !submission.applications().containsKey(only)) {
      throw wrong(
          "--app: %s (expected: one of %s)"
              .formatted(only, String.join(", ", submission.applications().keySet())));
    }
    if (only != null && prune) {
      throw wrong("--prune: with --app (expected: only one of them)");
    }
    deploy(submission, out);
  }

  private void deploy(DeployPayload submission, PrintWriter out) throws InterruptedException {
    server.deploys(submission, only);
    sendJars(submission, out);
    String question = prune ? "?prune=all" : "";
    if (prune && !yes && !dryRun) {
      JsonObject plan = put(submission, "?prune=all&dry_run=true");
      confirm(names(plan, PRUNED), out);
      question += "&revision=" + plan.getValue("revision"); // the confirmed revision
    }
    if (dryRun) {
      question += (prune ? "&" : "?") + "dry_run=true";
    }
    JsonObject outcome = put(submission, question);
    if (!json) {
      tell(outcome, out);
    }
    ChangeOutcome end = dryRun ? ChangeOutcome.ACCEPTED : await(outcome, out);
    if (json) {
      print(outcome, end, out);
    }
    end.end();
  }

  private JsonObject put(DeployPayload submission, String query) throws InterruptedException {
    String path = only == null ? ALL : ALL + "/" + AdminHttpClient.encoded(only);
    JsonObject declared =
        new JsonObject(only == null ? submission.document() : submission.applications().get(only));
    String sent = uploads.jars.inPlaceOfPaths(declared).encode();
    return server.required(server.send("PUT", path + query, sent), "applications", JsonArray.class);
  }

  private void sendJars(DeployPayload submission, PrintWriter out) throws InterruptedException {
    for (ApplicationConfig each : submission.config().applications()) {
      boolean deployed = only == null || only.equals(each.name());
      for (Path jar : deployed ? each.jars() : List.<Path>of()) {
        if (!upload && server.get("/api/v1/cluster").statusCode() == HTTP_NOT_FOUND) {
          return;
        }
        upload = true;
        if (uploads.send(jar, server) && !json) {
          out.println(jar + ": sent");
        }
      }
    }
  }

  private static List<JsonObject> changes(JsonObject outcome) {
    return ServeStatus.list(outcome, "applications");
  }

  private static List<String> names(JsonObject outcome, String word) {
    return changes(outcome).stream()
        .filter(each -> word(each).equals(word))
        .map(each -> Table.oneLine(name(each)))
        .toList();
  }

  private static String name(JsonObject change) {
    return String.valueOf(change.getValue("name"));
  }

  private static String word(JsonObject change) {
    return String.valueOf(change.getValue("change")).toLowerCase(Locale.ROOT);
  }

  private void confirm(List<String> more, PrintWriter out) {
    if (more.isEmpty()) {
      return;
    }
    String names = String.join(", ", more);
    requireTerminal("--prune would also delete " + names + ", and there is no terminal to ask on");
    if (!around().agrees("Also delete " + names + " of " + server.address + "?", out)) {
      throw failure("nothing was deployed");
    }
  }

  private void tell(JsonObject outcome, PrintWriter out) {
    out.println(source.file + (dryRun ? ": valid, and would be:" : ": accepted"));
    for (JsonObject each : changes(outcome)) {
      if (!word(each).equals(KEPT)) {
        out.println("  " + Table.oneLine(name(each)) + ": " + word(each));
      }
    }
    List<String> kept = names(outcome, KEPT);
    if (!kept.isEmpty()) {
      out.println(
          "  retained, since not only this file declared them (--prune deletes them): "
              + String.join(", ", kept));
    }
    if (!dryRun && !wait) {
      out.println("The instance applies it now; see: berth status --watch");
    }
    out.flush();
  }

  private ChangeOutcome await(JsonObject deployed, PrintWriter out) throws InterruptedException {
    Map<String, Long> revisions = new LinkedHashMap<>();
    for (JsonObject each : changes(deployed)) {
      if (!GONE_OR_OTHERS.contains(word(each))
          && each.getValue("revision") instanceof Number revision) {
        revisions.put(name(each), revision.longValue());
      }
    }
    ChangeOutcome outcome = await(new WaitCondition.RunningCondition(revisions), out);
    if (outcome.word().equals("reached") && !json) {
      out.println(revisions.size() == 1 ? "It runs." : "All " + revisions.size() + " run.");
    }
    return outcome;
  }

  private void print(JsonObject deployed, ChangeOutcome outcome, PrintWriter out) {
    ServeStatus last = outcome.last();
    JsonArray applications = new JsonArray();
    for (JsonObject each : changes(deployed)) {
      JsonObject application = each.copy().put("change", word(each));
      ServeStatus.ReportedApplication found = last == null ? null : last.application(name(each));
      if (found != null) {
        application.put("status", found.status()).put("message", server.located(found.message()));
      }
      applications.add(application);
    }
    String word = dryRun ? "dry_run" : outcome.word();
    print(
        new JsonObject()
            .put("outcome", word)
            .put("causes", causes(outcome))
            .put("applications", applications));
  }
}

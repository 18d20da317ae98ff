package dev.berth.cli;

import dev.berth.config.ConfigException;
import dev.berth.config.Submission;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** {@code berth deploy}: declares the applications of a file to an instance that runs. */
@Command(
    name = "deploy",
    header = "Declares the applications of a file to an instance that runs.",
    description = {
      "The file is checked first, as berth validate does, but for what only the code can tell. The"
          + " instance takes all of it or nothing, keeps it, and makes it true: new code beside"
          + " the old, replica by replica. Applications that it runs and the file does not name are"
          + " deleted; with --app no other application is touched.",
      "Which file it was, its host and its real path, is sent with it unless --set changes it: an"
          + " instance that starts with this file tells by it what the file says anew.",
      "http_options, logging_config and berth of the file hold for an instance from its start, and"
          + " are not sent. Relative paths of jars become absolute: the instance must see them"
          + " there."
    },
    exitCodeList = {
      "0:accepted; with --wait, every application runs",
      "1:refused, or with --wait, an application did not come to run; the cause is said",
      "2:wrong usage, or a configuration with problems; nothing was changed",
      "3:no admin server answers at the address",
      "4:with --wait, not every application runs in time; the instance goes on"
    },
    footer = {
      "  berth deploy conf/quickstart.yaml --wait",
      "  berth deploy serve.yaml --dry-run",
      "  berth deploy serve.yaml --app shop --set applications.shop.args.currency=EUR",
      "  berth deploy a.yaml --address https://10.0.0.7:8265 --token-file token"
    })
final class DeployCommand extends ChangeCommand {
  private static final String ALL = "/api/serve/applications/";
  private static final String CHANGED = "changed";
  private static final String SAME = "same configuration";
  private static final Set<String> KEPT = Set.of(CHANGED, SAME);

  @Mixin private ConfigSource source;

  @Option(
      names = "--app",
      paramLabel = "NAME",
      description = "Only this application of the file; the others stay as they are.")
  private @Nullable String only;

  @Option(
      names = "--dry-run",
      description = "Say what would be new, changed or deleted, and change nothing.")
  private boolean dryRun;

  DeployCommand(Surroundings around) {
    super(around);
  }

  @Override
  int run(PrintWriter out) throws InterruptedException {
    waiting.timeout(); // is checked
    Submission submission;
    try {
      submission = source.submission();
    } catch (ConfigException refused) {
      ValidateCommand.print(refused, spec.commandLine().getErr());
      return ExitCode.USAGE;
    }
    submission.config().warnings().forEach(spec.commandLine().getErr()::println);
    if (!submission.leftOut().isEmpty()) {
      server.say(
          String.join(", ", submission.leftOut())
              + " of the file: not sent, they hold for an instance from its start");
    }
    if (only != null && !submission.applications().containsKey(only)) {
      throw new ParameterException(
          spec.commandLine(),
          "--app: %s (expected: one of %s)"
              .formatted(only, String.join(", ", submission.applications().keySet())));
    }
    return deploy(submission, out);
  }

  private int deploy(Submission submission, PrintWriter out) throws InterruptedException {
    ServeStatus running = server.status();
    Map<String, String> changes = changes(submission, running);
    ServeStatus after = null;
    if (!dryRun) {
      HttpResponse<String> accepted = put(submission);
      if (accepted.statusCode() != 200) {
        return server.refusal(accepted);
      }
      after = lookAgain();
      correct(changes, running, after);
    }
    if (!json) {
      tell(changes, out);
    }
    GoalWatch.Outcome outcome = null;
    if (waiting.isAsked() && !dryRun) {
      outcome = await(changes, after, out);
    }
    if (json) {
      print(changes, outcome, out);
    }
    return outcome == null ? ExitCode.OK : outcome.exitCode();
  }

  private HttpResponse<String> put(Submission submission) throws InterruptedException {
    server.deploys(submission.config().origin().uri());
    return only == null
        ? server.send("PUT", ALL, new JsonObject(submission.document()).encode())
        : server.send(
            "PUT",
            "/api/v1/applications/" + AdminServer.encoded(only),
            new JsonObject(submission.applications().get(only)).encode());
  }

  /** Null when nothing answers: what was asked for is accepted all the same. */
  private @Nullable ServeStatus lookAgain() throws InterruptedException {
    try {
      return ServeStatus.of(AdminServer.json(server.get(ServeStatus.PATH).body()));
    } catch (AdminServer.NoAnswer said) {
      return null;
    }
  }

  /** What becomes of each application, as far as its configuration tells. */
  private Map<String, String> changes(Submission submission, ServeStatus running) {
    Map<String, @Nullable Object> configs = new LinkedHashMap<>();
    for (ServeStatus.Application each : running.applications()) {
      if (!each.status().equals("DELETING")) {
        configs.put(each.name(), each.json().getValue("config"));
      }
    }
    Map<String, String> changes = new LinkedHashMap<>();
    submission
        .applications()
        .forEach(
            (name, entry) -> {
              if (only == null || only.equals(name)) {
                boolean same =
                    new JsonObject(new JsonObject(entry).encode()).equals(configs.get(name));
                changes.put(name, !configs.containsKey(name) ? "new" : same ? SAME : CHANGED);
              }
            });
    if (only == null) {
      configs.keySet().forEach(name -> changes.putIfAbsent(name, "deleted"));
    }
    return changes;
  }

  /** The same configuration with other bytes in its jars is a change, which the instance sees. */
  private static void correct(
      Map<String, String> changes, ServeStatus before, @Nullable ServeStatus after) {
    changes.replaceAll(
        (name, change) -> {
          ServeStatus.Application was = before.application(name);
          ServeStatus.Application is = after == null ? null : after.application(name);
          boolean comparable = was != null && is != null && KEPT.contains(change);
          return !comparable ? change : is.revision() > was.revision() ? CHANGED : "unchanged";
        });
  }

  private void tell(Map<String, String> changes, PrintWriter out) {
    out.println(source.file() + (dryRun ? ": valid, and would be:" : ": accepted"));
    changes.forEach(
        (name, change) -> out.println("  " + StatusTable.oneLine(name) + ": " + change));
    if (!dryRun && !waiting.isAsked()) {
      out.println("The instance makes it true now; see: berth status --watch");
    }
    out.flush();
  }

  private GoalWatch.Outcome await(
      Map<String, String> changes, @Nullable ServeStatus serve, PrintWriter out)
      throws InterruptedException {
    Map<String, Long> revisions = new LinkedHashMap<>();
    changes.forEach(
        (name, change) -> {
          if (!change.equals("deleted")) {
            ServeStatus.Application found = serve == null ? null : serve.application(name);
            revisions.put(name, found == null ? 0L : found.revision());
          }
        });
    GoalWatch.Outcome outcome = await(new Goal.Running(revisions), out);
    if (outcome.exitCode() == ExitCode.OK && !json) {
      out.println(revisions.size() == 1 ? "It runs." : "All " + revisions.size() + " run.");
    }
    return outcome;
  }

  private void print(
      Map<String, String> changes, GoalWatch.@Nullable Outcome outcome, PrintWriter out) {
    ServeStatus last = outcome == null ? null : outcome.last();
    JsonArray applications = new JsonArray();
    changes.forEach(
        (name, change) -> {
          JsonObject application = new JsonObject().put("name", name).put("change", change);
          ServeStatus.Application found = last == null ? null : last.application(name);
          if (found != null) {
            application.put("status", found.status()).put("message", found.message());
          }
          applications.add(application);
        });
    out.println(
        AdminServer.printable(
            new JsonObject()
                .put("outcome", outcome != null ? outcome.word() : dryRun ? "dry_run" : "accepted")
                .put("causes", causes(outcome))
                .put("applications", applications)
                .encodePrettily()));
  }
}

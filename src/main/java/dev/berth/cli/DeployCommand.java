package dev.berth.cli;

import dev.berth.config.ConfigException;
import dev.berth.config.Submission;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

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
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:accepted; with --wait, every application runs",
      "1:refused, or with --wait, an application did not come to run; the cause is said",
      "2:wrong usage, or a configuration with problems; nothing was changed",
      "3:no admin server answers at the address",
      "4:with --wait, not every application runs in time; the instance goes on"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  berth deploy conf/quickstart.yaml --wait",
      "  berth deploy serve.yaml --dry-run",
      "  berth deploy serve.yaml --app shop --set applications.shop.args.currency=EUR",
      "  berth deploy a.yaml --address https://10.0.0.7:8265 --token-file token"
    })
final class DeployCommand implements Callable<Integer> {
  private static final String ALL = "/api/serve/applications/";
  private static final String JSON = "application/json";
  private static final String CHANGED = "changed";
  private static final String SAME = "same configuration";
  private static final Set<String> KEPT = Set.of(CHANGED, SAME);

  private final Surroundings around;

  @Spec private CommandSpec spec;

  @Mixin private ConfigSource source;

  @Mixin private final AdminServer server;

  @Option(
      names = "--app",
      paramLabel = "NAME",
      description = "Only this application of the file; the others stay as they are.")
  private @Nullable String only;

  @Option(
      names = "--dry-run",
      description = "Say what would be new, changed or deleted, and change nothing.")
  private boolean dryRun;

  @Mixin private WaitOptions waiting;

  @Option(names = "--json", description = "Print what became of it as JSON, at the end.")
  private boolean json;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  private boolean help;

  DeployCommand(Surroundings around) {
    this.around = around;
    this.server = new AdminServer(around);
  }

  @Override
  public Integer call() throws InterruptedException {
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
          "--app: "
              + only
              + " (expected: one of "
              + String.join(", ", submission.applications().keySet())
              + ")");
    }
    return deploy(submission);
  }

  private int deploy(Submission submission) throws InterruptedException {
    HttpResponse<String> before = server.get(ServeStatus.PATH, JSON);
    if (before == null) {
      return AdminServer.CANNOT_REACH;
    }
    JsonObject running = before.statusCode() == 200 ? AdminServer.json(before.body()) : null;
    if (ServeStatus.of(running) == null || running == null) {
      return server.refuse(before);
    }
    Map<String, String> changes = changes(submission, running);
    ServeStatus after = null;
    if (!dryRun) {
      HttpResponse<String> accepted = put(submission);
      if (accepted == null) {
        return AdminServer.CANNOT_REACH;
      }
      if (accepted.statusCode() != 200) {
        return server.refusal(accepted);
      }
      HttpResponse<String> look = server.get(ServeStatus.PATH, JSON);
      after = look == null ? null : ServeStatus.of(AdminServer.json(look.body()));
      correct(changes, ServeStatus.of(running), after);
    }
    if (!json) {
      tell(changes);
    }
    Waiting.Outcome outcome = null;
    if (waiting.isAsked() && !dryRun) {
      outcome = await(changes, after);
    }
    if (json) {
      print(changes, outcome);
    }
    return outcome == null ? ExitCode.OK : outcome.exitCode();
  }

  private @Nullable HttpResponse<String> put(Submission submission) throws InterruptedException {
    server.deploys(submission.config().origin().uri());
    return only == null
        ? server.send("PUT", ALL, new JsonObject(submission.document()).encode(), JSON)
        : server.send(
            "PUT",
            "/api/v1/applications/" + AdminServer.encoded(only),
            new JsonObject(submission.applications().get(only)).encode(),
            JSON);
  }

  /** What becomes of each application, as far as its configuration tells. */
  private Map<String, String> changes(Submission submission, JsonObject running) {
    Map<String, @Nullable Object> configs = new LinkedHashMap<>();
    for (Object each : running.getJsonArray("applications")) {
      if (each instanceof JsonObject application && !isGoing(application)) {
        configs.put(String.valueOf(application.getValue("name")), application.getValue("config"));
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
      Map<String, String> changes, @Nullable ServeStatus before, @Nullable ServeStatus after) {
    changes.replaceAll(
        (name, change) -> {
          ServeStatus.Application was = before == null ? null : before.application(name);
          ServeStatus.Application is = after == null ? null : after.application(name);
          boolean comparable = was != null && is != null && KEPT.contains(change);
          return !comparable ? change : is.revision() > was.revision() ? CHANGED : "unchanged";
        });
  }

  private static boolean isGoing(JsonObject application) {
    return "DELETING".equals(application.getValue("status"));
  }

  private void tell(Map<String, String> changes) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(source.file() + (dryRun ? ": valid, and would be:" : ": accepted"));
    changes.forEach(
        (name, change) -> out.println("  " + StatusTable.oneLine(name) + ": " + change));
    if (!dryRun && !waiting.isAsked()) {
      out.println("The instance makes it true now; see: berth status --watch");
    }
    out.flush();
  }

  private Waiting.Outcome await(Map<String, String> changes, @Nullable ServeStatus serve)
      throws InterruptedException {
    Map<String, Long> revisions = new LinkedHashMap<>();
    changes.forEach(
        (name, change) -> {
          if (!change.equals("deleted")) {
            ServeStatus.Application found = serve == null ? null : serve.application(name);
            revisions.put(name, found == null ? 0L : found.revision());
          }
        });
    Waiting.Outcome outcome =
        new Waiting(server, around)
            .until(
                new Goal.Running(revisions),
                waiting.timeout(),
                json ? null : spec.commandLine().getOut());
    if (outcome.exitCode() == ExitCode.OK && !json) {
      spec.commandLine()
          .getOut()
          .println(revisions.size() == 1 ? "It runs." : "All " + revisions.size() + " run.");
    }
    return outcome;
  }

  private void print(Map<String, String> changes, Waiting.@Nullable Outcome outcome) {
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
    PrintWriter out = spec.commandLine().getOut();
    out.println(
        AdminServer.printable(
            new JsonObject()
                .put("outcome", outcome != null ? outcome.word() : dryRun ? "dry_run" : "accepted")
                .put(
                    "causes",
                    new JsonArray(outcome == null ? List.of() : List.copyOf(outcome.causes())))
                .put("applications", applications)
                .encodePrettily()));
    out.flush();
  }
}

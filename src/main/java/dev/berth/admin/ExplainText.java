package dev.berth.admin;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.HandlerTime;
import dev.berth.protocol.RequestFailure;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Candidate;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import dev.berth.view.RequestExplanation.RequestStep;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Explanations as text for operators: a timeline in at most {@value #WIDTH} columns of ASCII,
 * except names with other letters. Control characters in a client's text are replaced, because a
 * terminal would interpret them.
 */
final class ExplainText {
  static final int WIDTH = 100;

  private static final int BAR = 50; // columns of a bar for the total time
  private static final int STEP_CHARS = 69; // of a step in front of its detail
  private static final int DETAIL_INDENT = 17; // of a long detail, on a line of its own
  private static final int MAX_INDENT = 5 * 4; // limit of the indent of nested calls

  private final StringBuilder text = new StringBuilder();

  private ExplainText() {}

  /** Formats all records of one id, with the calls of their handlers beneath them. */
  static String of(List<RequestExplanation> sameId) {
    ExplainText made = new ExplainText();
    String between = "";
    for (ExplainTree root : ExplainTree.of(sameId)) {
      made.text.append(between);
      made.write(root, 0);
      between = "\n";
    }
    return made.text.toString();
  }

  private void write(ExplainTree tree, int indent) {
    RequestExplanation request = tree.request();
    head(request, indent);
    phases(request.phases(), indent + 2);
    candidates(request, indent + 2);
    upstreams(request, indent + 2);
    queue(request, indent + 2);
    steps(request, indent + 2);
    for (ExplainTree each : tree.made()) {
      text.append('\n');
      Duration after = Duration.between(request.arrivedAt(), each.request().arrivedAt());
      line(
          Math.min(indent + 4, MAX_INDENT),
          "called by " + request.deployment() + " at +" + micros(after.toNanos()) + " us:");
      write(each, Math.min(indent + 4, MAX_INDENT));
    }
  }

  private void head(RequestExplanation request, int indent) {
    line(indent, "request " + request.requestId() + "  " + request.request());
    String status = request.status() < 0 ? "" : ", status " + request.status();
    String maker = request.parent() == null ? "" : ", made by " + request.parent();
    line(indent + 2, request.deployment() + "  " + request.outcome() + status + maker);
    RequestFailure failure = request.failure();
    if (!failure.isNone()) {
      line(indent + 2, "failed in " + failure.deployment() + ": " + failure.type());
      if (!failure.message().isEmpty()) {
        line(indent + 4, failure.message());
      }
    }
    line(indent + 2, "at " + request.arrivedAt() + " on " + request.node());
    String overhead = micros(request.phases().overhead());
    line(
        indent + 2,
        "total " + micros(request.phases().total()) + " us, of that overhead " + overhead + " us");
  }

  private void phases(RequestPhaseTimes phases, int indent) {
    text.append('\n');
    line(indent, "phase            us      %");
    long total = Math.max(1, phases.total());
    for (Map.Entry<String, Object> phase : ServeJson.of(phases)) {
      long nanos = (Long) phase.getValue();
      if (nanos != 0 && !phase.getKey().equals("total")) {
        double share = Math.min(1, (double) nanos / total);
        String bar = "#".repeat(Math.max(1, (int) Math.round(share * BAR)));
        line(indent, format("%-8s %10s %6.1f %s", phase.getKey(), micros(nanos), 100 * share, bar));
      }
    }
  }

  private void candidates(RequestExplanation request, int indent) {
    text.append('\n');
    List<Candidate> shown = request.candidates();
    int all = request.candidatesInAll();
    String number = shown.size() + (shown.size() == all ? "" : " of " + all);
    String snapshot = request.snapshot().term() + "." + request.snapshot().counter();
    String mark = request.replicaId().isEmpty() ? "" : "; * served it";
    String policy = request.policy();
    line(
        indent, format("candidates: %s, policy %s, snapshot %s%s", number, policy, snapshot, mark));
    if (shown.isEmpty()) {
      return;
    }
    line(
        indent,
        format(CANDIDATE, "", "replica", "where", "in use", "as of", "tier", "rank", "score"));
    for (Candidate each : shown) {
      line(
          indent,
          format(
              CANDIDATE,
              each.replicaId().equals(request.replicaId()) ? "*" : "",
              clip(shortName(each.replicaId(), request.deployment()), 16),
              where(each.node(), each.loop()),
              each.ongoing() + "/" + each.maxOngoing(),
              asOf(each),
              words(each.tier()),
              each.rank() < 0 ? "-" : String.valueOf(each.rank()),
              score(each.score())));
    }
  }

  private void upstreams(RequestExplanation request, int indent) {
    String ran = request.upstreams().get(request.replicaId());
    if (!request.upstreams().isEmpty()) {
      text.append('\n');
      line(indent, "upstreams" + (ran == null ? ":" : ": ran at " + ran));
    }
    request
        .upstreams()
        .forEach(
            (replica, key) ->
                line(
                    indent + 2, format("%-16s %s", shortName(replica, request.deployment()), key)));
  }

  private static final String CANDIDATE = "%-1s %-16s %-17s %9s  %-13s %-9s %4s %8s";

  private static String asOf(Candidate candidate) {
    if (candidate.exact()) {
      return "exact";
    }
    return candidate.ageNanos() < 0
        ? "no report"
        : format("%.1f ms ago", candidate.ageNanos() / 1e6);
  }

  private static String score(double score) {
    return Math.abs(score) < Double.MAX_VALUE ? format("%.3f", score) : "-"; // such as a closed one
  }

  private void queue(RequestExplanation request, int indent) {
    text.append('\n');
    RequestExplanation.QueueWait queue = request.queue();
    line(
        indent,
        queue == null
            ? "queue: did not wait"
            : "queue: waited %s us, %s ahead on arrival, %s"
                .formatted(
                    micros(queue.waitedNanos()),
                    queue.ahead(),
                    queue.limit() < 0 ? "no limit" : "limit " + queue.limit()));
    HandlerTime.BatchPlace batch = request.batch();
    if (batch != null) {
      String waited = micros(batch.waitedNanos());
      line(
          indent,
          format(
              "batch: %s of replica %s, request %s of %s, waited %s us",
              batch.id(),
              shortName(request.replicaId(), request.deployment()),
              batch.position(),
              batch.size(),
              waited));
    }
  }

  private void steps(RequestExplanation request, int indent) {
    List<RequestStep> shown = request.steps();
    text.append('\n');
    line(indent, "steps:          us  > is a change of event loop or instance");
    String before = "";
    for (RequestStep step : shown) {
      String where = step.loop() < 0 ? "" : where(step.node(), step.loop());
      boolean fits = indent + STEP_CHARS + step.detail().length() <= WIDTH;
      boolean crossed = !where.isEmpty() && !before.isEmpty() && !where.equals(before);
      before = where.isEmpty() ? before : where;
      line(
          indent,
          format(
              "%14s %s %-16s %-17s %-16s %s",
              "+" + micros(step.atNanos()),
              crossed ? ">" : " ",
              words(step.kind()),
              where,
              clip(shortName(step.replicaId(), request.deployment()), 16),
              fits ? step.detail() : ""));
      if (!fits) {
        line(indent + DETAIL_INDENT, step.detail());
      }
    }
    if (request.stepsInAll() > shown.size()) {
      line(indent, format("%14s   and %d more", "", request.stepsInAll() - shown.size()));
    }
  }

  /** Returns the id without the deployment's name, which is shown above. */
  private static String shortName(String replicaId, DeploymentId deployment) {
    String prefix = deployment + "#";
    return replicaId.startsWith(prefix) ? replicaId.substring(prefix.length()) : replicaId;
  }

  private static String where(String node, int loop) {
    return clip(node, 13) + (loop < 0 ? "" : "/" + loop);
  }

  private static String words(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static String micros(long nanos) {
    return format("%.1f", nanos / 1e3);
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  private void line(int indent, String line) {
    text.append(" ".repeat(indent)).append(clip(line.stripTrailing(), WIDTH - indent)).append('\n');
  }

  private static String clip(String text, int most) {
    StringBuilder shown = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      if (shown.length() == most) {
        return shown.replace(most - 2, most, "..").toString();
      }
      char c = text.charAt(i);
      shown.append(isShown(c) ? c : '?');
    }
    return shown.toString();
  }

  /** Returns whether a character is neither a control character nor changes the text direction. */
  private static boolean isShown(char c) {
    int type = Character.getType(c);
    return type != Character.CONTROL
        && type != Character.FORMAT
        && type != Character.LINE_SEPARATOR
        && type != Character.PARAGRAPH_SEPARATOR;
  }
}

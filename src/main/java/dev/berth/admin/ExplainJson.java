package dev.berth.admin;

import dev.berth.protocol.HandlerTime.BatchPlace;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Candidate;
import dev.berth.view.RequestExplanation.QueueWait;
import dev.berth.view.RequestExplanation.RequestPhaseTimes;
import dev.berth.view.RequestExplanation.RequestStep;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Explanations as JSON for programs. Times are microseconds, with the nanoseconds as a fraction.
 */
final class ExplainJson {
  private ExplainJson() {}

  /** Returns a list entry. */
  static JsonObject summary(RequestExplanation request) {
    return head(request)
        .put("total_us", micros(request.phases().total()))
        .put("overhead_us", micros(request.phases().overhead()))
        .put("batch", of(request.batch()));
  }

  static JsonObject of(RequestExplanation request) {
    return head(request)
        .put("node", request.node())
        .put("policy", request.policy())
        .put("snapshot", ServeJson.of(request.snapshot()))
        .put("candidates", AdminResponses.array(request.candidates(), each -> of(each, request)))
        .put("candidates_in_all", request.candidatesInAll())
        .put("queue", of(request.queue()))
        .put("batch", of(request.batch()))
        .put("steps", AdminResponses.array(request.steps(), each -> of(each, request)))
        .put("steps_in_all", request.stepsInAll())
        .put("phases_us", of(request.phases()))
        .put("overhead_us", micros(request.phases().overhead()));
  }

  private static JsonObject head(RequestExplanation request) {
    JsonObject json = new JsonObject();
    json.put("request_id", request.requestId())
        .put("application", request.deployment().application())
        .put("deployment", request.deployment().name())
        .put("parent", request.parent() == null ? null : request.parent().toString())
        .put("request", request.request())
        .put("arrived_at", request.arrivedAt().toString())
        .put("status", request.status() < 0 ? null : request.status())
        .put("outcome", request.outcome())
        .put("replica", request.replicaId())
        .put("failure", request.failure().isNone() ? null : ServeJson.of(request.failure()));
    return withUpstream(json, request.replicaId(), request);
  }

  /** Adds the key of the upstream that a replica represents, if it represents one. */
  private static JsonObject withUpstream(
      JsonObject json, String replicaId, RequestExplanation request) {
    String key = request.upstreams().get(replicaId);
    return key == null ? json : json.put("upstream", key);
  }

  private static JsonObject of(Candidate candidate, RequestExplanation request) {
    JsonObject json = new JsonObject().put("replica", candidate.replicaId());
    return withUpstream(json, candidate.replicaId(), request)
        .put("node", candidate.node())
        .put("loop", candidate.loop() < 0 ? null : candidate.loop())
        .put("ongoing", candidate.ongoing())
        .put("max_ongoing_requests", candidate.maxOngoing())
        .put("exact", candidate.exact())
        .put("age_us", candidate.ageNanos() < 0 ? null : micros(candidate.ageNanos()))
        .put("tier", name(candidate.tier()))
        .put("rank", candidate.rank() < 0 ? null : candidate.rank())
        .put("score", Double.isFinite(candidate.score()) ? candidate.score() : null);
  }

  private static @Nullable JsonObject of(@Nullable QueueWait queue) {
    return queue == null
        ? null
        : new JsonObject()
            .put("ahead", queue.ahead())
            .put("max_queued_requests", queue.limit())
            .put("waited_us", micros(queue.waitedNanos()));
  }

  private static @Nullable JsonObject of(@Nullable BatchPlace batch) {
    return batch == null
        ? null
        : new JsonObject()
            .put("id", batch.id())
            .put("size", batch.size())
            .put("position", batch.position())
            .put("waited_us", micros(batch.waitedNanos()));
  }

  private static JsonObject of(RequestStep step, RequestExplanation request) {
    return withUpstream(new JsonObject(), step.replicaId(), request)
        .put("at_us", micros(step.atNanos()))
        .put("kind", name(step.kind()))
        .put("replica", step.replicaId())
        .put("node", step.node())
        .put("loop", step.loop() < 0 ? null : step.loop())
        .put("detail", step.detail());
  }

  /** Returns the duration of each phase, in the order of a request's path, and the total. */
  private static JsonObject of(RequestPhaseTimes phases) {
    JsonObject json = ServeJson.of(phases);
    json.getMap().replaceAll((phase, nanos) -> micros((Long) nanos));
    return json;
  }

  private static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static double micros(long nanos) {
    return nanos / 1e3;
  }
}

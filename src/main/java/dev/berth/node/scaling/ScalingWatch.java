package dev.berth.node.scaling;

import dev.berth.admin.ServeJson;
import dev.berth.api.DeploymentId;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Decided;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.metrics.MetricSeries;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Listener of the controllers' actions about autoscaling: shows them as metrics, and records them
 * if a file is configured. Confined to the control loop; the metrics are thread-safe.
 */
public final class ScalingWatch implements Consumer<ControllerAction> {

  /** Metrics of one deployment. */
  private record ScalingMetrics(Decided last, long raised, long lowered) {}

  private final Map<DeploymentId, ScalingMetrics> shown = new ConcurrentHashMap<>();
  private final @Nullable ScalingRecord record;
  private final LongSupplier nowMs;
  private final long silentNanos;

  /**
   * @param options {@code berth.autoscaling} of the instance
   * @param nowMs milliseconds since 1970
   * @param silentNanos time without a report after which an instance's load is unknown
   */
  public ScalingWatch(Settings options, LongSupplier nowMs, long silentNanos) {
    Path file = options.find(AutoscalingOptions.RECORD);
    this.record =
        file == null ? null : new ScalingRecord(file, options.get(AutoscalingOptions.RECORD_BYTES));
    this.nowMs = nowMs;
    this.silentNanos = silentNanos;
  }

  @Override
  public void accept(ControllerAction action) {
    if (action instanceof Decided decided) {
      decided(decided);
    } else if (action instanceof ControllerAction.Forget gone) {
      forget(gone.deployment());
    } else if (action instanceof ControllerAction.Rescale change && change.now() == null) {
      forget(change.deployment());
    } else if (record != null && action instanceof ControllerAction.Configure configure) {
      rules(record, configure.target().id(), configure.target().settings());
    } else if (record != null && action instanceof ControllerAction.Reported reported) {
      long at = nowMs.getAsLong();
      record.add(
          () -> {
            JsonObject batch = ServeJson.of(reported.batch());
            batch.remove("figures"); // decisions do not depend on them
            return line(at).put("batch", batch);
          });
    }
  }

  private void decided(Decided decided) {
    ScalingDecision decision = decided.decision();
    ScalingMetrics before = shown.get(decided.deployment());
    boolean repeats = before != null && decision.repeats(before.last.decision());
    int more = decision.replicas() - decision.inputs().fleet().target();
    long raised = (before == null ? 0 : before.raised) + (more > 0 ? 1 : 0);
    long lowered = (before == null ? 0 : before.lowered) + (more < 0 ? 1 : 0);
    shown.put(decided.deployment(), new ScalingMetrics(decided, raised, lowered));
    if (record != null && !repeats) {
      long at = nowMs.getAsLong();
      record.add(
          () ->
              line(at)
                  .put("deployment", ServeJson.of(decided.deployment()))
                  .put("decision", ScalingJson.of(decision, decision.atNanos(), at)));
    }
  }

  private void rules(ScalingRecord into, DeploymentId deployment, Settings settings) {
    if (!DeploymentConfig.autoscales(settings)) {
      into.head(deployment.toString(), null);
      return;
    }
    JsonObject rules =
        line(nowMs.getAsLong())
            .put("deployment", ServeJson.of(deployment))
            .put("replicas", settings.get(DeploymentConfig.NUM_REPLICAS))
            .put("silent_ms", TimeUnit.NANOSECONDS.toMillis(silentNanos))
            .put("rules", settings.get(DeploymentConfig.AUTOSCALING_CONFIG).json())
            .put("berth", settings.get(DeploymentConfig.AUTOSCALING).json());
    into.head(deployment.toString(), rules);
  }

  private static JsonObject line(long at) {
    return new JsonObject().put("at_ms", at);
  }

  private void forget(DeploymentId deployment) {
    shown.remove(deployment);
    if (record != null) {
      record.head(deployment.toString(), null);
    }
  }

  /** Shows the metrics of each deployment and of the record. */
  public void show(MetricSeries all) {
    shown.forEach(
        (id, each) -> {
          ScalingDecision last = each.last.decision();
          MetricSeries into = all.with("deployment", id.name(), "application", id.application());
          into.gauge("serve_autoscaling_target_replicas", last.replicas());
          into.gauge("serve_autoscaling_desired_replicas", last.scaled());
          into.gauge("serve_autoscaling_total_requests", last.inputs().total());
          into.gauge("serve_autoscaling_target_ongoing_requests", each.last.rules().target());
          into.counter("berth_autoscaling_upscales", each.raised);
          into.counter("berth_autoscaling_downscales", each.lowered);
          into.counter("berth_autoscaling_policy_failures", each.last.policyFailures());
          PolicyAnswered policy = each.last.policy();
          boolean ofAll = policy != null && policy.source().scope().deployment() == null;
          into.with("policy_scope", ofAll ? "application" : "deployment")
              .gauge(
                  "serve_autoscaling_policy_execution_time_ms",
                  policy == null ? 0 : policy.tookNanos() / 1e6);
          into.gauge("berth_autoscaling_unknown_instances", last.inputs().unknown());
        });
    if (record != null) {
      record.show(all);
    }
  }

  /** Writes the waiting lines, then ends the record. */
  public Future<Void> stop() {
    return record == null ? Future.succeededFuture() : record.stop();
  }
}

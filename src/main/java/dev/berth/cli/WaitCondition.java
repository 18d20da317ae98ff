package dev.berth.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Condition that a command waits for. Each new status is judged in order. */
abstract class WaitCondition {
  /** Minimum duration of an unhealthy state, after which a recoverable part counts as failed. */
  static final Duration UNHEALTHY_GRACE = Duration.ofSeconds(5);

  private final Map<String, Long> unhealthySince = new HashMap<>();
  private final Predicate<ServeStatus.ReportedApplication> shown;

  /**
   * @param shown whether the goal concerns an application
   */
  private WaitCondition(Predicate<ServeStatus.ReportedApplication> shown) {
    this.shown = shown;
  }

  /**
   * Result of a judgement.
   *
   * @param causes causes of a failure or of a delay; empty when the goal is reached
   */
  record ConditionVerdict(boolean failed, List<String> causes) {
    boolean reached() {
      return !failed && causes.isEmpty();
    }
  }

  /** Returns the applications that the goal concerns, for the display. */
  List<ServeStatus.ReportedApplication> shown(ServeStatus serve) {
    return serve.applications().stream().filter(shown).toList();
  }

  /** Judges a new status. */
  abstract ConditionVerdict judge(ServeStatus serve, long nowNanos);

  /** Returns whether a part has failed, or was unhealthy for {@link #UNHEALTHY_GRACE}. */
  boolean hasFailed(String name, String status, long nowNanos) {
    if (!status.equals(ServeStatus.UNHEALTHY)) {
      unhealthySince.remove(name);
      return status.equals(ServeStatus.DEPLOY_FAILED);
    }
    long since = unhealthySince.computeIfAbsent(name, first -> nowNanos);
    return nowNanos - since >= UNHEALTHY_GRACE.toNanos();
  }

  /**
   * Describes a deployment, with its message unless the caller has printed the message already.
   *
   * @param runs text about the running revision; may be empty
   */
  static String describe(ServeStatus.ReportedDeployment deployment, String runs, boolean said) {
    String why = said ? "" : StatusTable.reason(deployment.message());
    return deployment.status() + ", replicas " + deployment.replicasNow() + runs + why;
  }

  /** Goal that applications run in their declared revisions. */
  static final class RunningCondition extends WaitCondition {
    private final Map<String, Long> revisions;
    private final Set<String> seen = new HashSet<>();

    /**
     * @param revisions revisions by application; 0 for any
     */
    RunningCondition(Map<String, Long> revisions) {
      super(each -> revisions.containsKey(each.name()) || each.status().equals("DELETING"));
      this.revisions = revisions;
    }

    @Override
    ConditionVerdict judge(ServeStatus serve, long nowNanos) {
      List<String> failures = new ArrayList<>();
      List<String> open = new ArrayList<>();
      revisions.forEach(
          (name, revision) -> {
            ServeStatus.ReportedApplication application = serve.application(name);
            if (application == null) {
              boolean deleted = seen.contains(name);
              (deleted ? failures : open)
                  .add(name + (deleted ? ": deleted by another command" : ": not reported yet"));
              return;
            }
            seen.add(name);
            if (revision > 0 && application.revision() > revision) {
              failures.add(name + ": another command declared revision " + application.revision());
            } else if (hasFailed(name, application.status(), nowNanos)) {
              failures.addAll(causes(application));
            } else if (!application.status().equals(ServeStatus.RUNNING)) {
              open.addAll(causes(application));
            }
          });
      return failures.isEmpty()
          ? new ConditionVerdict(false, open)
          : new ConditionVerdict(true, failures);
    }

    private static List<String> causes(ServeStatus.ReportedApplication application) {
      List<String> causes = new ArrayList<>();
      String why = StatusTable.reason(application.message());
      causes.add(application.name() + ": " + application.status() + why);
      String wanted = "" + application.revision();
      boolean behind =
          application.deployments().stream()
              .anyMatch(each -> !each.revisions().isEmpty() && !each.revisions().equals(wanted));
      for (ServeStatus.ReportedDeployment each : application.deployments()) {
        boolean said = !each.message().isBlank() && application.message().contains(each.message());
        String name = application.name() + "/" + each.name() + ": ";
        if (behind && !each.revisions().isEmpty()) { // rollout in progress or frozen
          causes.add(name + describe(each, "; runs revision " + each.revisions(), said));
        } else if (!each.status().equals(ServeStatus.HEALTHY) && !said) {
          causes.add(name + describe(each, "", false));
        }
      }
      return causes;
    }
  }

  /** Goal that a deployment has a number of healthy replicas. */
  static final class ScaledCondition extends WaitCondition {
    private final String application;
    private final String deployment;
    private final @Nullable Integer replicas;

    ScaledCondition(String application, String deployment, @Nullable Integer replicas) {
      super(each -> each.name().equals(application));
      this.application = application;
      this.deployment = deployment;
      this.replicas = replicas;
    }

    @Override
    ConditionVerdict judge(ServeStatus serve, long nowNanos) {
      String name = application + "/" + deployment;
      ServeStatus.ReportedApplication within = serve.application(application);
      ServeStatus.ReportedDeployment found = within == null ? null : within.deployment(deployment);
      if (found == null) {
        return new ConditionVerdict(true, List.of(name + ": deleted by another command"));
      }
      boolean failed = hasFailed(name, found.status(), nowNanos);
      boolean reached =
          found.status().equals(ServeStatus.HEALTHY)
              && (replicas == null || found.target() == replicas)
              && found.running() == found.target();
      String cause = name + ": " + describe(found, "", false);
      return new ConditionVerdict(failed, reached ? List.of() : List.of(cause));
    }
  }
}

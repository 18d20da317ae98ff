package dev.berth.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What is waited for, and how far an instance is from it. Told of each look, one after another. */
interface Goal {
  /** How long something that can recover may be unhealthy before that counts as failed. */
  Duration UNHEALTHY_PATIENCE = Duration.ofSeconds(5);

  /**
   * What a look says.
   *
   * @param causes why it has failed, or is not reached yet; none when it is reached
   */
  record Verdict(boolean failed, List<String> causes) {
    boolean reached() {
      return !failed && causes.isEmpty();
    }
  }

  /** Those that the goal is about, for whoever watches. */
  List<ServeStatus.Application> shown(ServeStatus serve);

  /** What the last look says. */
  Verdict judge(ServeStatus serve, long nowNanos);

  /** Every one of some applications runs, in the revision that was declared. */
  final class Running implements Goal {
    private final Map<String, Long> revisions;
    private final Set<String> seen = new HashSet<>();
    private final Patience patience = new Patience();

    /**
     * @param revisions by application; 0 for any
     */
    Running(Map<String, Long> revisions) {
      this.revisions = revisions;
    }

    @Override
    public List<ServeStatus.Application> shown(ServeStatus serve) {
      return serve.applications().stream()
          .filter(each -> revisions.containsKey(each.name()) || each.status().equals("DELETING"))
          .toList();
    }

    @Override
    public Verdict judge(ServeStatus serve, long nowNanos) {
      List<String> failures = new ArrayList<>();
      List<String> open = new ArrayList<>();
      revisions.forEach(
          (name, revision) -> {
            ServeStatus.Application application = serve.application(name);
            String gone = gone(name, revision, application);
            if (gone != null) {
              failures.add(gone);
            } else if (application == null) {
              open.add(name + ": not there yet");
            } else if (patience.isOver(name, application.status(), nowNanos)) {
              failures.addAll(causes(application));
            } else if (!application.status().equals(ServeStatus.RUNNING)) {
              open.addAll(causes(application));
            }
          });
      return failures.isEmpty() ? new Verdict(false, open) : new Verdict(true, failures);
    }

    private @Nullable String gone(
        String name, long revision, ServeStatus.@Nullable Application application) {
      if (application == null) {
        return seen.contains(name) ? name + ": deleted by another command" : null;
      }
      seen.add(name);
      return revision > 0 && application.revision() > revision
          ? name + ": another command declared revision " + application.revision()
          : null;
    }

    private static List<String> causes(ServeStatus.Application application) {
      List<String> causes = new ArrayList<>();
      String why = StatusTable.reason(application.message());
      causes.add(application.name() + ": " + application.status() + why);
      String wanted = "" + application.revision();
      boolean behind =
          application.deployments().stream()
              .anyMatch(each -> !each.revisions().isEmpty() && !each.revisions().equals(wanted));
      for (ServeStatus.Deployment each : application.deployments()) {
        boolean said = !each.message().isBlank() && application.message().contains(each.message());
        String name = application.name() + "/" + each.name() + ": ";
        if (behind && !each.revisions().isEmpty()) { // of a rollout that goes on, or is frozen
          causes.add(name + describe(each, "; runs revision " + each.revisions(), said));
        } else if (!each.status().equals(ServeStatus.HEALTHY) && !said) {
          causes.add(name + describe(each, "", false));
        }
      }
      return causes;
    }
  }

  /** A deployment has a number of healthy replicas. */
  final class Scaled implements Goal {
    private final String application;
    private final String deployment;
    private final @Nullable Integer replicas;
    private final Patience patience = new Patience();

    Scaled(String application, String deployment, @Nullable Integer replicas) {
      this.application = application;
      this.deployment = deployment;
      this.replicas = replicas;
    }

    @Override
    public List<ServeStatus.Application> shown(ServeStatus serve) {
      return serve.applications().stream().filter(each -> each.name().equals(application)).toList();
    }

    @Override
    public Verdict judge(ServeStatus serve, long nowNanos) {
      String name = application + "/" + deployment;
      ServeStatus.Application within = serve.application(application);
      ServeStatus.Deployment found = within == null ? null : within.deployment(deployment);
      if (found == null) {
        return new Verdict(true, List.of(name + ": deleted by another command"));
      }
      List<String> causes = List.of(name + ": " + Goal.describe(found, "", false));
      if (patience.isOver(name, found.status(), nowNanos)) {
        return new Verdict(true, causes);
      }
      boolean reached =
          found.status().equals(ServeStatus.HEALTHY)
              && (replicas == null || found.target() == replicas)
              && found.running() == found.target();
      return new Verdict(false, reached ? List.of() : causes);
    }
  }

  /**
   * @param runs what it runs, for people; may be empty
   * @param said whether its message was told already
   */
  private static String describe(ServeStatus.Deployment deployment, String runs, boolean said) {
    String why = said ? "" : StatusTable.reason(deployment.message());
    return deployment.status() + ", replicas " + deployment.replicasNow() + runs + why;
  }

  /** With what has failed, or may recover and does not. */
  final class Patience {
    private final Map<String, Long> unhealthySince = new HashMap<>();

    private boolean isOver(String name, String status, long nowNanos) {
      if (!status.equals(ServeStatus.UNHEALTHY)) {
        unhealthySince.remove(name);
        return status.equals(ServeStatus.DEPLOY_FAILED);
      }
      long since = unhealthySince.computeIfAbsent(name, first -> nowNanos);
      return nowNanos - since >= UNHEALTHY_PATIENCE.toNanos();
    }
  }
}

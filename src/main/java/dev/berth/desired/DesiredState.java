package dev.berth.desired;

import dev.berth.api.DeploymentId;
import dev.berth.controller.AutoscaledReplicaCount;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import dev.berth.desired.DesiredChange.Head;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The declared state after a number of changes. Each command computes its {@link DesiredChange} on
 * it. {@link StateLog} commits the change, then replaces this state by the next one. A crash
 * therefore cannot revert any visible state, and a write costs only the difference.
 *
 * <p><b>Revisions.</b> An equal entry keeps its revision and the replicas set from outside. Another
 * entry gets the next revision, and its predecessor is recorded if it has run. A rollback declares
 * the predecessor under a new revision, and records the present one if it had run. A second
 * rollback thus returns to it. Earlier revisions form the {@link RevisionHistory}; a rollback can
 * name them.
 *
 * <p><b>Failure.</b> A revision that failed after another had run is marked. The previous one then
 * serves until the next deploy, of the same entry or another.
 *
 * <p><b>Last applied.</b> The {@link LastApplied} configuration of an application and its file are
 * recorded beside it, and for a while after its deletion.
 *
 * <p>Immutable. Over 500 lines, since commands and the effects of changes stand together.
 */
public final class DesiredState {

  /** Maximum number of deleted applications that are recorded; the oldest are removed first. */
  static final int MAX_REMOVED = 1_000;

  /** Maximum number of recorded results of commands with an id; the oldest are removed first. */
  public static final int MAX_RESULTS = 10_000;

  /** Maximum number of recorded command digests. */
  static final int MAX_COMMAND_DIGESTS = 256;

  /** Retention of recorded results, in milliseconds. */
  static final long RESULT_RETENTION_MS = TimeUnit.MINUTES.toMillis(10);

  /** State without declarations. */
  public static final DesiredState EMPTY = new DesiredState();

  private final Map<String, DesiredApplication> applications;
  private final Map<String, String> names; // of applications, by route prefix
  private final Map<String, LastApplied> applied; // by application, latest last
  private final Map<String, CommandResult> answers; // by command id, latest last

  /** The earlier revisions. */
  final RevisionHistory history;

  /** The persisted numbers of autoscaled deployments. */
  final AutoscaledReplicaCounts autoscaled;

  private final NodeRegistry nodes;
  private final NavigableMap<Long, String> chain; // digests of commands, by index

  /** The numbers that belong to no application. */
  final Head head;

  private final long index;

  private DesiredState() {
    applications = Map.of();
    names = Map.of();
    applied = Map.of();
    answers = Map.of();
    history = new RevisionHistory();
    autoscaled = AutoscaledReplicaCounts.NONE;
    nodes = NodeRegistry.NONE;
    chain = new TreeMap<>();
    head = Head.FIRST;
    index = 0;
  }

  /** Copies the state once for any number of changes. */
  private DesiredState(DesiredState before, List<DesiredChange> changes) {
    applications = new LinkedHashMap<>(before.applications);
    names = new HashMap<>(before.names);
    applied = new LinkedHashMap<>(before.applied);
    answers = new LinkedHashMap<>(before.answers);
    history = new RevisionHistory(before.history);
    chain = new TreeMap<>(before.chain);
    AutoscaledReplicaCounts numbers = before.autoscaled;
    NodeRegistry registry = before.nodes;
    for (DesiredChange change : changes) {
      apply(change);
      numbers = numbers.with(change);
      registry = Objects.requireNonNullElse(change.nodes(), registry);
    }
    autoscaled = numbers;
    nodes = registry;
    DesiredChange last = changes.get(changes.size() - 1);
    head = last.head();
    index = last.index();
  }

  /** Returns the state after changes in their order; at least one. */
  public DesiredState with(List<DesiredChange> changes) {
    return new DesiredState(this, changes);
  }

  /** Returns the number of changes that made it; each change names the resulting number. */
  public long index() {
    return index;
  }

  /** Returns all declared applications, in the order of their first declaration. */
  public Collection<DesiredApplication> applications() {
    return Collections.unmodifiableCollection(applications.values());
  }

  /** Returns all applications in the controller's form, in the same order. */
  public List<DeclaredApplication> declared() {
    return applications.values().stream().map(this::declared).toList();
  }

  /** Returns one application in the controller's form. */
  public DeclaredApplication declared(DesiredApplication application) {
    EarlierRevision back = history.rollbackTo(application);
    return application.declared(
        other(application.serving().routePrefix(), application.name()) == null,
        back == null ? null : (Long) back.revision(),
        autoscaled.of(application.name()));
  }

  /** Returns an application; null when it is not declared. */
  public @Nullable DesiredApplication find(String application) {
    return applications.get(application);
  }

  /** Returns another application than this one with a route; null when there is none. */
  @Nullable String other(@Nullable String routePrefix, String application) {
    String there = routePrefix == null ? null : names.get(routePrefix);
    return application.equals(there) ? null : there;
  }

  /** Returns the term of the last controller. */
  public long term() {
    return head.term();
  }

  /** Returns the last applied configuration of an application, declared or not. */
  public LastApplied lastApplied(String application) {
    return applied.getOrDefault(application, LastApplied.NOTHING);
  }

  /** Returns the names of all applications with a last applied configuration. */
  public Set<String> mentioned() {
    return Collections.unmodifiableSet(applied.keySet());
  }

  /** Returns the recorded result of a recent command by its id; null when there is none. */
  public @Nullable CommandResult answer(String id, long nowMs) {
    CommandResult known = answers.get(id);
    return known != null && known.atMs() > nowMs - RESULT_RETENTION_MS ? known : null;
  }

  /** Returns the node registry of the cluster. */
  public NodeRegistry nodes() {
    return nodes;
  }

  /** Returns the number of recorded results. */
  public int keptAnswers() {
    return answers.size();
  }

  // --- commands: the changes that they would make; null for none ---

  /**
   * Declares all applications of a file. Applications missing from it are deleted if it applied
   * them last.
   *
   * @param wanted desired configurations, by name
   * @param file submitting file, as in {@link LastApplied#submitted}
   * @param prunes whether all missing applications are deleted
   */
  @Nullable DesiredChange deploy(
      Map<String, ApplicationSpec> wanted,
      @Nullable Double targetCapacity,
      @Nullable String file,
      boolean prunes,
      long nowMs) {
    List<String> removed =
        applications.keySet().stream()
            .filter(name -> !wanted.containsKey(name) && goes(name, file, prunes))
            .toList();
    Map<String, LastApplied> news = new LinkedHashMap<>();
    applied.forEach((name, each) -> news.put(name, each.leftOut(file, prunes)));
    submit(news, wanted, file);
    LastApplied last = head.lastCapacity();
    boolean stays = targetCapacity == null && !prunes && !last.isLastOf(file);
    LastApplied capacity =
        targetCapacity == null
            ? last.leftOut(file, prunes)
            : last.submitted(targetCapacity.toString(), file);
    Head next = head.withCapacity(stays ? head.targetCapacity() : targetCapacity, capacity);
    return change(wanted, removed, news, next, nowMs);
  }

  /** Returns whether a deploy of a file deletes an application that is missing from it. */
  boolean goes(String application, @Nullable String file, boolean prunes) {
    return prunes || lastApplied(application).isLastOf(file);
  }

  /** Declares one application; the others stay. */
  public @Nullable DesiredChange deploy(
      String application, ApplicationSpec wanted, @Nullable String file, long nowMs) {
    Map<String, LastApplied> news = new LinkedHashMap<>();
    submit(news, Map.of(application, wanted), file);
    return change(Map.of(application, wanted), List.of(), news, head, nowMs);
  }

  private void submit(
      Map<String, LastApplied> news, Map<String, ApplicationSpec> wanted, @Nullable String file) {
    wanted.forEach(
        (name, each) -> news.put(name, lastApplied(name).submitted(each.digest(), file)));
  }

  /**
   * Declares applications, and deletes others.
   *
   * @param wanted declared applications, by name
   * @param news last applied configurations that may have changed, by application
   * @param next resulting numbers, without revisions
   */
  @Nullable DesiredChange change(
      Map<String, ApplicationSpec> wanted,
      List<String> removed,
      Map<String, LastApplied> news,
      Head next,
      long nowMs) {
    List<DesiredApplication> changed = new ArrayList<>();
    long revision = head.revision();
    for (Map.Entry<String, ApplicationSpec> each : wanted.entrySet()) {
      DesiredApplication known = applications.get(each.getKey());
      if (known == null) {
        changed.add(first(each.getKey(), each.getValue(), ++revision, nowMs));
      } else if (!known.wanted().digest().equals(each.getValue().digest())) {
        changed.add(known.withSpec(each.getValue(), ++revision, nowMs));
      } else if (known.failed() != null) {
        changed.add(known.withFailure(null));
      }
    }
    news.entrySet().removeIf(each -> each.getValue().equals(lastApplied(each.getKey())));
    Head then = next.withRevision(revision);
    return change(changed, removed, news, AutoscaledReplicaCounts.NONE, then).unlessEmpty(head);
  }

  private static DesiredApplication first(
      String name, ApplicationSpec wanted, long revision, long nowMs) {
    return new DesiredApplication(
        name, wanted, revision, nowMs, false, null, Map.of(), null, Set.of());
  }

  /** Deletes all applications. */
  public @Nullable DesiredChange deleteAll() {
    return change(List.of(), List.copyOf(applications.keySet()), head).unlessEmpty(head);
  }

  /** Deletes a declared application. */
  public DesiredChange delete(String application) {
    return change(List.of(), List.of(require(application).name()), head);
  }

  private DesiredChange change(List<DesiredApplication> changed, List<String> removed, Head next) {
    return change(changed, removed, Map.of(), AutoscaledReplicaCounts.NONE, next);
  }

  private DesiredChange change(
      List<DesiredApplication> changed,
      List<String> removed,
      Map<String, LastApplied> news,
      AutoscaledReplicaCounts numbers,
      Head next) {
    return new DesiredChange(
        index + 1, changed, removed, news, List.of(), Map.of(), numbers, null, Map.of(), next);
  }

  /** Sets the replicas of a deployment of a declared application from outside. */
  public @Nullable DesiredChange scale(String application, String deployment, int replicas) {
    DesiredApplication known = require(application);
    return Integer.valueOf(replicas).equals(known.scales().get(deployment))
        ? null
        : change(List.of(known.scaled(deployment, replicas)), List.of(), head);
  }

  /** Returns {@link AutoscaledReplicaCounts#computeScalingChange} for declared applications. */
  @Nullable DesiredChange autoscaled(Map<DeploymentId, @Nullable AutoscaledReplicaCount> found) {
    return change(autoscaled.computeScalingChange(found, applications::containsKey));
  }

  /** Returns {@link AutoscaledReplicaCounts#computePauseChange}. */
  @Nullable DesiredChange pause(DeploymentId id, @Nullable Integer replicas) {
    return change(autoscaled.computePauseChange(id, replicas));
  }

  private @Nullable DesiredChange change(AutoscaledReplicaCounts news) {
    return change(List.of(), List.of(), Map.of(), news, head).unlessEmpty(head);
  }

  /** Declares an earlier revision of a declared application again. */
  DesiredChange rollback(String application, EarlierRevision to, long nowMs) {
    return anew(require(application).backTo(to.wanted(), head.revision() + 1, nowMs));
  }

  private DesiredChange anew(DesiredApplication next) {
    return change(List.of(next), List.of(), head.withRevision(next.revision()));
  }

  /** Sets the weights of an endpoint; null when they are unchanged. */
  @Nullable DesiredChange splitEndpoint(String route, Map<String, Double> weights) {
    return weights.equals(head.splits().get(route))
        ? null
        : change(List.of(), List.of(), head.splitting(route, weights));
  }

  /** Declares other weights for the route of a declared application. */
  DesiredChange split(String application, ApplicationSpec wanted, long nowMs) {
    return anew(require(application).split(wanted, head.revision() + 1, nowMs));
  }

  /**
   * Records the states of applications. States of outdated revisions are ignored, as are failures
   * without a previous revision.
   */
  public @Nullable DesiredChange mark(Collection<Announce> states) {
    List<DesiredApplication> marked = new ArrayList<>();
    for (Announce state : states) {
      DesiredApplication known = applications.get(state.application());
      DesiredApplication next =
          known == null || known.revision() != state.revision() ? known : known.marked(state);
      if (next != null && !next.equals(known)) {
        marked.add(next);
      }
    }
    return change(marked, List.of(), head).unlessEmpty(head);
  }

  /** Replaces the node registry after joins and losses, a cordon or an adoption. */
  public @Nullable DesiredChange nodes(NodeRegistry next) {
    DesiredChange change = change(List.of(), List.of(), head).of(next);
    boolean noted =
        next.cordoned().equals(nodes.cordoned()) && next.generation() == nodes.generation();
    return next.equals(nodes) ? null : noted ? change : chained(change);
  }

  /**
   * Returns a change as an operator's command, whose digest nodes record. Other changes, such as
   * those of a start, have no digest: a state without them is not an older one.
   */
  DesiredChange chained(DesiredChange change) {
    if (nodes.equals(NodeRegistry.NONE)) {
      return change;
    }
    String digest = DeclaredEntry.digest(command().getValue() + change.toJson().encode());
    return change.chained(Map.of(change.index(), digest.substring(0, 32))); // of 64 hex digits
  }

  /** Returns the index of the last operator's command, and the digest of the chain up to it. */
  public Map.Entry<Long, String> command() {
    return chain.isEmpty()
        ? Map.entry(0L, "")
        : Map.entry(chain.lastKey(), chain.lastEntry().getValue());
  }

  /**
   * Returns whether a command is part of this state. Commands before the last {@value
   * #MAX_COMMAND_DIGESTS} are assumed to be.
   */
  public boolean includes(long index, String digest) {
    return digest.isEmpty()
        || digest.equals(chain.get(index))
        || chain.size() == MAX_COMMAND_DIGESTS && index < chain.firstKey();
  }

  /** Removes earlier revisions up to one. */
  DesiredChange forget(long upTo) {
    return change(List.of(), List.of(), head.forgetting(upTo));
  }

  /**
   * Records the start of a controller under the next term.
   *
   * @param keeps maximum number of earlier revisions of each application
   */
  DesiredChange nextTerm(int keeps, long atLeast) {
    long next = Math.max(head.term() + 1, atLeast);
    return change(List.of(), List.of(), head.withTerm(next, keeps));
  }

  /**
   * Adds the result of a command with an id to its change.
   *
   * @param change null when the command changes nothing else
   */
  public DesiredChange answering(@Nullable DesiredChange change, CommandResult answer) {
    return (change == null ? change(List.of(), List.of(), head) : change).answering(answer);
  }

  private DesiredApplication require(String application) {
    return Objects.requireNonNull(
        applications.get(application),
        "application: " + application + " (expected: a declared one)");
  }

  // --- construction: effects of a change ---

  private void apply(DesiredChange change) {
    change.removed().forEach(name -> forgetRoute(applications.remove(name)));
    change.removed().forEach(name -> history.put(name, List.of()));
    change.history().forEach(history::put);
    history.limit(change.head().keeps(), change.head().forgotten());
    for (DesiredApplication each : change.applications()) {
      DesiredApplication was = applications.put(each.name(), each);
      forgetRoute(was);
      if (was != null) {
        history.recordChange(was, each);
      }
    }
    change.applications().stream()
        .filter(each -> each.wanted().routePrefix() != null)
        .forEach(each -> names.put(each.wanted().routePrefix(), each.name()));
    change.applied().forEach(this::apply);
    change.answers().forEach(this::answer);
    forgetOldest(applied.size() - applications.size() - MAX_REMOVED);
    chain.putAll(change.chain());
    if (chain.size() > MAX_COMMAND_DIGESTS) {
      chain.pollFirstEntry();
    }
  }

  private void apply(String application, LastApplied now) {
    applied.remove(application);
    if (!now.equals(LastApplied.NOTHING)) {
      applied.put(application, now);
    }
  }

  private void answer(CommandResult now) {
    answers.remove(now.id());
    answers.put(now.id(), now);
    long last = now.atMs() - RESULT_RETENTION_MS;
    Iterator<CommandResult> oldest = answers.values().iterator();
    while (oldest.next().atMs() <= last || answers.size() > MAX_RESULTS) {
      oldest.remove();
    }
  }

  private void forgetOldest(int tooMany) {
    applied.keySet().stream()
        .filter(name -> !applications.containsKey(name))
        .limit(Math.max(0, tooMany))
        .toList()
        .forEach(applied::remove);
  }

  private void forgetRoute(@Nullable DesiredApplication gone) {
    if (gone != null && gone.wanted().routePrefix() != null) {
      names.remove(gone.wanted().routePrefix(), gone.name());
    }
  }

  /** Returns the change that makes this state from an empty one. */
  public DesiredChange whole() {
    return new DesiredChange(
        index,
        List.copyOf(applications.values()),
        List.of(),
        applied,
        List.copyOf(answers.values()),
        history.all(),
        autoscaled,
        nodes.equals(NodeRegistry.NONE) ? null : nodes,
        chain,
        head);
  }
}

package dev.berth.desired;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.berth.api.DeploymentId;
import dev.berth.code.Fingerprint;
import dev.berth.controller.Autoscaled;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.DesiredApplication.Before;
import dev.berth.desired.DesiredApplication.Wanted;
import dev.berth.desired.DesiredChange.Head;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
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
 * What is declared, after so many changes. A command asks it for the {@link DesiredChange} that it
 * would make; {@link StateLog} commits that, and only then applies it: another state takes the
 * place of this one. So nothing is true here that a crash could take back, and what is written
 * costs what is different.
 *
 * <p>An entry that says what is wanted already keeps its revision and the replicas that were set
 * from outside. Another one gets the next revision, and its predecessor is remembered if it has
 * run: a rollback declares that anew, under a revision of its own. What is rolled back is
 * remembered in turn if it had run, so a second rollback goes forward again. Earlier ones are its
 * {@link History}, and can be gone back to by their number.
 *
 * <p>A revision that failed after another had run is marked, and what ran before is to serve until
 * the next deploy: of something else, or of the same once more.
 *
 * <p>What was {@link LastApplied} of an application, and by which file, is known beside it, and for
 * a while after it is gone.
 *
 * <p>Immutable. It is over 500 lines, since what each command changes is computed beside what makes
 * a state of it.
 */
public final class DesiredState {

  /** Applications that are gone of which it is still known what was said; the oldest go. */
  static final int MOST_GONE = 1_000;

  /** Answers to commands with an id that are known; the oldest go. */
  public static final int MOST_ANSWERS = 10_000;

  /** Commands whose digests are kept. */
  static final int MOST_COMMANDS = 256;

  /** How long an answer is given again. */
  static final long ANSWERS_KEPT_MS = TimeUnit.MINUTES.toMillis(10);

  /** Nothing is declared. */
  public static final DesiredState EMPTY = new DesiredState();

  private final Map<String, DesiredApplication> applications;
  private final Map<String, String> names; // of applications, by route prefix
  private final Map<String, LastApplied> applied; // by application, the latest last
  private final Map<String, Answer> answers; // by id of the command, the latest last
  private final History history;
  private final AutoscaledNumbers autoscaled;
  private final NodeRegistry nodes;
  private final NavigableMap<Long, String> chain; // digests of commands, by number
  private final Head head;
  private final long index;

  private DesiredState() {
    applications = Map.of();
    names = Map.of();
    applied = Map.of();
    answers = Map.of();
    history = new History();
    autoscaled = AutoscaledNumbers.NONE;
    nodes = NodeRegistry.NONE;
    chain = new TreeMap<>();
    head = Head.FIRST;
    index = 0;
  }

  /** Copied once, however many changes there are. */
  private DesiredState(DesiredState before, List<DesiredChange> changes) {
    applications = new LinkedHashMap<>(before.applications);
    names = new HashMap<>(before.names);
    applied = new LinkedHashMap<>(before.applied);
    answers = new LinkedHashMap<>(before.answers);
    history = new History(before.history);
    chain = new TreeMap<>(before.chain);
    AutoscaledNumbers numbers = before.autoscaled;
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

  /** The state that changes make of this one, one after the other; at least one. */
  public DesiredState with(List<DesiredChange> changes) {
    return new DesiredState(this, changes);
  }

  /** How many changes have made it; a change names the number that it makes. */
  public long index() {
    return index;
  }

  /** Everything that is declared, in the order of the first declaration. */
  public Collection<DesiredApplication> applications() {
    return Collections.unmodifiableCollection(applications.values());
  }

  /** As the controller is told of them, in the same order. */
  public List<DeclaredApplication> declared() {
    return applications.values().stream().map(this::declared).toList();
  }

  /** As the controller is told of one of them. */
  public DeclaredApplication declared(DesiredApplication application) {
    Before back = history.rollbackTo(application);
    return application.declared(
        other(application.serving().routePrefix(), application.name()) == null,
        back == null ? null : (Long) back.revision(),
        autoscaled.of(application.name()));
  }

  /** Null when there is none of that name. */
  public @Nullable DesiredApplication find(String application) {
    return applications.get(application);
  }

  /** The application that answers there, or null. */
  public @Nullable String at(String routePrefix) {
    return names.get(routePrefix);
  }

  /** The application that answers there and is not this one, or null. */
  @Nullable String other(@Nullable String routePrefix, String application) {
    String there = routePrefix == null ? null : at(routePrefix);
    return application.equals(there) ? null : there;
  }

  /** Term of the controller that is to run. */
  public long term() {
    return head.term();
  }

  /** What is not of one application. */
  Head head() {
    return head;
  }

  /** Returns the configuration of an application that was last applied, be it there or not. */
  public LastApplied lastApplied(String application) {
    return applied.getOrDefault(application, LastApplied.NOTHING);
  }

  /** Returns the names of all applications of which something was applied. */
  public Set<String> mentioned() {
    return Collections.unmodifiableSet(applied.keySet());
  }

  /** What a command of that id was answered; null when none was lately. */
  public @Nullable Answer answer(String id, long nowMs) {
    Answer known = answers.get(id);
    return known != null && known.atMs() > nowMs - ANSWERS_KEPT_MS ? known : null;
  }

  /** Who belongs to the cluster. */
  public NodeRegistry nodes() {
    return nodes;
  }

  /** What ran earlier. */
  History history() {
    return history;
  }

  /** How many of these are kept. */
  public int keptAnswers() {
    return answers.size();
  }

  // --- commands: what they would change; null when they change nothing ---

  /**
   * Everything that a file says is declared. What it does not name goes if it said it last.
   *
   * @param wanted by name
   * @param file that says it, as {@link LastApplied#submitted} takes it
   * @param prunes whether all goes that is not named
   */
  @Nullable DesiredChange deploy(
      Map<String, Wanted> wanted,
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

  /** Whether an application goes that a deploy of a file does not name. */
  boolean goes(String application, @Nullable String file, boolean prunes) {
    return prunes || lastApplied(application).isLastOf(file);
  }

  /** One application is declared, and the others stay. */
  public @Nullable DesiredChange deploy(
      String application, Wanted wanted, @Nullable String file, long nowMs) {
    Map<String, LastApplied> news = new LinkedHashMap<>();
    submit(news, Map.of(application, wanted), file);
    return change(Map.of(application, wanted), List.of(), news, head, nowMs);
  }

  private void submit(
      Map<String, LastApplied> news, Map<String, Wanted> wanted, @Nullable String file) {
    wanted.forEach(
        (name, each) -> news.put(name, lastApplied(name).submitted(each.digest(), file)));
  }

  /**
   * Applications are declared, and others are deleted.
   *
   * @param wanted the applications that are declared, by name
   * @param news what was last applied from then on, where that may be different, by application
   * @param next the numbers from then on, but for revisions
   */
  @Nullable DesiredChange change(
      Map<String, Wanted> wanted,
      List<String> removed,
      Map<String, LastApplied> news,
      Head next,
      long nowMs) {
    List<DesiredApplication> changed = new ArrayList<>();
    long revision = head.revision();
    for (Map.Entry<String, Wanted> each : wanted.entrySet()) {
      DesiredApplication known = applications.get(each.getKey());
      if (known == null) {
        changed.add(first(each.getKey(), each.getValue(), ++revision, nowMs));
      } else if (!known.wanted().digest().equals(each.getValue().digest())) {
        changed.add(known.changed(each.getValue(), ++revision, nowMs));
      } else if (known.failed() != null) {
        changed.add(known.failed(null));
      }
    }
    news.entrySet().removeIf(each -> each.getValue().equals(lastApplied(each.getKey())));
    Head then = next.withRevision(revision);
    return change(changed, removed, news, AutoscaledNumbers.NONE, then).unlessEmpty(head);
  }

  private static DesiredApplication first(String name, Wanted wanted, long revision, long nowMs) {
    return new DesiredApplication(
        name, wanted, revision, nowMs, false, null, Map.of(), null, Set.of());
  }

  /** Every application goes. */
  public @Nullable DesiredChange deleteAll() {
    return change(List.of(), List.copyOf(applications.keySet()), head).unlessEmpty(head);
  }

  /** An application, which must be there, goes. */
  public DesiredChange delete(String application) {
    return change(List.of(), List.of(require(application).name()), head);
  }

  private DesiredChange change(List<DesiredApplication> changed, List<String> removed, Head next) {
    return change(changed, removed, Map.of(), AutoscaledNumbers.NONE, next);
  }

  private DesiredChange change(
      List<DesiredApplication> changed,
      List<String> removed,
      Map<String, LastApplied> news,
      AutoscaledNumbers numbers,
      Head next) {
    return new DesiredChange(
        index + 1, changed, removed, news, List.of(), Map.of(), numbers, null, Map.of(), next);
  }

  /** The replicas of a deployment of an application, which must be there, are set from outside. */
  public @Nullable DesiredChange scale(String application, String deployment, int replicas) {
    DesiredApplication known = require(application);
    return Integer.valueOf(replicas).equals(known.scales().get(deployment))
        ? null
        : change(List.of(known.scaled(deployment, replicas)), List.of(), head);
  }

  /** As {@link AutoscaledNumbers#found}, of applications that are there. */
  @Nullable DesiredChange autoscaled(Map<DeploymentId, @Nullable Autoscaled> found) {
    return change(autoscaled.found(found, applications::containsKey));
  }

  /** See {@link AutoscaledNumbers#paused}. */
  @Nullable DesiredChange pause(DeploymentId id, @Nullable Integer replicas) {
    return change(autoscaled.paused(id, replicas));
  }

  /** What is kept of deployments that follow their load. */
  AutoscaledNumbers autoscaled() {
    return autoscaled;
  }

  private @Nullable DesiredChange change(AutoscaledNumbers news) {
    return change(List.of(), List.of(), Map.of(), news, head).unlessEmpty(head);
  }

  /** What ran earlier of an application, which must be there, is declared anew. */
  DesiredChange rollback(String application, Before to, long nowMs) {
    return anew(require(application).backTo(to.wanted(), head.revision() + 1, nowMs));
  }

  private DesiredChange anew(DesiredApplication next) {
    return change(List.of(next), List.of(), head.withRevision(next.revision()));
  }

  /** An endpoint has other weights; null when it has these already. */
  @Nullable DesiredChange splitEndpoint(String route, Map<String, Double> weights) {
    return weights.equals(head.splits().get(route))
        ? null
        : change(List.of(), List.of(), head.splitting(route, weights));
  }

  /** An application, which must be there, is declared with other weights of its route. */
  DesiredChange split(String application, Wanted wanted, long nowMs) {
    return anew(require(application).split(wanted, head.revision() + 1, nowMs));
  }

  /**
   * Applications are in these states. Those of revisions that are not wanted any more are passed
   * over, and failures of those before which nothing ran.
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

  /** Others belong to the cluster, or an operator has cordoned nodes or adopted them. */
  public @Nullable DesiredChange nodes(NodeRegistry next) {
    DesiredChange change = change(List.of(), List.of(), head).of(next);
    boolean noted =
        next.cordoned().equals(nodes.cordoned()) && next.generation() == nodes.generation();
    return next.equals(nodes) ? null : noted ? change : chained(change);
  }

  /**
   * Returns a change as a command of an operator, which nodes remember. Other changes, as those of
   * a start, are none: a state that lacks them is not an older one.
   */
  DesiredChange chained(DesiredChange change) {
    if (nodes.equals(NodeRegistry.NONE)) {
      return change;
    }
    byte[] text = (command().getValue() + change.toJson().encode()).getBytes(UTF_8);
    byte[] digest = Fingerprint.sha256().digest(text);
    return change.chained(Map.of(change.index(), HexFormat.of().formatHex(digest, 0, 16)));
  }

  /** The number of the last command of an operator, and the digest of the chain up to it. */
  public Map.Entry<Long, String> command() {
    return chain.isEmpty()
        ? Map.entry(0L, "")
        : Map.entry(chain.lastKey(), chain.lastEntry().getValue());
  }

  /**
   * Whether a command made this state. Those before the {@value #MOST_COMMANDS} last are assumed
   * to.
   */
  public boolean includes(long index, String digest) {
    return digest.isEmpty()
        || digest.equals(chain.get(index))
        || chain.size() == MOST_COMMANDS && index < chain.firstKey();
  }

  /** What ran earlier is let go of, up to a revision. */
  DesiredChange forget(long upTo) {
    return change(List.of(), List.of(), head.forgetting(upTo));
  }

  /**
   * A controller starts: its term is the next one.
   *
   * @param keeps revisions that ran earlier, of each application
   */
  DesiredChange nextTerm(int keeps, long atLeast) {
    long next = Math.max(head.term() + 1, atLeast);
    return change(List.of(), List.of(), head.withTerm(next, keeps));
  }

  /**
   * What a command with an id changes: its answer is known from then on.
   *
   * @param change null when it changes nothing else
   */
  public DesiredChange answering(@Nullable DesiredChange change, Answer answer) {
    return (change == null ? change(List.of(), List.of(), head) : change).answering(answer);
  }

  private DesiredApplication require(String application) {
    return Objects.requireNonNull(
        applications.get(application),
        "application: " + application + " (expected: a declared one)");
  }

  // --- what a change makes of it, while it is made ---

  private void apply(DesiredChange change) {
    change.removed().forEach(name -> forgetRoute(applications.remove(name)));
    change.removed().forEach(name -> history.put(name, List.of()));
    change.history().forEach(history::put);
    history.limit(change.head().keeps(), change.head().forgotten());
    for (DesiredApplication each : change.applications()) {
      DesiredApplication was = applications.put(each.name(), each);
      forgetRoute(was);
      if (was != null) {
        history.changed(was, each);
      }
    }
    change.applications().stream()
        .filter(each -> each.wanted().routePrefix() != null)
        .forEach(each -> names.put(each.wanted().routePrefix(), each.name()));
    change.applied().forEach(this::apply);
    change.answers().forEach(this::answer);
    forgetOldest(applied.size() - applications.size() - MOST_GONE);
    chain.putAll(change.chain());
    if (chain.size() > MOST_COMMANDS) {
      chain.pollFirstEntry();
    }
  }

  private void apply(String application, LastApplied now) {
    applied.remove(application);
    if (!now.equals(LastApplied.NOTHING)) {
      applied.put(application, now);
    }
  }

  private void answer(Answer now) {
    answers.remove(now.id());
    answers.put(now.id(), now);
    long last = now.atMs() - ANSWERS_KEPT_MS;
    Iterator<Answer> oldest = answers.values().iterator();
    while (oldest.next().atMs() <= last || answers.size() > MOST_ANSWERS) {
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

  /** The change that makes this state of an empty one. */
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

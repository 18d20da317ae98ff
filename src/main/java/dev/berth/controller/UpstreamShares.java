package dev.berth.controller;

import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.GrantUpstreams;
import dev.berth.controller.ControllerAction.ProbeOwner;
import dev.berth.controller.ControllerAction.ShareUpstream;
import dev.berth.controller.ControllerEvent.Inventory;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.NodePool.PooledNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The shares of upstreams in a cluster: the number of slots that each replica may use. Confined to
 * the controller's loop.
 *
 * <p><b>Sum.</b> For each upstream the grants in the log never exceed its maximum, whichever nodes
 * own it. A replica opens or grows only after the commit of its grant. A grant shrinks only after
 * the owner's report: of the lower share, or of the slots in use after its drain began.
 *
 * <p><b>End.</b> A grant ends after the owner has drained, left, or ended: its data port refuses
 * connections. The grant of a silent owner stays, as requests may still run, until the owner
 * returns, an operator takes the upstream, or its lease has ended for certain.
 */
final class UpstreamShares {
  /** Interval of the dials of a silent owner, in nanoseconds. */
  private static final long PROBE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A replica, with its last commanded share. */
  static final class ShareOwner {
    final ReplicaRecord replica;
    UpstreamShare commanded = UpstreamShare.NONE;

    ShareOwner(ReplicaRecord replica) {
      this.replica = replica;
    }
  }

  private interface GrantVisitor {
    void visit(UpstreamState upstream, UpstreamGrant grant);
  }

  private final Epoch epoch;
  private final NodePool hosts;
  private final long leaseMillis;
  private final Map<String, UpstreamState> all = new HashMap<>(); // by identity without part
  private final Map<String, String> identities = new HashMap<>(); // by replica id
  private final Set<String> changed = new LinkedHashSet<>(); // identities to balance
  private final Map<String, Set<String>> found = new HashMap<>(); // in inventories, by bus name
  private final Map<String, Long> silentNanos = new HashMap<>(); // since when, by bus name
  private Set<String> proposed = Set.of(); // identities of the last proposal
  private boolean isProposing = true; // also before the first report of the log's grants
  private long lastNumber;
  private long probeNanos = Long.MAX_VALUE; // time of the next dials
  private long wakeNanos = Long.MAX_VALUE;

  /**
   * @param leaseMillis lease of owners; 0 for never
   */
  UpstreamShares(Epoch epoch, NodePool hosts, long leaseMillis) {
    this.epoch = epoch;
    this.hosts = hosts;
    this.leaseMillis = leaseMillis;
  }

  // --- events ---

  /** Replaces the known grants by those of the log. */
  void onGranted(List<UpstreamGrant> grants, long nowNanos) {
    isProposing = false;
    changed.addAll(proposed);
    Map<String, Map<String, UpstreamGrant>> next = new HashMap<>();
    for (UpstreamGrant grant : grants) {
      stateOf(grant.replicaId(), grant.upstream());
      next.computeIfAbsent(grant.upstream(), none -> new TreeMap<>()).put(grant.replicaId(), grant);
    }
    all.forEach(
        (identity, each) -> {
          Map<String, UpstreamGrant> now = next.getOrDefault(identity, Map.of());
          if (!now.equals(each.grants)) {
            each.grants = now;
            markForms(each.entry);
          }
        });
    all.values().forEach(each -> each.freeNanos.keySet().retainAll(each.grants.keySet()));
    all.values().forEach(each -> each.reports.keySet().removeIf(id -> !each.knows(id)));
    identities.entrySet().removeIf(each -> !all.get(each.getValue()).knows(each.getKey()));
    all.keySet().retainAll(identities.values());
    found.keySet().forEach(node -> endMissing(node, nowNanos));
  }

  /** Marks all forms of a key, since each may wait for the grants of another. */
  private void markForms(String entry) {
    all.forEach(
        (identity, each) -> {
          if (each.entry.equals(entry)) {
            changed.add(identity);
          }
        });
  }

  void onReplicaAdded(ReplicaRecord replica) {
    if (!replica.upstream.isEmpty() && hosts.areNamed()) {
      String identity = UpstreamOptions.withoutPart(replica.upstream);
      stateOf(replica.id, identity).owners.put(replica.id, new ShareOwner(replica));
      changed.add(identity);
    }
  }

  /** Handles the end of a replica; that of a lost node may still run. */
  void onReplicaRemoved(String replicaId, long nowNanos) {
    found.values().forEach(each -> each.remove(replicaId));
    UpstreamState upstream = find(replicaId);
    if (upstream == null) {
      return;
    }
    ShareOwner owner = upstream.owners.remove(replicaId);
    UpstreamGrant grant = upstream.grants.get(replicaId);
    if (grant != null && (owner == null || hosts.has(owner.replica.node))) {
      endGrant(upstream, grant, nowNanos);
    }
  }

  void onReport(UpstreamReport report) {
    UpstreamState upstream = find(report.replicaId());
    if (upstream != null) {
      upstream.reports.put(report.replicaId(), report);
    }
  }

  /** Ends the grants of a present node for replicas that it no longer has. */
  void onInventory(Inventory inventory, long nowNanos) {
    Set<String> there = new LinkedHashSet<>();
    for (Inventory.Found each : inventory.replicas()) {
      there.add(each.info().replicaId());
      UpstreamReport report = each.report();
      if (report != null) {
        onReport(report);
        repeat(report);
      }
    }
    found.put(inventory.node(), there);
    endMissing(inventory.node(), nowNanos);
  }

  /** Ends the grants of replicas that ended before their grant was known. */
  private void endMissing(String node, long nowNanos) {
    Set<String> there = found.getOrDefault(node, Set.of());
    forEachGrant(
        node,
        (upstream, grant) -> {
          String id = grant.replicaId();
          if (!there.contains(id) && !upstream.owners.containsKey(id)) {
            endGrant(upstream, grant, nowNanos);
          }
        });
  }

  /** Sends a share again that was lost with an earlier link. */
  private void repeat(UpstreamReport report) {
    UpstreamState upstream = find(report.replicaId());
    ShareOwner owner = upstream == null ? null : upstream.owners.get(report.replicaId());
    if (owner != null && owner.commanded.number() != 0) {
      owner.commanded = report.share();
    }
  }

  /** Ends the silence of a node. Its inventory then ends the grants of missing replicas. */
  void onNodeJoined(String node) {
    silentNanos.remove(node);
    found.remove(node);
    forEachGrant(node, (upstream, grant) -> upstream.freeNanos.remove(grant.replicaId()));
  }

  /** Begins the silence of a lost node. */
  void onNodeLost(String node, long nowNanos) {
    silentNanos.put(node, nowNanos);
    found.remove(node);
    forEachGrant(node, (upstream, grant) -> changed.add(grant.upstream()));
  }

  /** Ends the grants of an absent node: it left, or its process has ended. */
  void onNodeEnded(String node, long nowNanos) {
    found.remove(node);
    forEachGrant(
        node,
        (upstream, grant) -> {
          if (isSilent(grant)) {
            endGrant(upstream, grant, nowNanos);
          }
        });
  }

  /** Ends the grants of silent owners at once, by an operator's decision. */
  void onTaken(String identity, long nowNanos) {
    UpstreamState upstream = all.get(identity);
    if (upstream != null) {
      changed.add(identity);
      upstream.grants.values().stream()
          .filter(this::isSilent)
          .forEach(each -> upstream.freeNanos.put(each.replicaId(), nowNanos));
    }
  }

  private void endGrant(UpstreamState upstream, UpstreamGrant grant, long nowNanos) {
    UpstreamReport last = upstream.reports.get(grant.replicaId());
    boolean isEmpty = last != null && last.draining() && last.ongoing() == 0;
    long waits = isEmpty ? 0 : TimeUnit.MILLISECONDS.toNanos(grant.resetMillis());
    upstream.freeNanos.putIfAbsent(grant.replicaId(), nowNanos + waits);
    changed.add(grant.upstream());
  }

  private void forEachGrant(String node, GrantVisitor visitor) {
    for (UpstreamState each : all.values()) {
      each.grants.values().stream()
          .filter(grant -> grant.node().equals(node))
          .forEach(grant -> visitor.visit(each, grant));
    }
  }

  private UpstreamState stateOf(String replicaId, String identity) {
    identities.put(replicaId, identity);
    return all.computeIfAbsent(identity, UpstreamState::new);
  }

  private @Nullable UpstreamState find(String replicaId) {
    String identity = identities.get(replicaId);
    if (identity != null) {
      changed.add(identity);
    }
    return identity == null ? null : all.get(identity);
  }

  /** Records a change of a replica or of its deployment. */
  void touch(ReplicaRecord replica) {
    if (!replica.upstream.isEmpty()) {
      find(replica.id);
    }
  }

  private boolean isSilent(UpstreamGrant grant) {
    return !hosts.has(grant.node());
  }

  // --- decisions ---

  /** Commands shares, and proposes changes of grants. Runs at the end of each pass. */
  void settle(ReconcilePass turn) {
    if (isProposing || changed.isEmpty()) {
      return;
    }
    List<UpstreamGrant> grants = new ArrayList<>();
    Set<String> ended = new LinkedHashSet<>();
    Map<String, Integer> limits = new LinkedHashMap<>();
    for (String identity : changed) {
      UpstreamState upstream = all.get(identity);
      if (upstream != null) {
        int before = grants.size() + ended.size();
        int limit = new ShareBalance(upstream, turn, grants, ended).run();
        if (grants.size() + ended.size() > before) {
          limits.put(identity, limit);
        }
      }
    }
    changed.clear();
    if (!limits.isEmpty()) {
      isProposing = true;
      proposed = Set.copyOf(limits.keySet());
      turn.add(new GrantUpstreams(List.copyOf(grants), Set.copyOf(ended), Map.copyOf(limits)));
    }
    arm(turn.nowNanos);
  }

  /** Sets the time of the next end of a grant, or of the next dials. */
  private void arm(long nowNanos) {
    boolean dials = false;
    wakeNanos = Long.MAX_VALUE;
    for (UpstreamState each : all.values()) {
      for (UpstreamGrant grant : each.grants.values()) {
        wakeNanos = Math.min(wakeNanos, endNanos(each, grant));
        dials |= isSilent(grant);
      }
    }
    if (!dials) {
      probeNanos = Long.MAX_VALUE;
    } else if (probeNanos == Long.MAX_VALUE) {
      probeNanos = nowNanos;
    }
  }

  long nextWakeNanos() {
    return isProposing ? probeNanos : Math.min(wakeNanos, probeNanos);
  }

  /** Balances upstreams with an ended grant, and dials the silent owners once per interval. */
  void wake(ReconcilePass turn) {
    boolean dials = isDue(probeNanos, turn.nowNanos);
    Set<String> dialled = new LinkedHashSet<>();
    all.forEach(
        (identity, each) -> {
          for (UpstreamGrant grant : each.grants.values()) {
            if (isDue(endNanos(each, grant), turn.nowNanos)) {
              changed.add(identity);
            }
            if (dials && isSilent(grant) && dialled.add(grant.node())) {
              turn.add(new ProbeOwner(grant));
            }
          }
        });
    probeNanos = dials ? turn.nowNanos + PROBE_NANOS : probeNanos;
    arm(turn.nowNanos);
  }

  private static boolean isDue(long nanos, long nowNanos) {
    return nanos != Long.MAX_VALUE && nanos - nowNanos <= 0;
  }

  /** Returns the time at which a grant ends; {@link Long#MAX_VALUE} while unknown. */
  private long endNanos(UpstreamState upstream, UpstreamGrant grant) {
    long known = upstream.freeNanos.getOrDefault(grant.replicaId(), Long.MAX_VALUE);
    PooledNode own = hosts.get(epoch.node());
    boolean stops = own != null && own.leaving; // its next controller may renew leases
    if (grant.leaseMillis() == 0 || !isSilent(grant) || stops) {
      return known;
    }
    long since = silentNanos.getOrDefault(grant.node(), Long.MAX_VALUE);
    long millis = grant.leaseMillis() + grant.leaseMillis() / 10 + grant.lapseMillis();
    return since == Long.MAX_VALUE
        ? known
        : Math.min(known, since + TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Returns whether this controller's lease is longer than a granted one. */
  private boolean isLonger(long granted) {
    return granted != 0 && (leaseMillis == 0 || leaseMillis > granted);
  }

  private static @Nullable Settings entry(ReplicaRecord replica) {
    DeploymentState deployment = replica.deployment;
    DeploymentTarget wanted = deployment.deleting ? null : deployment.startTarget();
    return wanted == null ? null : UpstreamOptions.find(wanted.settings(), replica.upstream);
  }

  /** Decision about the shares of one upstream. */
  private final class ShareBalance {
    private final UpstreamState upstream;
    private final ReconcilePass turn;
    private final List<UpstreamGrant> grants;
    private final Set<String> ended;
    private int limit;
    private int free; // slots without a grant
    private String silent = ""; // reason of missing slots

    ShareBalance(
        UpstreamState upstream, ReconcilePass turn, List<UpstreamGrant> grants, Set<String> ended) {
      this.upstream = upstream;
      this.turn = turn;
      this.grants = grants;
      this.ended = ended;
    }

    /** Returns the maximum of the upstream; 0 when no deployment has it. */
    int run() {
      boolean lacks = false;
      for (ShareOwner owner : upstream.owners.values()) {
        limit = Math.max(limit, limit(owner.replica));
        lacks |= wantedSlots(owner.replica) > grantedSlots(owner.replica.id);
      }
      free = all.values().stream().anyMatch(upstream::isHeldBy) ? 0 : limit;
      for (UpstreamGrant grant : upstream.grants.values()) {
        count(grant, lacks);
      }
      upstream.owners.values().forEach(this::countUngranted);
      upstream.owners.values().forEach(this::command);
      return limit;
    }

    private static int limit(ReplicaRecord replica) {
      DeploymentTarget wanted = replica.deployment.startTarget();
      return replica.deployment.held || wanted == null || entry(replica) == null
          ? 0
          : UpstreamOptions.limit(wanted.settings(), replica.upstream);
    }

    private int wantedSlots(ReplicaRecord replica) {
      Settings entry = replica.isActive() ? entry(replica) : null;
      int wanted = entry == null ? 0 : entry.get(UpstreamOptions.MAX_ONGOING_REQUESTS);
      return replica.deployment.held ? grantedSlots(replica.id) : wanted;
    }

    private int grantedSlots(String replicaId) {
      UpstreamGrant grant = upstream.grants.get(replicaId);
      return grant == null ? 0 : grant.maximum();
    }

    /** Subtracts a grant, or ends or lowers it first. */
    private void count(UpstreamGrant grant, boolean lacks) {
      String id = grant.replicaId();
      if (isSilent(grant)) {
        silentNanos.putIfAbsent(grant.node(), turn.nowNanos);
      }
      if (isDue(endNanos(upstream, grant), turn.nowNanos)) {
        ended.add(id);
        return;
      }
      int counted = grant.maximum();
      long lease = grant.leaseMillis();
      UpstreamReport report = upstream.reports.get(id);
      ShareOwner owner = upstream.owners.get(id);
      if (report != null && report.draining()) {
        counted = lacks ? Math.min(counted, report.ongoing()) : counted;
      } else if (report != null
          && owner != null
          && owner.commanded.number() != 0
          && owner.commanded.number() == report.share().number()) {
        counted = Math.min(counted, Math.max(used(report), wantedSlots(owner.replica)));
        lease = report.share().leaseMillis() == leaseMillis ? leaseMillis : lease;
      }
      free -= counted;
      UpstreamGrant next = grant.with(counted, lease);
      next = owner == null ? next : next.endingAs(UpstreamGrant.of(owner.replica));
      if (!next.equals(grant)) {
        grants.add(next);
      }
      if (isSilent(grant)) {
        String node = grant.node().split("~")[0];
        silent = "%d of its slots may be in use on node %s, silent".formatted(counted, node);
      }
    }

    private static int used(UpstreamReport report) {
      return report.draining()
          ? report.ongoing()
          : Math.max(report.share().maximum(), report.ongoing());
    }

    /** Grants the slots that a replica uses although the log has lost their grant. */
    private void countUngranted(ShareOwner owner) {
      UpstreamReport report = upstream.reports.get(owner.replica.id);
      int used = report == null ? 0 : used(report);
      if (used > 0 && !upstream.grants.containsKey(owner.replica.id)) {
        free -= used;
        grants.add(UpstreamGrant.of(owner.replica).with(used, report.share().leaseMillis()));
      }
    }

    /** Grows the grant of a replica, or commands its share. */
    private void command(ShareOwner owner) {
      ReplicaRecord replica = owner.replica;
      int wanted = wantedSlots(replica);
      UpstreamGrant grant = upstream.grants.get(replica.id);
      int has = grant == null ? 0 : grant.maximum();
      int grows = Math.max(0, Math.min(wanted - has, free));
      replica.lacks = wanted > has + grows ? silent : "";
      if (!replica.isServing()) {
        return;
      }
      boolean isLonger = grant != null && isLonger(grant.leaseMillis());
      boolean isChanging = grants.stream().anyMatch(each -> each.replicaId().equals(replica.id));
      if ((grows > 0 || isLonger) && !isChanging) {
        free -= grows;
        UpstreamGrant next = grant == null ? UpstreamGrant.of(replica) : grant;
        grants.add(
            next.with(has + grows, grant == null || isLonger ? leaseMillis : grant.leaseMillis()));
      }
      UpstreamShare last = owner.commanded;
      int share = Math.min(wanted, has);
      long lease = isLonger ? grant.leaseMillis() : leaseMillis;
      boolean isFirst = last.number() == 0 && has == 0;
      if (!isFirst && !isChanging && (last.maximum() != share || last.leaseMillis() != lease)) {
        owner.commanded = new UpstreamShare(nextNumber(), share, lease);
        turn.add(new ShareUpstream(epoch, replica.node, replica.id, owner.commanded));
      }
    }

    private long nextNumber() {
      return epoch.generation() << 52 ^ epoch.term() << 20 ^ ++lastNumber;
    }
  }
}

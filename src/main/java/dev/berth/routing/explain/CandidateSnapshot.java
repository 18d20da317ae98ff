package dev.berth.routing.explain;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.routing.slots.ReplicaSet;
import dev.berth.routing.slots.RoutedReplica;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.Candidate;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The replicas of a deployment as an explained request found them.
 *
 * @param all number of replicas, including unlisted ones
 * @param upstreams keys of the upstreams of the listed replicas, by replica id
 */
public record CandidateSnapshot(
    RoutingSnapshot.SnapshotVersion snapshot,
    String policy,
    List<Candidate> candidates,
    int all,
    Map<String, String> upstreams) {

  private static final ReplicaRanker.Tier[] TIERS = ReplicaRanker.Tier.values(); // nearest first

  /**
   * Returns the replicas as one loop sees them, ranked ones first.
   *
   * @param ranking null if the request joined the queue at once, without a ranking
   * @param key key of the ranking, if the ranker read it and it exists
   */
  public static CandidateSnapshot of(
      ReplicaSet set, int loop, ReplicaRanker.@Nullable Ranking ranking, long key) {
    int all = set.eligible.length;
    int ranked = ranking == null ? 0 : ranking.size();
    int kept = Math.min(all, RequestExplanation.MAX_CANDIDATES);
    List<Candidate> candidates = new ArrayList<>(kept);
    Map<String, String> upstreams = new LinkedHashMap<>();
    boolean[] listed = new boolean[all];
    for (int at = 0; candidates.size() < kept; at++) { // ranked ones, then all
      int index = at < ranked ? ranking.get(at) : at - ranked;
      if (!listed[index]) {
        listed[index] = true;
        RequestRecorder.putUpstream(set.eligible[index], upstreams);
        candidates.add(candidate(set, loop, index, at < ranked ? at : -1));
      }
    }
    String name = set.ranker.name();
    String policy =
        key == ReplicaRanker.Asker.NO_KEY ? name : name + ", key " + Long.toHexString(key);
    return new CandidateSnapshot(set.version, policy, candidates, all, upstreams);
  }

  /** Returns only the snapshot and the ranker, for a request that looked at no replicas. */
  CandidateSnapshot withoutThem() {
    return new CandidateSnapshot(snapshot, policy, List.of(), 0, Map.of());
  }

  private static Candidate candidate(ReplicaSet set, int loop, int index, int rank) {
    RoutedReplica replica = set.eligible[index];
    ReplicaRanker.Candidates seen = set.seenFrom(loop);
    return new Candidate(
        replica.info.replicaId(),
        replica.info.address().node(),
        replica.addressFor(loop).loop(),
        replica.ongoing(),
        replica.maxOngoing(),
        replica.here(),
        replica.reportAgeNanos(),
        tier(seen, index),
        rank,
        set.ranker.score(seen, index));
  }

  private static ReplicaRanker.Tier tier(ReplicaRanker.Candidates seen, int index) {
    return Stream.of(TIERS)
        .filter(tier -> IntStream.of(seen.within(tier)).anyMatch(member -> member == index))
        .findFirst()
        .orElse(ReplicaRanker.Tier.ANY);
  }
}

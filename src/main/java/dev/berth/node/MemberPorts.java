package dev.berth.node;

import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.upstream.client.NameAddresses;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Ports of the cluster's nodes, which no upstream may have. */
final class MemberPorts {
  private volatile Map<String, Set<Integer>> known = Map.of(); // by address
  private Map<String, Set<Integer>> last = Map.of(); // by host; confined to the control loop

  /** Returns the ports by address, in its shortest form. Thread-safe. */
  Map<String, Set<Integer>> byAddress() {
    return known;
  }

  /** Looks the hosts of the members up, unless they are unchanged. */
  void update(Collection<Member> members, ContextInternal control) {
    Map<String, Set<Integer>> hosts = new HashMap<>();
    for (Member each : members) {
      NodeInfo node = each.node();
      Set<Integer> ports = hosts.computeIfAbsent(node.host(), none -> new TreeSet<>());
      ports.addAll(node.openPorts().values());
      ports.addAll(node.ports().others());
    }
    if (hosts.equals(last)) {
      return;
    }
    last = hosts;
    Map<String, Set<Integer>> found = new HashMap<>();
    List<Future<List<String>>> lookUps = new ArrayList<>();
    hosts.forEach(
        (host, ports) ->
            lookUps.add(
                NameAddresses.find(control, host)
                    .onSuccess(all -> all.forEach(each -> add(found, each, ports)))));
    Future.join(lookUps).onComplete(done -> publish(hosts, found, done.succeeded()));
  }

  private static void add(Map<String, Set<Integer>> to, String address, Set<Integer> ports) {
    to.computeIfAbsent(address, none -> new TreeSet<>()).addAll(ports);
  }

  private void publish(
      Map<String, Set<Integer>> hosts, Map<String, Set<Integer>> found, boolean complete) {
    if (last != hosts) {
      return; // a later list is being looked up
    }
    if (!complete) {
      known.forEach(found::putIfAbsent);
      last = Map.of(); // the next list looks all hosts up again
    }
    known = Map.copyOf(found);
  }
}

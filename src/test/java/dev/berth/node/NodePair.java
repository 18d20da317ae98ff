package dev.berth.node;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A control node and a worker of one cluster, for tests. */
final class NodePair implements AutoCloseable {
  /** The control node, then the worker. */
  final List<TestNode> nodes = new ArrayList<>();

  NodePair(Path folder) throws Exception {
    this(folder, "{}");
  }

  NodePair(Path folder, String limits) throws Exception {
    int control = ClusterIT.freePort();
    start(folder, "n1", control, "role: control", control, limits);
    start(folder, "n2", 0, "role: worker", control, limits);
  }

  private void start(Path folder, String name, int own, String role, int control, String limits)
      throws Exception {
    nodes.add(
        new TestNode(
            """
            http_options: {host: 127.0.0.1, port: 0}
            berth:
              event_loops: 2
              admin: {port: 0}
              state_dir: %s
              shutdown_timeout_s: 5
              limits: %s
              cluster:
                name: t
                node: %s
                %s
                control: ["n1@127.0.0.1:%d"]
                bind: 127.0.0.1
                insecure: true
                ports: {control: %d, data: 0, consensus: %d, https: 0}
                detection: {interval_ms: 100, timeout_ms: 1000}
            """
                .formatted(
                    folder.resolve(name), limits, name, role, control, own, ClusterIT.freePort())));
  }

  HttpResponse<String> deploy(String applications) {
    return nodes.get(0).admin("PUT", "/api/serve/applications/", applications);
  }

  @Override
  public void close() {
    for (int i = nodes.size() - 1; i >= 0; i--) {
      nodes.get(i).close();
    }
  }
}

package dev.berth.cli;

import dev.berth.cli.cluster.DevelopmentCertificates;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterOptions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Command {@code berth cluster init}: writes certificates and configurations for a trial cluster.
 */
@Command(
    name = "init",
    header = "Creates certificates and configurations of a cluster to try.",
    description = {
      "Writes to DIR a CA, and a certificate and a configuration for each node: n1 is the control"
          + " node, the others are workers, all on this machine with separate ports. DIR must be"
          + " absent or empty.",
      "The owner of ca-key.pem can create more nodes. No node needs it: store it elsewhere."
    },
    exitCodeList = {"0:made", "1:not made: DIR is not empty, or keytool failed", "2:wrong usage"},
    footer = {
      "  berth cluster init trial",
      "  berth cluster init trial --nodes 5 --name staging --worker-cert",
      "  berth cluster init trial --host n1=10.0.0.1 --host n2=10.0.0.2 \\",
      "    --host n3=10.0.0.3"
    })
final class ClusterInitCommand extends CliCommand {
  private static final int MAX_NODES = 50; // keeps node ports below the HTTP ports
  private static final int FIRST_TEN = 742; // the first node's ports start at 7420
  private static final int FIRST_HTTP_PORT = 8000;

  private static final String CONTROL = "n1";
  private static final List<String> HERE = List.of("127.0.0.1", "localhost", "::1");

  private static final String NODE =
      """
      # Node %1$s of a cluster to try, created by berth cluster init.
      http_options: {host: '%3$s', port: %4$d}
      berth:
        admin: {port: %5$d}
        state_dir: %1$s-state
        cluster:
          name: '%2$s'
          node: %1$s
          role: %6$s
          control: ['n1@%7$s:7420']
          bind: '%3$s'
          advertise: '%8$s'
          ports: {control: %9$d0, bus: %9$d1, data: %9$d2, consensus: %9$d3, https: %9$d4}
          tls: {cert_file: '%10$s.pem', key_file: '%10$s-key.pem', ca_file: ca.pem}
      """;

  @Parameters(paramLabel = "DIR", description = "Directory to create.")
  private Path folder;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      defaultValue = "3",
      description = "Number of nodes; at most " + MAX_NODES + ". Default: ${DEFAULT-VALUE}")
  private int nodes;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      defaultValue = "trial",
      description = "Name of the cluster. Default: ${DEFAULT-VALUE}")
  private String name;

  @Option(
      names = "--host",
      paramLabel = "NODE=HOST",
      description =
          "Host name or address of a node for the others: it is put into the certificate, and the"
              + " node listens on every address of its machine.")
  private Map<String, String> hosts = new LinkedHashMap<>();

  @Option(
      names = "--worker-cert",
      description =
          "Creates one certificate for all workers, worker.NAME, which admits them under any name.")
  private boolean shared;

  @Option(names = "--json", description = "Prints the created files as JSON.")
  private boolean json;

  @Override
  void run(PrintWriter out) throws InterruptedException {
    List<String> names = IntStream.rangeClosed(1, nodes).mapToObj(i -> "n" + i).toList();
    check(names);
    try {
      Files.createDirectories(folder);
      try (Stream<Path> inside = Files.list(folder)) {
        if (inside.findAny().isPresent()) {
          throw failure(folder + ": not empty (expected: an empty folder, or none)");
        }
      }
      writeCertificates(names);
      for (String node : names) {
        Files.writeString(file(node), configuration(node, names.indexOf(node)));
      }
    } catch (IOException | GeneralSecurityException failed) {
      throw failure(folder + ": " + failed);
    }
    print(names);
  }

  private void check(List<String> names) {
    if (nodes < 1 || nodes > MAX_NODES) {
      throw wrong("--nodes: " + nodes + " (expected: 1 to " + MAX_NODES + ")");
    }
    if (!ClusterOptions.isName(name)) {
      throw wrong("--name: " + name + " (expected: 1 to 63 of a-z, 0-9 and -)");
    }
    hosts.forEach(
        (node, host) -> {
          boolean anothers =
              !host.equals(node) && (names.contains(host) || host.equals(anyWorker()));
          if (anothers || !names.contains(node) || !host.matches("[A-Za-z0-9.:-]+")) {
            String expected = "one of the nodes, and a host that is not the name of another";
            throw wrong("--host: " + node + "=" + host + " (expected: " + expected + ")");
          }
        });
  }

  private void writeCertificates(List<String> names)
      throws IOException, GeneralSecurityException, InterruptedException {
    Map<String, Set<String>> certificates = new LinkedHashMap<>();
    for (String node : names) {
      certificates
          .computeIfAbsent(certificate(node), none -> new LinkedHashSet<>(HERE))
          .add(host(node));
    }
    DevelopmentCertificates.write(folder, name, certificates);
  }

  private String anyWorker() {
    return "worker." + name;
  }

  private String certificate(String node) {
    return shared && !node.equals(CONTROL) ? anyWorker() : node;
  }

  private String host(String node) {
    return hosts.getOrDefault(node, HERE.get(0));
  }

  private Path file(String node) {
    return folder.resolve(node + ".yaml");
  }

  private String configuration(String node, int index) {
    String control = host(CONTROL);
    return NODE.formatted(
        node,
        name,
        hosts.containsKey(node) ? "0.0.0.0" : HERE.get(0),
        FIRST_HTTP_PORT + index,
        AdminOptions.DEFAULT_PORT + index,
        node.equals(CONTROL) ? "control" : "worker",
        control.contains(":") ? "[" + control + "]" : control,
        host(node),
        FIRST_TEN + index,
        certificate(node));
  }

  private void print(List<String> names) {
    List<String> starts = names.stream().map(node -> "berth run " + file(node)).toList();
    List<String> then =
        List.of(
            "berth deploy conf/quickstart.yaml --wait",
            "berth status --address http://127.0.0.1:" + (AdminOptions.DEFAULT_PORT + nodes - 1),
            "curl -s http://127.0.0.1:" + (FIRST_HTTP_PORT + nodes - 1) + "/echo -d hello");
    String text =
        """
        %s: cluster %s, %d nodes
        Start the nodes, each in a terminal of its own:
          %s
        Then deploy to one node, and send a request to another:
          %s"""
            .formatted(folder, name, nodes, String.join("\n  ", starts), String.join("\n  ", then));
    show(json, new JsonObject().put("start", starts).put("then", then), () -> List.of(text));
  }
}

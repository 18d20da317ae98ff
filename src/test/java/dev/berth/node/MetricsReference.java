package dev.berth.node;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code docs/metrics.md}, made from what an instance exports. */
final class MetricsReference {
  /** What begins like one of Ray's and is ours. */
  private static final Set<String> OURS = Set.of("serve_zombie_requests");

  /** Labels that only some kinds of metrics have, and those of the format itself. */
  private static final Set<String> FORMAT = Set.of("le");

  private static final Pattern LABEL = Pattern.compile("([a-zA-Z_]+)=\"(?:[^\"\\\\]|\\\\.)*\"");

  private static final String INTRODUCTION =
      """
      # Metrics

      `GET /metrics` of the admin server returns the Prometheus text format, or OpenMetrics if the
      client accepts it. Components own their counters, which a scrape reads: requests push nothing and
      look nothing up by labels. A gauge of requests in flight is the difference of two counters, so at
      rest it is 0.

      - Names that begin with `serve_` are Ray Serve's and have Ray's meaning, with the differences
        below. Ray exports them as `ray_serve_…`. With `berth.metrics.prefix: ray_` Berth does the same,
        for dashboards made for Ray Serve. Names that begin with `berth_` are Berth's own.
      - Counters end in `_total` and never fall while their owner lives; a replica's series end with it.
      - A counter with the label `replica` appears with its first count, and a histogram with its first
        observation. Prometheus' `rate` and `increase` miss the count with which a series appears. All
        other counters begin at 0, such as `serve_handle_request_counter_total` of routers, and so do the
        counters and histograms of user code.
      - An idle replica has seven series, about 0.8 KB. Gauges of replicas without the label `replica`,
        and their limits, are sums over the replicas of the deployment on the instance. `berth ledger`
        shows the zombies and the audit of each replica, and the log names a suspect replica.
      - Histograms are in milliseconds, in Ray's buckets: 1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500,
        1 000, 2 000, 5 000, 10 000, 60 000, 120 000, 300 000, 600 000.
      - In a cluster every series also has `node_id`, the name and process of the node, as in REST. On a
        single instance only the series listed below have it.
      - A limited quantity has a second gauge, `…_limit`.
      - Labels are bounded: routes come from the configuration, unknown methods are `OTHER`, and a replica
        distinguishes 32 classes of failures and counts the rest as `other`.
      - User code can register [its own meters](guide/handlers.md#the-context), with help texts by `describe`.
      - `deploy/prometheus` and `deploy/grafana` have [alerts and a dashboard](guide/operations.md#monitoring).

      ## Vert.x's own

      Components of Vert.x listed in `berth.metrics.vertx` export their own metrics too; the default is
      none. These have no labels for methods and routes, since clients choose them. All components
      together cost a no-op 1.23 times the CPU (1.03 to 1.45, equal servers 0.73 to 1.10), by
      `bash load-tests/run.sh --only=vertx-metrics`.

      | component | prefix | examples |
      |---|---|---|
      | `http_server` | `vertx_http_server_` | `active_connections`, `active_requests`, `requests_total`, `bytes_read_total`, `response_time_seconds` |
      | `http_client` | `vertx_http_client_` | the same for clients that an application creates with the instance's Vert.x |
      | `net` | `vertx_net_server_`, `vertx_net_client_` | plain TCP servers and clients of an application; HTTP counts its own bytes |
      | `event_bus` | `vertx_eventbus_` | `handlers`, `pending`, `sent_total`, `delivered_total`, `bytes_written_total` between instances |
      | `pools` | `vertx_pool_` | `in_use`, `queue_pending`, `queue_time_seconds`, `usage_seconds` of worker and connection pools |

      ## Differences from Ray Serve

      - There are no actors, so `actor_id` is omitted. All handles of an instance to a deployment share
        one router, so `handle` and `handle_source` are omitted: there is one series per deployment and
        instance.
      - `route` of routers and replicas is the route prefix of the application, which has one at most.
      - `exception_type` is the full name of the class, and so is `exception_name`. Each call of a hook
        counts in `serve_user_autoscaling_stats_latency_ms`, including failed calls.
      - `serve_request_router_fulfillment_time_ms` reads no clock for a request with a free slot:
        it counts as 0.
      - `serve_health_check_latency_ms` includes the checks of ended replicas, until the deployment is
        removed.
      - `serve_replica_utilization_percent` is the mean of samples of busy slots, ten a second, so a
        request counts while it runs; Ray adds it at the end.
      - `serve_deployment_replica_starts` is 1 for each started replica: replicas are never restarted but
        replaced.
      - `serve_autoscaling_desired_replicas` is the number required by the ratio or the policy, with its
        factor, before bounds. `serve_autoscaling_handle_metrics_delay_ms` and its counterpart for
        replicas are absent: reports are stamped on arrival, and `berth autoscaling` shows their age.
      - Without a counterpart: `serve_router_args_resolution_latency_ms` (no arguments to resolve),
        `serve_num_scheduling_tasks…` (no such tasks), `serve_event_loop_tasks`,
        `serve_long_poll_…`, `serve_haproxy_…`, gRPC. Metrics of the controller and multiplexing
        come with these features.

      The tables below are generated from the export of an instance; a test compares them.
      """;

  /** One family of a scrape. */
  private static final class Family {
    String type = "";
    String help = "";
    final Set<String> labels = new LinkedHashSet<>();
  }

  private MetricsReference() {}

  /**
   * @param exposition in the Prometheus text format
   */
  static String render(String exposition) {
    Map<String, Family> families = parse(exposition);
    StringBuilder page = new StringBuilder(INTRODUCTION);
    page.append("\n## Ray Serve's\n");
    table(families, true, page);
    page.append("\n## Berth's own\n");
    table(families, false, page);
    return page.toString();
  }

  private static void table(Map<String, Family> families, boolean rays, StringBuilder page) {
    page.append("\n| name | type | labels | unit | meaning |\n|---|---|---|---|---|\n");
    families.forEach(
        (name, family) -> {
          if (isRays(name) == rays) {
            page.append("| `").append(name).append("` | ").append(family.type).append(" | ");
            page.append(
                family.labels.isEmpty() ? "" : "`" + String.join("`, `", family.labels) + "`");
            page.append(" | ").append(unit(name));
            page.append(" | ").append(family.help).append(" |\n");
          }
        });
  }

  private static boolean isRays(String name) {
    return name.startsWith("serve_") && !OURS.contains(name);
  }

  private static String unit(String name) {
    String bare = name.replaceAll("_total$|_limit$", "");
    if (bare.endsWith("_ms")) {
      return "ms";
    }
    if (bare.endsWith("_percent")) {
      return "%";
    }
    return bare.endsWith("_bytes") ? "bytes" : "";
  }

  private static Map<String, Family> parse(String exposition) {
    Map<String, Family> families = new TreeMap<>();
    List<String> samples = new ArrayList<>();
    for (String line : exposition.lines().toList()) {
      String[] words = line.split(" ", 4);
      if (line.startsWith("# TYPE ")) {
        families.computeIfAbsent(words[2], name -> new Family()).type = words[3];
      } else if (line.startsWith("# HELP ")) {
        families.computeIfAbsent(words[2], name -> new Family()).help = words[3];
      } else if (!line.isBlank()) {
        samples.add(line);
      }
    }
    for (String sample : samples) {
      String name = sample.split("[{ ]", 2)[0];
      Family family = families.get(name);
      if (family == null) {
        family = families.get(name.replaceAll("_(bucket|sum|count)$", ""));
      }
      Matcher label = LABEL.matcher(sample);
      while (label.find()) {
        if (!FORMAT.contains(label.group(1))) {
          family.labels.add(label.group(1));
        }
      }
    }
    families.values().stream()
        .filter(each -> !each.labels.contains("node_ip_address"))
        .forEach(each -> each.labels.remove("node_id")); // which all have in a cluster
    return families;
  }
}

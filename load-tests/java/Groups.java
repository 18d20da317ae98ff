import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What is measured. */
final class Groups {
  private final Path work;
  private final boolean quick;
  private final int rounds;
  private final int seconds;

  /**
   * @param work where {@code cert.pem} is, with {@code key.pem} beside it
   * @param quick short, and without the rows that only fill the picture
   */
  Groups(Path work, boolean quick, int rounds, int seconds) {
    this.work = work;
    this.quick = quick;
    this.rounds = rounds;
    this.seconds = seconds;
  }

  /** What a quick run does not do. */
  static final String LEFT_OUT =
      "c=1 and c=8; http2-tls; raw again (A/A) where there is no budget; a second round of all but"
          + " one-loop and two-loops";

  List<Group> all() {
    List<Group> all =
        new ArrayList<>(
            List.of(oneLoop(), twoLoops(), calls(), streams(), large(), tls(), http2()));
    if (!quick) {
      all.add(http2Tls());
    }
    all.add(connections());
    return all;
  }

  private Group group(
      String name,
      String title,
      String operation,
      int times,
      List<ServerSpec> servers,
      List<Row> rows) {
    return new Group(name, title, operation, servers, rows, times, seconds, warmUpSeconds());
  }

  /** One without a budget: fewer rounds, and in a quick run not the raw server twice. */
  private Group besides(String name, String title, List<ServerSpec> servers, List<Row> rows) {
    return besides(name, title, servers, rows, seconds);
  }

  private Group besides(
      String name, String title, List<ServerSpec> servers, List<Row> rows, int each) {
    return new Group(
        name,
        title,
        "request",
        quick ? servers.subList(0, 2) : servers,
        quick ? List.of(rows.get(0), rows.get(2)) : rows,
        quick ? 1 : (rounds + 1) / 2,
        each,
        warmUpSeconds());
  }

  private int warmUpSeconds() {
    return quick ? 1 : 6;
  }

  private static ServerSpec berth(String key, Configuration configuration) {
    return new ServerSpec.Berth(key, configuration);
  }

  private static ServerSpec raw(String key, int loops, String playsBack) {
    return raw(key, "reply", loops, playsBack, "/");
  }

  private static ServerSpec raw(String key, String kind, int loops, String playsBack, String path) {
    return new ServerSpec.Raw(key, kind, loops, playsBack, path, Optional.empty());
  }

  private Group oneLoop() {
    List<Row> rows = new ArrayList<>();
    rows.add(Row.of("raw-1", "raw Vert.x", "raw", "/", 64));
    rows.add(Row.of("raw-1-again", "raw again (A/A)", "raw again", "/", 64).against("raw-1"));
    rows.add(Row.of("web-1", "vertx-web", "vertx-web", "/", 64).against("raw-1", "raw-1-again"));
    rows.add(
        Row.of("no-op-1", "Berth no-op, same loop", "berth", "/", 64)
            .against("raw-1", "raw-1-again"));
    for (int connections : quick ? new int[] {} : new int[] {1, 8}) {
      String raw = "raw-1-c" + connections;
      rows.add(Row.of(raw, "raw Vert.x", "raw", "/", connections));
      rows.add(
          Row.of("no-op-1-c" + connections, "Berth no-op, same loop", "berth", "/", connections)
              .against(raw));
    }
    return group(
        "one-loop",
        "a no-op on one event loop",
        "request",
        rounds,
        List.of(
            berth("berth", Configuration.noOp(1, "single")),
            raw("raw", 1, "berth"),
            raw("raw again", 1, "berth"),
            raw("vertx-web", "web", 1, "berth", "/")),
        rows);
  }

  private Group twoLoops() {
    return group(
        "two-loops",
        "a no-op on two event loops",
        "request",
        rounds,
        List.of(
            berth("spread", Configuration.noOp(2, "event_loops")),
            berth("single", Configuration.noOp(2, "single")),
            raw("raw", 2, "spread"),
            raw("raw again", 2, "spread")),
        List.of(
            Row.of("raw-2", "raw Vert.x", "raw", "/", 64),
            Row.of("raw-2-again", "raw again (A/A)", "raw again", "/", 64).against("raw-2"),
            Row.of("no-op-spread", "Berth no-op, spread over the loops", "spread", "/", 64)
                .against("raw-2", "raw-2-again"),
            Row.of("no-op-other", "Berth no-op, on one of the loops", "single", "/", 64)
                .against("raw-2", "raw-2-again")));
  }

  /** All of one process: the path says how the parent calls. */
  private Group calls() {
    List<Row> rows = new ArrayList<>();
    rows.add(Row.of("call", "composition, plain call", "calls", "/call", 64));
    rows.add(Row.of("call-again", "plain call again (A/A)", "calls", "/call", 64).against("call"));
    rows.add(
        Row.of("choose", "composition, choose + dispatch", "calls", "/choose", 64)
            .against("call", "call-again"));
    if (!quick) {
      rows.add(Row.of("call-c1", "composition, plain call", "calls", "/call", 1));
      rows.add(
          Row.of("call-c1-again", "plain call again (A/A)", "calls", "/call", 1)
              .against("call-c1"));
      rows.add(
          Row.of("choose-c1", "composition, choose + dispatch", "calls", "/choose", 1)
              .against("call-c1", "call-c1-again"));
    }
    rows.add(
        Row.of("handle-call", "of 100 in turn: plain call", "calls", "/call-100", 1).counting(100));
    rows.add(
        Row.of("handle-call-again", "of 100 in turn: again (A/A)", "calls", "/call-100", 1)
            .counting(100)
            .against("handle-call"));
    rows.add(
        Row.of("handle-choose", "of 100 in turn: choose + dispatch", "calls", "/choose-100", 1)
            .counting(100)
            .against("handle-call", "handle-call-again"));
    return group(
        "calls",
        "a parent calls its child, one event loop, one process",
        "request, and in the last rows per call",
        quick ? 1 : rounds,
        List.of(berth("calls", Configuration.noOp(1, "single").of("Calls:build", "{}", "child"))),
        rows);
  }

  private Group streams() {
    return group(
        "streams",
        "100 events of 20 bytes in a response, so events are 100 x per s; one event loop",
        "response",
        quick ? 1 : rounds,
        List.of(
            berth("berth", Configuration.noOp(1, "single").of("Streams:build", "{}", "streams")),
            raw("raw", "streams", 1, "berth", "/tick"),
            raw("raw again", "streams", 1, "berth", "/tick")),
        List.of(
            Row.of("raw-tick", "raw Vert.x, all in one tick", "raw", "/tick", 16),
            Row.of("raw-tick-again", "raw again (A/A)", "raw again", "/tick", 16)
                .against("raw-tick"),
            Row.of("tick", "Berth, all in one tick", "berth", "/tick", 16)
                .against("raw-tick", "raw-tick-again"),
            Row.of("raw-hop", "raw Vert.x, a tick for each", "raw", "/hop", 16),
            Row.of("raw-hop-again", "raw again (A/A)", "raw again", "/hop", 16).against("raw-hop"),
            Row.of("hop", "Berth, a tick for each", "berth", "/hop", 16)
                .against("raw-hop", "raw-hop-again")));
  }

  private Group large() {
    return besides(
        "large",
        "a response of 1 MiB, one event loop",
        List.of(
            berth(
                "berth",
                Configuration.noOp(1, "single").of("NoOp:build", "{body_bytes: 1048576}", "no-op")),
            raw("raw", 1, "berth"),
            raw("raw again", 1, "berth")),
        against("large", Load.wrk(), 16));
  }

  private Group tls() {
    return besides(
        "tls", "a no-op over TLS, one event loop", tlsServers(), against("tls", Load.wrk(), 64));
  }

  private Group http2() {
    return besides(
        "http2",
        "a no-op over HTTP/2 without TLS, one event loop",
        plainServers(),
        against("http2", Load.h2load(work), 64));
  }

  private Group http2Tls() {
    return besides(
        "http2-tls",
        "a no-op over HTTP/2 with TLS, one event loop",
        tlsServers(),
        against("http2-tls", Load.h2load(work), 64));
  }

  private Group connections() {
    return besides(
        "connections",
        "a no-op, 4 096 connections, one event loop",
        plainServers(),
        against("connections", Load.wrk(), 4096),
        seconds + 2); // a connection that finds the backlog full tries again after a second
  }

  private static List<ServerSpec> plainServers() {
    return List.of(
        berth("berth", Configuration.noOp(1, "single")),
        raw("raw", 1, "berth"),
        raw("raw again", 1, "berth"));
  }

  private List<ServerSpec> tlsServers() {
    Path certificate = work.resolve("cert.pem");
    return List.of(
        berth("berth", Configuration.noOp(1, "single").tls(certificate)),
        new ServerSpec.Raw("raw", "reply", 1, "berth", "/", Optional.of(certificate)),
        new ServerSpec.Raw("raw again", "reply", 1, "berth", "/", Optional.of(certificate)));
  }

  /** Raw, raw again and Berth. */
  private static List<Row> against(String id, Load.Client client, int connections) {
    String raw = "raw-" + id;
    String again = raw + "-again";
    return List.of(
        Row.of(raw, "raw Vert.x", "raw", "/", connections).by(client),
        Row.of(again, "raw again (A/A)", "raw again", "/", connections).by(client).against(raw),
        Row.of(id, "Berth", "berth", "/", connections).by(client).against(raw, again));
  }
}

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What is measured. */
final class Groups {
  /** What a quick run does not do. */
  static final String LEFT_OUT =
      "TLS; calls without HTTP; c=1 of choose + dispatch; vertx-web; messages over the event bus;"
          + " Vert.x's own meters; a split of one way; the quickstart; another node; idle (--only"
          + " of such a group measures it)";

  /** Groups that a quick run leaves out unless it names them, and that a full run starts once. */
  static final Set<String> SECONDARY =
      Set.of("tls", "messages", "vertx-metrics", "traffic", "quickstart", "remote");

  private static final int UPLOAD_BYTES = 1 << 20;

  /** Marks the ids of rows of the jar that is compared with, and of its second server. */
  private static final String BEFORE = "before-";

  private static final String AGAIN = "-again";
  private static final Ask ROOT = Ask.get("/");
  private static final Ask ECHO = Ask.post("/", "0123456789abcdef".repeat(64));

  private final Path work;
  private final boolean quick;

  /**
   * @param work where {@code cert.pem} is, with {@code key.pem} beside it
   * @param quick without the rows that only fill the picture
   */
  Groups(Path work, boolean quick) {
    this.work = work;
    this.quick = quick;
  }

  /** Berth beside a raw server, and beside itself. */
  List<Group> ofThisJar() {
    List<Group> all = new ArrayList<>(besideRaw());
    all.add(quickstart()); // its examples need not run with a jar before
    all.add(remote());
    all.add(messages()); // a jar before may not know the keys
    all.add(vertxMetrics());
    all.add(traffic());
    return all;
  }

  /** Berth beside a raw server. */
  private List<Group> besideRaw() {
    return List.of(
        oneLoop(),
        twoLoops(),
        echo(),
        calls(),
        streams(),
        large(),
        upload("upload", "whole"),
        upload("upload-streamed", "streamed"),
        refusals(),
        tls());
  }

  /** Each row of Berth beside the same of another jar, which is there twice. */
  List<Group> besideBefore() {
    List<Group> all = new ArrayList<>();
    for (Group group : besideRaw()) {
      List<ServerSpec> servers = new ArrayList<>();
      for (ServerSpec spec : group.servers()) {
        if (spec instanceof ServerSpec.Berth berth) {
          servers.add(berth);
          for (String key : List.of(before(berth.key()), before(berth.key()) + AGAIN)) {
            servers.add(new ServerSpec.Berth(key, berth.configuration(), true));
          }
        }
      }
      List<List<Row>> heats = new ArrayList<>();
      for (Row row : group.rows()) {
        boolean berth = servers.stream().anyMatch(spec -> spec.key().equals(row.server()));
        if (berth && !row.id().endsWith(AGAIN)) {
          heats.add(besideBefore(row));
        }
      }
      all.add(
          new Group(group.name(), group.title(), group.operation(), servers, heats, group.full()));
    }
    return all;
  }

  private static String before(String id) {
    return BEFORE + id;
  }

  private static List<Row> besideBefore(Row row) {
    String before = before(row.id());
    String again = before + AGAIN;
    return List.of(
        row.of(before, row.name() + ", before", before(row.server())),
        row.of(row.id(), row.name(), row.server()).against(before, again),
        row.of(again, row.name() + ", before again (A/A)", before(row.server()) + AGAIN)
            .against(before));
  }

  private static ServerSpec berth(String key, Configuration configuration) {
    return new ServerSpec.Berth(key, configuration, false);
  }

  private static ServerSpec raw(String key, String kind, int loops, String playsBack, Ask ask) {
    return new ServerSpec.Raw(key, kind, loops, playsBack, ask, Optional.empty());
  }

  /** With a raw server and its equal. */
  private static List<ServerSpec> besideRaw(ServerSpec berth, String kind, int loops, Ask ask) {
    return List.of(
        berth,
        raw("raw", kind, loops, berth.key(), ask),
        raw("raw again", kind, loops, berth.key(), ask));
  }

  /** Raw, the row, and raw again, so that both of the others stand beside the row. */
  private static List<Row> besideRaw(Row berth) {
    String raw = "raw-" + berth.id();
    return List.of(
        berth.of(raw, "raw Vert.x", "raw"),
        berth.against(raw, raw + AGAIN),
        berth.of(raw + AGAIN, "raw again (A/A)", "raw again").against(raw));
  }

  private Group oneLoop() {
    List<ServerSpec> servers = new ArrayList<>();
    servers.addAll(besideRaw(berth("berth", Configuration.noOp(1, "single")), "reply", 1, ROOT));
    List<Row> first = new ArrayList<>(besideRaw(noOp("no-op-1", 64)));
    List<List<Row>> heats = new ArrayList<>();
    heats.add(first);
    heats.add(besideRaw(noOp("no-op-1-c1", 1)));
    heats.add(besideRaw(noOp("no-op-1-c1024", 1024)));
    heats.add(besideRaw(noOp("connections", 4096)));
    heats.add(
        besideRaw(
            Row.of("http2", "Berth no-op, HTTP/2 without TLS", "berth", ROOT, 64).overHttp2()));
    if (!quick) {
      servers.add(raw("vertx-web", "web", 1, "berth", ROOT));
      first.add(
          Row.of("web-1", "vertx-web", "vertx-web", ROOT, 64)
              .against("raw-no-op-1", "raw-no-op-1-again"));
      heats.add(
          List.of(
              Row.of("unexplained", "Berth no-op", "berth", ROOT, 64),
              Row.of(
                      "explained",
                      "Berth no-op, each request explained",
                      "berth",
                      ROOT.with("X-Berth-Explain: 1"),
                      64)
                  .against("unexplained", "unexplained-again"),
              Row.of("unexplained-again", "Berth no-op again (A/A)", "berth", ROOT, 64)
                  .against("unexplained")));
    }
    return new Group("one-loop", "a no-op on one event loop", "request", servers, heats, "");
  }

  private static Row noOp(String id, int connections) {
    return Row.of(id, "Berth no-op, same loop", "berth", ROOT, connections);
  }

  private Group twoLoops() {
    List<ServerSpec> servers = new ArrayList<>();
    servers.addAll(
        besideRaw(berth("spread", Configuration.noOp(2, "event_loops")), "reply", 2, ROOT));
    servers.add(berth("single", Configuration.noOp(2, "single")));
    List<Row> rows = new ArrayList<>();
    rows.addAll(
        besideRaw(
            Row.of("no-op-spread", "Berth no-op, spread over the loops", "spread", ROOT, 64)));
    rows.add(
        Row.of("no-op-other", "Berth no-op, on one of the loops", "single", ROOT, 64)
            .against("raw-no-op-spread", "raw-no-op-spread-again"));
    return new Group(
        "two-loops", "a no-op on two event loops", "request", servers, List.of(rows), "");
  }

  private Group messages() {
    return besideWithout(
        "messages",
        "a no-op on the other of two event loops",
        Configuration.noOp(2, "single"),
        Row.of("messages-direct", "Berth no-op, on one of the loops", "berth", ROOT, 64),
        "messages-event-bus",
        "the same, over the event bus",
        "messages: event_bus");
  }

  private Group vertxMetrics() {
    return besideWithout(
        "vertx-metrics",
        "a no-op with Vert.x's own meters",
        Configuration.noOp(1, "single"),
        Row.of("vertx-metrics-off", "Berth no-op, without Vert.x meters", "berth", ROOT, 64),
        "vertx-metrics-on",
        "the same, with all of berth.metrics.vertx",
        "metrics: {vertx: [http_server, http_client, net, event_bus, pools]}");
  }

  /** A line of {@code berth} beside the same without it, twice. */
  private static Group besideWithout(
      String name,
      String title,
      Configuration without,
      Row row,
      String id,
      String said,
      String line) {
    return new Group(
        name,
        title,
        "request",
        List.of(
            berth("berth", without),
            berth("berth again", without),
            berth("with", without.with(line))),
        List.of(
            List.of(
                row,
                row.of(id, said, "with").against(row.id(), row.id() + AGAIN),
                row.of(row.id() + AGAIN, "Berth no-op again (A/A)", "berth again")
                    .against(row.id()))),
        "");
  }

  /** Rows of one process: the path says whether a split of one way stands before the pick. */
  private Group traffic() {
    Configuration both =
        Configuration.noOp(1, "single")
            .with(
                "endpoints: [{route_prefix: /one,"
                    + " traffic: [{application: load-test, deployment: no-op, weight: 1}]}]");
    Ask byOneWay = Ask.get("/one");
    return new Group(
        "traffic",
        "a no-op behind a split of one way",
        "request",
        besideRaw(berth("berth", both), "reply", 1, byOneWay),
        List.of(
            besideRaw(
                Row.of("one-way", "Berth no-op, by a split of one way", "berth", byOneWay, 64)),
            List.of(
                Row.of("unsplit", "Berth no-op", "berth", ROOT, 64),
                Row.of("split", "Berth no-op, by a split of one way", "berth", byOneWay, 64)
                    .against("unsplit", "unsplit" + AGAIN),
                Row.of("unsplit" + AGAIN, "Berth no-op again (A/A)", "berth", ROOT, 64)
                    .against("unsplit"))),
        "");
  }

  private Group echo() {
    Configuration configuration =
        Configuration.noOp(2, "event_loops").of("NoOp:echo", "{}", "echo");
    List<List<Row>> heats = new ArrayList<>();
    for (int connections : quick ? new int[] {64} : new int[] {64, 1}) {
      heats.add(
          besideRaw(
              Row.of(
                  connections == 64 ? "echo" : "echo-c" + connections,
                  "Berth echo of 1 KiB, spread over the loops",
                  "berth",
                  ECHO,
                  connections)));
    }
    return new Group(
        "echo",
        "a body comes back, two event loops",
        "request",
        besideRaw(berth("berth", configuration), "echo", 2, ECHO),
        heats,
        "");
  }

  /** Berth's rows are all of one process: the path says how the parent calls. */
  private Group calls() {
    Ask call = Ask.get("/call");
    List<List<Row>> heats = new ArrayList<>();
    heats.add(besideRaw(Row.of("composition", "Berth, a call in a request", "berth", call, 64)));
    heats.add(choosing("", "", 64));
    if (!quick) {
      heats.add(choosing("-c1", "", 1));
      heats.add(choosing("", "-100", 1));
    }
    return new Group(
        "calls",
        "a parent calls its child, one event loop",
        "request, and in the last rows per call",
        besideRaw(
            berth("berth", Configuration.noOp(1, "single").of("Calls:build", "{}", "child")),
            "reply",
            1,
            call),
        heats,
        "");
  }

  private static List<Row> choosing(String at, String times, int connections) {
    boolean many = !times.isEmpty();
    String id = many ? "handle-call" : "call" + at;
    String of = many ? "100 in sequence: " : "composition, ";
    int operations = many ? 100 : 1;
    Ask call = Ask.get("/call" + times);
    Row plain = Row.of(id, of + "plain call", "berth", call, connections).counting(operations);
    return List.of(
        plain,
        Row.of(
                many ? "handle-choose" : "choose" + at,
                of + "choose + dispatch",
                "berth",
                Ask.get("/choose" + times),
                connections)
            .counting(operations)
            .against(id, id + AGAIN),
        plain.of(id + AGAIN, of + "plain call again (A/A)", "berth").against(id));
  }

  private Group streams() {
    Ask tick = Ask.get("/tick");
    return new Group(
        "streams",
        "100 events of 20 bytes in a response, one event loop",
        "response",
        besideRaw(
            berth("berth", Configuration.noOp(1, "single").of("Streams:build", "{}", "streams")),
            "streams",
            1,
            tick),
        List.of(
            besideRaw(Row.of("tick", "Berth, events all in one tick", "berth", tick, 16)),
            besideRaw(Row.of("hop", "Berth, a tick for each event", "berth", Ask.get("/hop"), 16))),
        "");
  }

  private Group large() {
    return new Group(
        "large",
        "a whole body of 1 MiB, one event loop",
        "response",
        besideRaw(
            berth(
                "berth",
                Configuration.noOp(1, "single").of("NoOp:build", "{body_bytes: 1048576}", "no-op")),
            "reply",
            1,
            ROOT),
        List.of(besideRaw(Row.of("large", "Berth, 1 MiB", "berth", ROOT, 16))),
        "");
  }

  /** The name is that of the row and the raw server's kind too. */
  private static Group upload(String name, String how) {
    Ask ask = Ask.post("/", "0123456789abcdef".repeat(UPLOAD_BYTES / 16));
    return new Group(
        name,
        "a body of 1 MiB comes in, " + how + ", one event loop",
        "request",
        besideRaw(
            berth("berth", Configuration.noOp(1, "single").of("Uploads:" + how, "{}", "upload")),
            name,
            1,
            ask),
        List.of(besideRaw(Row.of(name, "Berth, 1 MiB in, " + how, "berth", ask, 16))),
        "");
  }

  /** The process that {@code berth run conf/quickstart.yaml} starts. */
  private Group quickstart() {
    Ask echo = Ask.post("/echo", "0123456789abcdef".repeat(4));
    // One picture of 8 x 8 shades from 0 to 16.
    String pixels =
        IntStream.range(0, 64)
            .mapToObj(i -> String.valueOf(i * 7 % 17))
            .collect(Collectors.joining(", ", "[", "]"));
    Row sent =
        Row.of(
            "picture-echo", "Berth, /echo of 64 numbers", "berth", Ask.post("/echo", pixels), 64);
    return new Group(
        "quickstart",
        "conf/quickstart.yaml, two event loops",
        "request",
        besideRaw(
            new ServerSpec.Started("berth", servers -> servers.quickstart("quickstart")),
            "echo",
            2,
            echo),
        List.of(
            besideRaw(Row.of("quickstart-echo", "Berth, /echo of 64 bytes", "berth", echo, 64)),
            List.of(
                sent,
                Row.of(
                        "digits",
                        "Berth, /classify of 64 numbers",
                        "berth",
                        Ask.post("/classify", pixels).with("Content-Type: application/json"),
                        64)
                    .against(sent.id(), sent.id() + AGAIN),
                sent.of(sent.id() + AGAIN, sent.name() + " again (A/A)", "berth")
                    .against(sent.id()))),
        "");
  }

  /** The CPU time of Berth's rows is that of both nodes. */
  private Group remote() {
    return new Group(
        "remote",
        "a no-op that one node asks of another, one event loop each",
        "request",
        besideRaw(
            new ServerSpec.Started("berth", servers -> servers.remote("remote")), "reply", 1, ROOT),
        List.of(
            besideRaw(Row.of("remote", "Berth no-op, of another node", "berth", ROOT, 64)),
            besideRaw(Row.of("remote-c1", "Berth no-op, of another node", "berth", ROOT, 1))),
        "");
  }

  /** What is refused beside what is answered, in one process. */
  private Group refusals() {
    Ask ok = Ask.get("/ok");
    return new Group(
        "refusals",
        "what is refused, one event loop",
        "request",
        List.of(berth("berth", Configuration.noOp(1, "single").besideBusy())),
        List.of(
            List.of(
                Row.of("answered", "Berth, a 200", "berth", ok, 64),
                Row.of(
                        "refused",
                        "Berth, a 503 at a full queue",
                        "berth",
                        Ask.get("/busy").expecting(503),
                        64)
                    .against("answered", "answered-again"),
                Row.of("answered-again", "Berth, a 200 again (A/A)", "berth", ok, 64)
                    .against("answered"),
                Row.of("unknown", "Berth, a 404", "berth", Ask.get("/").expecting(404), 64)
                    .against("answered", "answered-again"))),
        "/busy");
  }

  private Group tls() {
    Path certificate = work.resolve("cert.pem");
    return new Group(
        "tls",
        "a no-op over TLS, one event loop",
        "request",
        List.of(
            berth("berth", Configuration.noOp(1, "single").tls(certificate)),
            new ServerSpec.Raw("raw", "reply", 1, "berth", ROOT, Optional.of(certificate)),
            new ServerSpec.Raw("raw again", "reply", 1, "berth", ROOT, Optional.of(certificate))),
        List.of(
            besideRaw(Row.of("tls", "Berth no-op, TLS", "berth", ROOT, 64)),
            besideRaw(
                Row.of("http2-tls", "Berth no-op, HTTP/2 with TLS", "berth", ROOT, 64)
                    .overHttp2())),
        "");
  }
}

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Counts the bytes between two nodes per request of cost 1, by this jar and by another. What flows
 * without requests in as much time is subtracted.
 */
final class LinkBytes {
  private static final double SAME = 0.5; // the bytes of a heartbeat more or less

  private final Servers servers;
  private final Servers old;
  private final SliceClient client;
  private final long millis;

  LinkBytes(Servers servers, Servers old, SliceClient client, boolean quick) {
    this.servers = servers;
    this.old = old;
    this.client = client;
    this.millis = quick ? 1_500 : 4_000;
  }

  List<Verdict> measure() throws IOException, InterruptedException {
    double before = bytes(old, "link-before");
    double again = bytes(old, "link-again");
    double here = bytes(servers, "link-this");
    List<Verdict> verdicts = new ArrayList<>();
    verdicts.add(
        new Verdict(
            "link-bytes",
            "bytes between two nodes per no-op of cost 1, to the other jar",
            Spread.number(here, 2),
            Spread.number(before, 2),
            Spread.number(again, 2),
            here <= before + SAME ? Verdict.State.MET : Verdict.State.MISSED,
            Optional.empty()));
    return verdicts;
  }

  private double bytes(Servers of, String name) throws IOException, InterruptedException {
    Server asked = of.remote(name);
    try (Connections connections =
        client.open(asked, Row.of("link", "link", "", Ask.get("/"), 64))) {
      connections.ask(1_000);
      double start = sent(asked);
      long answers = connections.ask(millis).answers();
      double loaded = sent(asked) - start;
      start = sent(asked);
      Thread.sleep(millis);
      return (loaded - (sent(asked) - start)) / answers;
    } finally {
      of.close();
    }
  }

  /** Bytes that the node has sent and received over its links. */
  private static double sent(Server server) throws IOException, InterruptedException {
    URI metrics = URI.create("http://127.0.0.1:" + server.adminPort() + "/metrics");
    String page =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(metrics).build(), HttpResponse.BodyHandlers.ofString())
            .body();
    return page.lines()
        .filter(line -> line.matches("berth_link_(sent|received)_bytes_total.*"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }
}

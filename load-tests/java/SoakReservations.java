import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * A client of the reservations over HTTP, ten times a second: it reserves, and then uses what it
 * got, gives it back, renews it, asks for it again, or forgets it. What it forgot it uses after its
 * end, once in a while. Everything is told by its name: {@code [right, wrong]}.
 */
final class SoakReservations implements Runnable {
  private static final String PATH = "/api/v1/applications/plain/deployments/plain/reservations";
  private static final int TTL_SECONDS = 2;
  private static final long PAUSE_MILLIS = 100;
  private static final long OVER_NANOS = TimeUnit.SECONDS.toNanos(TTL_SECONDS + 1);

  private static final int MAX_TOLD = 20;

  private record Forgotten(String token, long atNanos) {}

  private final SoakServer server;
  private final SplittableRandom random;
  private final ArrayDeque<Forgotten> forgotten = new ArrayDeque<>();
  private final Map<String, long[]> counts = new LinkedHashMap<>();
  private final List<String> wrong = new ArrayList<>();

  SoakReservations(SoakServer server, long seed) {
    this.server = server;
    this.random = new SplittableRandom(seed);
  }

  /** After the end of its thread. */
  Map<String, long[]> counts() {
    return counts;
  }

  /** What was not as it must be, the first of it. */
  List<String> wrong() {
    return wrong;
  }

  @Override
  public void run() {
    try {
      while (true) {
        once(random.nextInt(6));
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      }
    } catch (InterruptedException ended) {
      // The load is over.
    } catch (IOException failed) {
      count("connection to the server", false, failed.toString());
    }
  }

  private void once(int kind) throws IOException, InterruptedException {
    long begun = System.nanoTime();
    HttpResponse<String> made = reserve("");
    if (!count("reserve over HTTP", made.statusCode() == 201, told(made))) {
      return;
    }
    JsonObject held = new JsonObject(made.body());
    String token = held.getString("token");
    switch (kind) {
      case 0, 1 -> forgotten.add(new Forgotten(token, System.nanoTime()));
      case 2 -> {
        HttpResponse<String> answer = use(token);
        if (answer.statusCode() == 410 && isOver(begun)) {
          return; // the machine stood still, and the lease did not
        }
        String replica = answer.headers().firstValue("x-berth-replica").orElse("");
        boolean there = replica.equals(held.getString("replica_id"));
        count("reserve, use", answer.statusCode() == 200 && there, told(answer) + replica);
        count("reserve, use twice", use(token).statusCode() == 409, "used twice");
      }
      case 3 -> {
        for (int times = 0; times < 2; times++) {
          HttpResponse<String> answer = at(token, "DELETE");
          count("reserve, release", answer.statusCode() == 204, told(answer));
        }
      }
      case 4 -> {
        HttpResponse<String> answer = at(token, "PATCH");
        if (answer.statusCode() == 410 && isOver(begun)) {
          return;
        }
        count("reserve, renew, forget", answer.statusCode() == 200, told(answer));
      }
      default -> {
        HttpResponse<String> answer = at(token, "DELETE");
        count("reserve, release", answer.statusCode() == 204, told(answer));
        String key = "soak-" + random.nextLong(Long.MAX_VALUE);
        String first = new JsonObject(reserve(key).body()).getString("token");
        String again = new JsonObject(reserve(key).body()).getString("token");
        if (isOver(begun)) {
          return;
        }
        count("reserve, retry", first != null && first.equals(again), "two reservations");
      }
    }
    while (!forgotten.isEmpty() && System.nanoTime() - forgotten.peek().atNanos > OVER_NANOS) {
      HttpResponse<String> answer = use(forgotten.poll().token);
      count("reserve, use too late", answer.statusCode() == 410, told(answer));
    }
  }

  /** Whether so much time has passed that a reservation made then may have run out. */
  private static boolean isOver(long begun) {
    return System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(TTL_SECONDS) / 2;
  }

  private HttpResponse<String> reserve(String key) throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.admin.resolve(PATH))
            .POST(HttpRequest.BodyPublishers.ofString("{\"ttl_s\": " + TTL_SECONDS + "}"));
    if (!key.isEmpty()) {
      request.header("Idempotency-Key", key);
    }
    return server.send(request);
  }

  private HttpResponse<String> at(String token, String method)
      throws IOException, InterruptedException {
    return server.send(
        HttpRequest.newBuilder(server.admin.resolve(PATH + "/" + token))
            .method(method, HttpRequest.BodyPublishers.noBody()));
  }

  private HttpResponse<String> use(String token) throws IOException, InterruptedException {
    return server.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port + "/plain/ok"))
            .header("X-Berth-Reservation", token)
            .header("X-Berth-Explain", "1")); // so that the answer names its replica
  }

  private static String told(HttpResponse<String> answer) {
    return answer.statusCode() + " " + answer.body();
  }

  private boolean count(String what, boolean right, String otherwise) {
    counts.computeIfAbsent(what, none -> new long[2])[right ? 0 : 1]++;
    if (!right) {
      if (wrong.size() < MAX_TOLD) {
        wrong.add(what + ": " + otherwise);
      }
    }
    return right;
  }
}

package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.CommandRefused;
import dev.berth.view.CommandRefused.Kind;
import dev.berth.view.JarShelf;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Jars by the SHA-256 of their bytes, 64 hexadecimal digits.
 *
 * <pre>
 *   HEAD, GET /api/v1/jars/{sha256}             200, the bytes; 206 for one Range; 404, 416
 *   PUT       /api/v1/jars/{sha256}?name=a.jar  201, kept; 200, it was already; 400, 411, 503, 507
 * </pre>
 *
 * What is put there can be named in a deploy, {@code sha256:…} in the place of a path, within the
 * hour. Files are sent and written as they are, never in memory whole. Belongs to the event loop of
 * the connections.
 */
public final class JarRoutes implements AdminRoutes {
  public static final String PATH = "/api/v1/jars/";

  /** Jars that a node without the controller fetched, for the control node. */
  public static final String FETCHED = "/api/v1/cluster/jars/";

  private static final String DIGEST = ":sha256";
  private static final Pattern SHA_256 = Pattern.compile("[0-9a-f]{64}");
  private static final Pattern NAME = Pattern.compile("[^/\\\\\\p{Cntrl}]{1,200}\\.jar");
  private static final Pattern RANGE = Pattern.compile("bytes=([0-9]{0,18})-([0-9]{0,18})");

  /** That are being written at a time; more are asked to come again. */
  private static final int MOST_UPLOADS = 4;

  /** The least rate of an upload, while the client has to send. */
  static final int MIN_BYTES_PER_S = 16 << 10;

  private static final long RATE_PERIOD_MS = 10_000;

  private final JarShelf jars;
  private final long ratePeriodMs;
  private volatile int uploads; // written by the event loop

  public JarRoutes(JarShelf jars) {
    this(jars, RATE_PERIOD_MS);
  }

  /**
   * @param ratePeriodMs how often the rate of each upload is checked, in milliseconds
   */
  JarRoutes(JarShelf jars, long ratePeriodMs) {
    this.jars = jars;
    this.ratePeriodMs = ratePeriodMs;
  }

  /** Shows its numbers. */
  public void show(Meters meters) {
    meters.addGauge("berth_jar_uploads", () -> uploads);
    meters.addGauge("berth_jar_uploads_limit", () -> MOST_UPLOADS);
  }

  @Override
  public void mount(Router router) {
    router.get(PATH + DIGEST).handler(this::get);
    router.put(PATH + DIGEST).handler(this::put);
  }

  /** Answers with jars that this node fetched; mounted in place of all the others. */
  public void mountFetched(Router router) {
    router.get(FETCHED + DIGEST).handler(this::get);
  }

  private static String sha256(RoutingContext context) {
    String asked = context.pathParam("sha256");
    if (!SHA_256.matcher(asked).matches()) {
      throw new CommandRefused(Kind.INVALID, "sha256: " + asked + " (expected: 64 digits 0-9a-f)");
    }
    return asked;
  }

  // --- get ---

  /**
   * A part of a file.
   *
   * @param length 0 for one that is not there
   */
  record Part(long from, long length) {
    /** What is asked for of so many bytes; null for all, as of what is not understood. */
    static @Nullable Part of(@Nullable String range, long size) {
      Matcher asked = range == null ? null : RANGE.matcher(range);
      if (asked == null || !asked.matches() || range.length() == "bytes=-".length()) {
        return null;
      }
      String first = asked.group(1);
      String last = asked.group(2);
      if (first.isEmpty()) {
        long length = Math.min(size, Long.parseLong(last));
        return new Part(size - length, length);
      }
      long from = Long.parseLong(first);
      long end = last.isEmpty() ? size : Math.min(size, Long.parseLong(last) + 1);
      return new Part(from, Math.max(0, end - from));
    }
  }

  private void get(RoutingContext context) {
    String sha256 = sha256(context);
    jars.find(sha256)
        .compose(path -> path == null ? notKept(sha256) : send(context, path))
        .onFailure(
            failed -> {
              if (!context.response().headWritten()) { // else the client is gone, or the disk
                context.fail(failed);
              }
            });
  }

  private static Future<Void> notKept(String sha256) {
    String why = "sha256: " + sha256 + " (expected: that of a jar that is kept)";
    return Future.failedFuture(new CommandRefused(Kind.NOT_FOUND, why));
  }

  private static Future<Void> send(RoutingContext context, Path path) {
    return context
        .vertx()
        .executeBlocking(() -> Files.size(path), false)
        .compose(size -> send(context, path, size));
  }

  private static Future<Void> send(RoutingContext context, Path path, long size) {
    HttpServerResponse response = context.response();
    response.putHeader(HttpHeaders.ACCEPT_RANGES, "bytes");
    response.putHeader(HttpHeaders.CONTENT_TYPE, "application/java-archive");
    Part part = Part.of(context.request().getHeader("Range"), size);
    if (part != null && part.length == 0) {
      response.putHeader(HttpHeaders.CONTENT_RANGE, "bytes */" + size);
      String why = "Range: " + context.request().getHeader("Range");
      return Future.failedFuture(
          new AdminRefusal(416, "bad_range", why + " (expected: within " + size + " bytes)"));
    }
    Part sent = part == null ? new Part(0, size) : part;
    if (part != null) {
      String shown = "bytes " + sent.from + "-" + (sent.from + sent.length - 1) + "/" + size;
      response.setStatusCode(206).putHeader(HttpHeaders.CONTENT_RANGE, shown);
    }
    response.putHeader(HttpHeaders.CONTENT_LENGTH, Long.toString(sent.length));
    boolean head = context.request().method().name().equals("HEAD");
    return head ? response.end() : response.sendFile(path.toString(), sent.from, sent.length);
  }

  // --- put ---

  private void put(RoutingContext context) {
    String sha256 = sha256(context);
    String asked = QueryParameters.of(context, true, "name").given().get("name");
    String name = asked == null ? sha256.substring(0, 12) + ".jar" : asked;
    if (!NAME.matcher(name).matches()) {
      throw new CommandRefused(Kind.INVALID, "name: " + name + " (expected: of a .jar file)");
    }
    HttpServerRequest request = context.request().pause();
    long bytes = length(request);
    if (uploads >= MOST_UPLOADS) {
      context.response().putHeader(HttpHeaders.RETRY_AFTER, "1");
      Bodies.readNoMore(context);
      String why = uploads + " jars are being sent (expected: less than " + MOST_UPLOADS + ")";
      throw new AdminRefusal(503, "too_many_uploads", why);
    }
    Upload upload = new Upload(context);
    jars.find(sha256)
        .compose(
            there ->
                there == null
                    ? receive(upload, new JarFile(name, sha256, bytes)).map(201)
                    : drop(upload))
        .onComplete(
            status -> context.response().setStatusCode(status).end(),
            failed -> {
              if (context.response().closed()) {
                return; // the client is gone
              }
              Bodies.readNoMore(context);
              context.fail(failed instanceof IOException full ? noRoom(full) : failed);
            });
  }

  private static long length(HttpServerRequest request) {
    String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
    if (length == null) {
      throw new AdminRefusal(411, "length_required", "Content-Length: none (expected: one)");
    }
    return Long.parseLong(length); // Vert.x refuses another
  }

  private static AdminRefusal noRoom(IOException full) {
    return new AdminRefusal(507, "no_room", "The jar cannot be kept: " + full.getMessage());
  }

  /** It is here already. */
  private static Future<Integer> drop(Upload upload) {
    Promise<Integer> all = Promise.promise();
    upload.request.end().onComplete(whole -> all.tryComplete(200), all::tryFail);
    upload.begin(null, all::tryFail);
    upload.request.resume();
    return all.future();
  }

  private Future<Void> receive(Upload upload, JarFile jar) {
    return DigestedFile.keep(
        upload.context.vertx(),
        jars,
        jar,
        file -> {
          upload.begin(file, file::giveUp);
          return upload.isOver() ? gone() : file.append(upload.request);
        });
  }

  private static <T> Future<T> gone() {
    return Future.failedFuture(new AdminRefusal(499, "cancelled", "The client is gone."));
  }

  /** One of the places, until it is answered or its connection is closed. */
  private final class Upload {
    private final RoutingContext context;
    private final HttpServerRequest request;
    private long timer = -1;
    private long checkedBytes;

    Upload(RoutingContext context) {
      this.context = context;
      this.request = context.request();
      uploads++;
      context.addEndHandler(
          ended -> {
            uploads--;
            context.vertx().cancelTimer(timer);
          });
    }

    /** Whether nothing would tell of the end of its body any more. */
    boolean isOver() {
      return context.response().closed();
    }

    /**
     * Has the client send, at a least rate from now on.
     *
     * @param into what its body is written to; null when it is thrown away
     * @param giveUp fails what reads the body
     */
    void begin(@Nullable DigestedFile into, Consumer<Throwable> giveUp) {
      if (!isOver()) {
        timer = context.vertx().setPeriodic(ratePeriodMs, each -> check(into, giveUp));
        Bodies.askFor(request);
      }
    }

    private void check(@Nullable DigestedFile into, Consumer<Throwable> giveUp) {
      long came = request.bytesRead();
      boolean slow = (came - checkedBytes) * 1000 < MIN_BYTES_PER_S * ratePeriodMs;
      checkedBytes = came;
      // A whole block that is not written waits for the disk, and its client with it.
      if (slow && (into == null || came - into.bytes() < DigestedFile.BLOCK_BYTES)) {
        String why = "body: slower than " + MIN_BYTES_PER_S + " bytes a second (expected: faster)";
        giveUp.accept(new AdminRefusal(408, "upload_too_slow", why));
      }
    }
  }
}

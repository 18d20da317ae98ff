package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.JarCatalog;
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
 *   PUT       /api/v1/jars/{sha256}?name=a.jar  201, stored; 200, known; 400, 411, 503, 507
 * </pre>
 *
 * For an hour after the PUT, a deploy can refer to the jar by {@code sha256:…} in place of a path.
 * Files are streamed, never held in memory whole. Confined to the event loop of the connections.
 */
public final class JarRoutes implements AdminRoutes {
  public static final String PATH = "/api/v1/jars/";

  /** Path of the jars that a node without the controller fetched, for the control node. */
  public static final String FETCHED = "/api/v1/cluster/jars/";

  private static final String DIGEST = ":sha256";
  private static final Pattern SHA_256 = Pattern.compile("[0-9a-f]{64}");
  private static final Pattern NAME = Pattern.compile("[^/\\\\\\p{Cntrl}]{1,200}\\.jar");
  private static final Pattern RANGE = Pattern.compile("bytes=([0-9]{0,18})-([0-9]{0,18})");

  /** Maximum of concurrent uploads; further clients must retry. */
  private static final int MAX_UPLOADS = 4;

  /** Minimum rate of an upload in bytes per second, while the client has to send. */
  static final int MIN_BYTES_PER_S = 16 << 10;

  private static final long RATE_PERIOD_MS = 10_000;

  private final JarCatalog jars;
  private final long ratePeriodMs;
  private volatile int uploads; // written by the event loop

  public JarRoutes(JarCatalog jars) {
    this(jars, RATE_PERIOD_MS);
  }

  /**
   * @param ratePeriodMs period of the rate check of each upload, in milliseconds
   */
  JarRoutes(JarCatalog jars, long ratePeriodMs) {
    this.jars = jars;
    this.ratePeriodMs = ratePeriodMs;
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_jar_uploads", uploads, MAX_UPLOADS));
  }

  @Override
  public void mount(Router router) {
    router.get(PATH + DIGEST).handler(this::get);
    router.put(PATH + DIGEST).handler(this::put);
  }

  /** Mounts the route of the jars that this node fetched, in place of all other routes. */
  public void mountFetched(Router router) {
    router.get(FETCHED + DIGEST).handler(this::get);
  }

  private static String sha256(RoutingContext context) {
    String asked = context.pathParam("sha256");
    if (!SHA_256.matcher(asked).matches()) {
      throw CommandRejectedException.invalid("sha256: %s (expected: 64 digits 0-9a-f)", asked);
    }
    return asked;
  }

  // --- get ---

  /**
   * A part of a file.
   *
   * @param length length in bytes; 0 for a part outside of the file
   */
  record ByteRange(long from, long length) {
    /**
     * Parses a Range header for a file of {@code size} bytes. Returns null for the whole file, also
     * for an unsupported range.
     */
    static @Nullable ByteRange of(@Nullable String range, long size) {
      Matcher asked = range == null ? null : RANGE.matcher(range);
      if (asked == null || !asked.matches() || range.length() == "bytes=-".length()) {
        return null;
      }
      String first = asked.group(1);
      String last = asked.group(2);
      if (first.isEmpty()) {
        long length = Math.min(size, Long.parseLong(last));
        return new ByteRange(size - length, length);
      }
      long from = Long.parseLong(first);
      long end = last.isEmpty() ? size : Math.min(size, Long.parseLong(last) + 1);
      return new ByteRange(from, Math.max(0, end - from));
    }
  }

  private void get(RoutingContext context) {
    String sha256 = sha256(context);
    jars.find(sha256)
        .compose(path -> path == null ? notKept(sha256) : send(context, path))
        .onFailure(
            failed -> {
              if (!context.response().headWritten()) { // else the client or the disk failed
                context.fail(failed);
              }
            });
  }

  private static Future<Void> notKept(String sha256) {
    String why = "sha256: %s (expected: the digest of a stored jar)";
    return Future.failedFuture(CommandRejectedException.notFound(why, sha256));
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
    ByteRange part = ByteRange.of(context.request().getHeader("Range"), size);
    if (part != null && part.length == 0) {
      response.putHeader(HttpHeaders.CONTENT_RANGE, "bytes */" + size);
      String why = "Range: " + context.request().getHeader("Range");
      return Future.failedFuture(
          new AdminRefusal(416, "bad_range", why + " (expected: within " + size + " bytes)"));
    }
    ByteRange sent = part == null ? new ByteRange(0, size) : part;
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
      throw CommandRejectedException.invalid("name: %s (expected: of a .jar file)", name);
    }
    HttpServerRequest request = context.request().pause();
    long bytes = length(request);
    if (uploads >= MAX_UPLOADS) {
      context.response().putHeader(HttpHeaders.RETRY_AFTER, "1");
      RequestBodyReader.readNoMore(context);
      String why = uploads + " jar uploads in progress (expected: less than " + MAX_UPLOADS + ")";
      throw new AdminRefusal(503, "too_many_uploads", why);
    }
    JarUpload upload = new JarUpload(context);
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
                return; // the client disconnected
              }
              RequestBodyReader.readNoMore(context);
              context.fail(failed instanceof IOException full ? noRoom(full) : failed);
            });
  }

  private static long length(HttpServerRequest request) {
    String length = request.getHeader(HttpHeaders.CONTENT_LENGTH);
    if (length == null) {
      throw new AdminRefusal(411, "length_required", "Content-Length: none (expected: one)");
    }
    return Long.parseLong(length); // Vert.x rejects a malformed length
  }

  private static AdminRefusal noRoom(IOException full) {
    return new AdminRefusal(507, "no_room", "The jar cannot be stored: " + full.getMessage());
  }

  /** Discards the upload of a jar that is already stored. */
  private static Future<Integer> drop(JarUpload upload) {
    Promise<Integer> all = Promise.promise();
    upload.request.end().onComplete(whole -> all.tryComplete(200), all::tryFail);
    upload.begin(null, all::tryFail);
    upload.request.resume();
    return all.future();
  }

  private Future<Void> receive(JarUpload upload, JarFile jar) {
    return DigestingFileWriter.keep(
        upload.context.vertx(),
        jars,
        jar,
        file -> {
          upload.begin(file, file::giveUp);
          return upload.isOver() ? clientClosed() : file.append(upload.request);
        });
  }

  private static <T> Future<T> clientClosed() {
    return Future.failedFuture(new AdminRefusal(499, "cancelled", "The client left."));
  }

  /** One of the concurrent uploads, until its response is sent or its connection closes. */
  private final class JarUpload {
    private final RoutingContext context;
    private final HttpServerRequest request;
    private long timer = -1;
    private long checkedBytes;

    JarUpload(RoutingContext context) {
      this.context = context;
      this.request = context.request();
      uploads++;
      context.addEndHandler(
          ended -> {
            uploads--;
            context.vertx().cancelTimer(timer);
          });
    }

    /** Returns whether the upload has ended, after which no event reports the end of its body. */
    boolean isOver() {
      return context.response().closed();
    }

    /**
     * Starts the upload and the checks of its minimum rate.
     *
     * @param into destination of the body; null to discard it
     * @param giveUp fails the reader of the body
     */
    void begin(@Nullable DigestingFileWriter into, Consumer<Throwable> giveUp) {
      if (!isOver()) {
        timer = context.vertx().setPeriodic(ratePeriodMs, each -> check(into, giveUp));
        RequestBodyReader.askFor(request);
      }
    }

    private void check(@Nullable DigestingFileWriter into, Consumer<Throwable> giveUp) {
      long came = request.bytesRead();
      boolean slow = (came - checkedBytes) * 1000 < MIN_BYTES_PER_S * ratePeriodMs;
      checkedBytes = came;
      // With a whole unwritten block the disk causes the delay, not the client.
      if (slow && (into == null || came - into.bytes() < DigestingFileWriter.BLOCK_BYTES)) {
        String why = "body: slower than " + MIN_BYTES_PER_S + " bytes a second (expected: faster)";
        giveUp.accept(new AdminRefusal(408, "upload_too_slow", why));
      }
    }
  }
}

package dev.berth.admin;

import dev.berth.admin.JsonFieldReader.BadBodyException;
import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationException;
import io.netty.util.NetUtil;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reservations over HTTP, on whichever port they arrive.
 *
 * <pre>
 *   POST   …/applications/{app}/deployments/{dep}/reservations          201, a reservation
 *   PATCH  …/applications/{app}/deployments/{dep}/reservations/{token}  200, renewed
 *   DELETE …/applications/{app}/deployments/{dep}/reservations/{token}  204, released
 *   POST   …/reservations                                               201, several or none
 * </pre>
 *
 * Only parses requests and identifies their callers; {@code reservations} decides. Thread-safe.
 *
 * @param bodies parses the bodies
 * @param ownHost listening host of this instance; null when it listens on every address
 * @param ownPort listening port of this instance
 * @param isStarting whether routes and nodes are still unknown
 */
public record ReservationEndpoint(
    Reservations reservations,
    ReservationBody bodies,
    @Nullable String ownHost,
    IntSupplier ownPort,
    BooleanSupplier isStarting)
    implements Endpoint {
  private static final Logger LOG = LoggerFactory.getLogger(ReservationEndpoint.class);
  private static final String PREFIX = "/api/v1/applications/";
  private static final Pattern ONE =
      Pattern.compile(PREFIX + "([^/]+)/deployments/([^/]+)/reservations(?:/([^/]+))?");
  private static final String TOGETHER = "/api/v1/reservations";
  private static final int MAX_KEY_CHARS = 255;

  /** Target of a request: a deployment, and possibly a token. */
  private record ReservationTarget(DeploymentId deployment, @Nullable String token) {}

  @Override
  public boolean answers(String path) {
    return path.equals(TOGETHER) || target(path) != null;
  }

  @Override
  public List<String> paths() {
    String one = PREFIX + "{application}/deployments/{deployment}/reservations";
    return List.of(
        "POST " + one,
        "PATCH " + one + "/{token}",
        "DELETE " + one + "/{token}",
        "POST " + TOGETHER);
  }

  @Override
  public EndpointCall handle(EndpointRequest request) {
    ReservationTarget target = target(request.path());
    if (target == null && !request.path().equals(TOGETHER)) {
      return completedExchange(ReservationProblems.error(404, "not_found", "Not found.", ""));
    }
    if (isStarting.getAsBoolean()) {
      return completedExchange(ReservationProblems.STARTING);
    }
    try {
      String token = target == null ? null : target.token();
      if (token == null) {
        return request.method().equals("POST") ? reserve(target, request) : notAllowed("POST");
      }
      return switch (request.method()) {
        case "PATCH" -> renew(target.deployment(), token, request);
        case "DELETE" -> release(target.deployment(), token);
        default -> notAllowed("PATCH, DELETE");
      };
    } catch (BadBodyException bad) {
      return completedExchange(
          ReservationProblems.error(
              400, "bad_request", String.valueOf(bad.getMessage()), "Nothing was executed."));
    }
  }

  // --- operations ---

  /**
   * Reserves one slot, or several.
   *
   * @param target null for several together
   */
  private EndpointCall reserve(@Nullable ReservationTarget target, EndpointRequest request)
      throws BadBodyException {
    if (target == null) {
      ReservationBody.GangRequest legs = bodies.legs(request.body());
      return waiting(
          reservations.reserveAll(legs.wishes(), legs.waitNanos(), caller(request)),
          held -> json(201, ReservationJson.together(held, this::shown), Map.of()));
    }
    return waiting(
        reservations.reserve(bodies.wish(target.deployment(), request.body()), caller(request)),
        held -> {
          String location = "reservations/" + held.token(); // relative to this path
          return json(201, shown(held), Map.of("Location", location));
        });
  }

  /** A pending reservation, which is released when its client disconnects. */
  private record AbandonableExchange(Future<EndpointResponse> answer, Runnable abandon)
      implements EndpointCall {
    @Override
    public void clientGone() {
      abandon.run();
    }
  }

  private static <T> EndpointCall waiting(
      Reservations.ReservationCall<T> asked, Function<T, EndpointResponse> shown) {
    return new AbandonableExchange(toResponse(asked.answer(), shown), asked::abandon);
  }

  private EndpointCall renew(DeploymentId deployment, String token, EndpointRequest request)
      throws BadBodyException {
    if (!JsonFieldReader.of(request.body()).given().isEmpty()) {
      throw new BadBodyException(List.of("body: not empty (expected: none, or {})"));
    }
    Future<EndpointResponse> answer =
        toResponse(reservations.renew(deployment, token), held -> json(200, shown(held), Map.of()));
    return () -> answer;
  }

  private EndpointCall release(DeploymentId deployment, String token) {
    EndpointResponse done = new EndpointResponse(204, Map.of(), Buffer.buffer());
    Future<EndpointResponse> answer =
        toResponse(reservations.release(deployment, token), released -> done);
    return () -> answer;
  }

  /**
   * Returns the caller that owns the reservations: the most specific identity of the client. An
   * IPv6 address counts by its first 64 bits only, as any machine can choose the others.
   */
  static String callerOf(EndpointRequest request) {
    String client = request.client();
    if (client != null) {
      return client;
    }
    String peer = request.peer();
    byte[] address = NetUtil.createByteArrayFromIpAddressString(peer);
    boolean long6 = address != null && address.length == 16;
    return "address " + (long6 ? HexFormat.of().formatHex(address, 0, 8) : peer);
  }

  private static Reservations.ReservationCaller caller(EndpointRequest request)
      throws BadBodyException {
    return new Reservations.ReservationCaller(callerOf(request), keyOf(request));
  }

  private static @Nullable String keyOf(EndpointRequest request) throws BadBodyException {
    List<String> keys = request.headers().all("Idempotency-Key");
    if (keys.isEmpty()) {
      return null;
    }
    String key = keys.get(0);
    if (keys.size() > 1
        || key.isEmpty()
        || key.length() > MAX_KEY_CHARS
        || key.chars().anyMatch(c -> c < ' ' || c > '~')) {
      String what = keys.size() > 1 ? "several" : "empty, too long or not ASCII";
      String expected = "one, of 1 to " + MAX_KEY_CHARS + " printable ASCII characters";
      throw new BadBodyException(
          List.of("Idempotency-Key: " + what + " (expected: " + expected + ")"));
    }
    return key;
  }

  // --- paths ---

  private static @Nullable ReservationTarget target(String path) {
    // the common case: another path
    Matcher parts = path.startsWith(PREFIX) ? ONE.matcher(path) : null;
    if (parts == null || !parts.matches()) {
      return null;
    }
    try {
      return new ReservationTarget(
          new DeploymentId(decoded(parts.group(1)), decoded(parts.group(2))), parts.group(3));
    } catch (IllegalArgumentException malformed) {
      return null;
    }
  }

  private static String decoded(String part) {
    return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  // --- responses ---

  private JsonObject shown(Reservation held) {
    return ReservationJson.of(held, ownHost, ownPort.getAsInt());
  }

  private static EndpointResponse json(int status, JsonObject body, Map<String, String> more) {
    Map<String, String> headers = new LinkedHashMap<>(more);
    headers.put("Content-Type", "application/json");
    headers.put("Cache-Control", "no-store");
    return new EndpointResponse(status, headers, body.toBuffer());
  }

  private static <T> Future<EndpointResponse> toResponse(
      Future<T> done, Function<T, EndpointResponse> shown) {
    return done.map(shown)
        .otherwise(
            failed -> {
              if (failed instanceof ReservationException refused) {
                return ReservationProblems.answer(refused);
              }
              LOG.warn("reservation failed", failed);
              return ReservationProblems.error(500, "internal_error", "Internal Server Error", "");
            });
  }

  private static EndpointCall notAllowed(String allowed) {
    String why = "Method not allowed (expected: " + allowed + ").";
    HttpErrorResponse told = new HttpErrorResponse(405, "method_not_allowed", why, "");
    return completedExchange(ReservationProblems.error(told, Map.of("Allow", allowed)));
  }

  private static EndpointCall completedExchange(EndpointResponse answer) {
    return () -> Future.succeededFuture(answer);
  }
}

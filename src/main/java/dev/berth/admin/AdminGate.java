package dev.berth.admin;

import dev.berth.metrics.Meters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Who may ask the admin server: the first thing that each request meets. It must name this machine
 * when only this machine is listened to, show a known token when there are any, and not come from a
 * page of another site when it would change something. Only the question whether the instance lives
 * is answered without a token. On the control loop.
 */
public final class AdminGate {
  /** Who asked another node, which asks this one for him. */
  public static final String FOR = "Berth-For";

  private static final String LIVENESS = "/-/healthz";
  private static final String CALLER = "berth.caller";
  private static final Set<HttpMethod> READS =
      Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS);

  private final HostGuard hosts;
  private final KnownTokens tokens;
  private final LongAdder unknown = new LongAdder();

  /**
   * @param secrets by the names of the clients; empty: every client may ask
   */
  AdminGate(HostGuard hosts, Map<String, String> secrets, Meters meters) {
    this.hosts = hosts;
    this.tokens = new KnownTokens(secrets);
    meters.addCounter("berth_admin_unauthorized", unknown::sum);
  }

  /** Passes the request on, or answers it. */
  void check(RoutingContext context) {
    HttpServerRequest request = context.request();
    if (!hosts.allows(hostOf(request))) {
      String why = "Host: not a name of this machine (expected: localhost or a loopback address)";
      throw new AdminRefusal(403, "host_not_allowed", why);
    } else if (!tokens.isEmpty() && !asksForLife(request) && !isKnown(context)) {
      unknown.increment();
      throw unknown(context);
    } else if (!READS.contains(request.method()) && isFromAnotherSite(request)) {
      String why = "Origin: another site (expected: none, or this server)";
      String detail = "A page of another site may not change anything here.";
      throw new AdminRefusal(403, "cross_site", why, detail);
    } else {
      context.next();
    }
  }

  /** Lets another node ask whatever it likes, and for whom it likes. */
  public static void ofNode(RoutingContext context) {
    context.put(CALLER, context.request().getHeader(FOR));
    context.next();
  }

  /** Who asks, as far as it is known: {@code token ci}, or {@code address 127.0.0.1}. */
  public static String callerOf(RoutingContext context) {
    String known = knownCallerOf(context);
    if (known != null) {
      return known;
    }
    SocketAddress peer = context.request().remoteAddress();
    String address = peer == null ? null : peer.hostAddress();
    return address == null ? "unknown" : "address " + address;
  }

  /** {@code token ci}; null when no token was asked for. */
  static @Nullable String knownCallerOf(RoutingContext context) {
    return context.get(CALLER);
  }

  private boolean isKnown(RoutingContext context) {
    List<String> shown = context.request().headers().getAll(HttpHeaders.AUTHORIZATION);
    String name = shown.size() == 1 ? tokens.nameOf(shown.get(0)) : null;
    if (name != null) {
      context.put(CALLER, "token " + name);
    }
    return name != null;
  }

  private static boolean asksForLife(HttpServerRequest request) {
    return request.path().equals(LIVENESS)
        && (request.method() == HttpMethod.GET || request.method() == HttpMethod.HEAD);
  }

  private static AdminRefusal unknown(RoutingContext context) {
    boolean shown = context.request().headers().contains(HttpHeaders.AUTHORIZATION);
    String challenge = "Bearer realm=\"berth\"" + (shown ? ", error=\"invalid_token\"" : "");
    context.response().putHeader("WWW-Authenticate", challenge);
    return new AdminRefusal(
        401,
        "unauthorized",
        "Authorization: none that is known (expected: Bearer, and a token of"
            + " berth.admin.bearer_tokens)");
  }

  /** As HTTP/1 names it, or HTTP/2 in a field of its own; null when it is not named. */
  private static @Nullable String hostOf(HttpServerRequest request) {
    HostAndPort authority = request.authority(true); // Vert.x resets one that Host contradicts
    return authority == null ? request.getHeader(HttpHeaders.HOST) : authority.toString();
  }

  /**
   * A page anywhere can have a browser here send a request, though it cannot read the answer. A
   * browser says where the page is from; what is no browser says nothing.
   */
  private static boolean isFromAnotherSite(HttpServerRequest request) {
    String site = request.getHeader("Sec-Fetch-Site");
    if (site != null && !site.equals("same-origin") && !site.equals("none")) {
      return true;
    }
    String origin = request.getHeader(HttpHeaders.ORIGIN);
    String host = hostOf(request);
    return origin != null && (host == null || !origin.endsWith("://" + host));
  }
}

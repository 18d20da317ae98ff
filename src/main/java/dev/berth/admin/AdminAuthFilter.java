package dev.berth.admin;

import dev.berth.config.BearerToken;
import dev.berth.config.admin.AdminRole;
import dev.berth.config.keys.Settings;
import dev.berth.metrics.Meters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import io.vertx.core.net.SocketAddress;
import io.vertx.ext.web.RoutingContext;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Access control of the admin server, applied first to each request. If the server listens on
 * loopback only, a request must name this machine. If tokens are configured, the request must carry
 * one, and its client the role for the request. A request that changes state must not come from a
 * page of another site. Only the liveness check and the files of the page need no token. Confined
 * to the control loop.
 */
public final class AdminAuthFilter {
  /** Header with the original caller of a request that another node forwards. */
  public static final String FOR = "Berth-For";

  /** Path of the files of the page; they contain no data. */
  public static final String PAGE = "/page/";

  private static final String LIVENESS = "/-/healthz";
  private static final String CALLER = "berth.caller";
  private static final String ROLE = "berth.role"; // absent without tokens

  /** Paths of user code, for operators and other nodes. */
  private static final List<String> CODE =
      List.of(JarRoutes.PATH, JarRoutes.FETCHED, "/api/v1/cluster/builds/");

  private static final Set<HttpMethod> READS =
      Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS);

  private final HostHeaderFilter hosts;
  private final BearerTokenDigests tokens;
  private final Map<String, AdminRole> roles;
  private final boolean page;
  private final LongAdder unknown = new LongAdder();
  private final LongAdder forbidden = new LongAdder();

  /**
   * @param clients clients with their secrets and roles; empty to allow every client
   * @param page whether the files of the page are served, which need no token
   */
  AdminAuthFilter(HostHeaderFilter hosts, List<Settings> clients, boolean page, Meters meters) {
    this.hosts = hosts;
    this.tokens = new BearerTokenDigests(BearerToken.secrets(clients));
    this.roles = BearerToken.roles(clients);
    this.page = page;
    meters.addCounter("berth_admin_unauthorized", unknown::sum);
    meters.addCounter("berth_admin_forbidden", forbidden::sum);
  }

  /** Passes the request on, or refuses it. */
  void check(RoutingContext context) {
    HttpServerRequest request = context.request();
    if (!hosts.allows(hostOf(request))) {
      String why = "Host: not a name of this machine (expected: localhost or a loopback address)";
      throw new AdminRefusal(403, "host_not_allowed", why);
    }
    if (!page && request.path().startsWith(PAGE)) {
      context.fail(404); // here, since a worker would forward it without a token
      return;
    }
    AdminRole required = tokens.isEmpty() ? null : required(request.method(), request.path());
    if (required != null && !(page && wantsPage(request))) {
      if (!isKnown(context)) {
        unknown.increment();
        throw unknown(context);
      } else if (roleOf(context).compareTo(required) < 0) {
        forbidden.increment();
        throw forbidden(context, required);
      }
    }
    if (!READS.contains(request.method()) && isFromAnotherSite(request)) {
      String why = "Origin: another site (expected: none, or this server)";
      String detail = "Pages of another site may not change the state of the instance.";
      throw new AdminRefusal(403, "cross_site", why, detail);
    } else {
      context.next();
    }
  }

  /** Allows every request of another node, and accepts its statement of the original caller. */
  public static void ofNode(RoutingContext context) {
    context.put(CALLER, context.request().getHeader(FOR));
    context.next();
  }

  /** Returns the caller as far as known: {@code token ci}, or {@code address 127.0.0.1}. */
  public static String callerOf(RoutingContext context) {
    String known = knownCallerOf(context);
    if (known != null) {
      return known;
    }
    SocketAddress peer = context.request().remoteAddress();
    String address = peer == null ? null : peer.hostAddress();
    return address == null ? "unknown" : "address " + address;
  }

  /** Returns the caller as {@code token ci}; null when no token was required. */
  public static @Nullable String knownCallerOf(RoutingContext context) {
    return context.get(CALLER);
  }

  private boolean isKnown(RoutingContext context) {
    List<String> shown = context.request().headers().getAll(HttpHeaders.AUTHORIZATION);
    String name = shown.size() == 1 ? tokens.nameOf(shown.get(0)) : null;
    if (name != null) {
      context.put(CALLER, "token " + name);
      context.put(ROLE, roles.get(name));
    }
    return name != null;
  }

  /**
   * Returns the lowest role that may send a request; null if it needs no token. The table in {@code
   * docs/rest.md} shows the result for each path.
   */
  public static @Nullable AdminRole required(HttpMethod method, String path) {
    boolean reads = READS.contains(method);
    if (reads && method != HttpMethod.OPTIONS && (path.equals(LIVENESS) || path.startsWith(PAGE))) {
      return null;
    }
    return reads && CODE.stream().noneMatch(path::startsWith)
        ? AdminRole.VIEWER
        : AdminRole.OPERATOR;
  }

  /** Returns the role of the caller: an operator without tokens. */
  public static AdminRole roleOf(RoutingContext context) {
    AdminRole role = context.get(ROLE);
    return role == null ? AdminRole.OPERATOR : role;
  }

  /** Returns whether a browser requests the page. Other clients of this path receive JSON. */
  public static boolean wantsPage(HttpServerRequest request) {
    String accept = request.getHeader(HttpHeaders.ACCEPT);
    return request.path().equals("/")
        && (request.method() == HttpMethod.GET || request.method() == HttpMethod.HEAD)
        && accept != null
        && accept.contains("text/html")
        && !accept.contains(AdminResponses.JSON);
  }

  private static AdminRefusal forbidden(RoutingContext context, AdminRole required) {
    String role = roleOf(context).name().toLowerCase(Locale.ROOT);
    String why = "role: %s (expected: %s)";
    return new AdminRefusal(
        403,
        "forbidden",
        why.formatted(role, required.name().toLowerCase(Locale.ROOT)),
        "The role of " + callerOf(context) + " in berth.admin.bearer_tokens does not permit this.");
  }

  private static AdminRefusal unknown(RoutingContext context) {
    boolean shown = context.request().headers().contains(HttpHeaders.AUTHORIZATION);
    String challenge = "Bearer realm=\"berth\"" + (shown ? ", error=\"invalid_token\"" : "");
    context.response().putHeader("WWW-Authenticate", challenge);
    return new AdminRefusal(
        401,
        "unauthorized",
        "Authorization: no known token (expected: Bearer, and a token of"
            + " berth.admin.bearer_tokens)");
  }

  /** Returns the host of an HTTP/1 header or of HTTP/2's authority; null when absent. */
  private static @Nullable String hostOf(HttpServerRequest request) {
    HostAndPort authority = request.authority(true); // Vert.x rejects one that contradicts Host
    return authority == null ? request.getHeader(HttpHeaders.HOST) : authority.toString();
  }

  /**
   * Returns whether a page of another site sent the request. Any page can make a local browser send
   * a request, although it cannot read the response. A browser sends the origin of the page, other
   * clients send none.
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

package dev.berth.ingress;

import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.dialect.ApiDialect;
import dev.berth.dialect.ApiKeys;
import dev.berth.dialect.ApiKeys.ApiKey;
import dev.berth.dialect.BodyEdit;
import dev.berth.dialect.DialectCall;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.EventStream;
import dev.berth.dialect.ModelAdmission;
import dev.berth.dialect.ModelCatalog;
import dev.berth.dialect.ModelScanner;
import dev.berth.dialect.ModelTarget;
import dev.berth.dialect.ScannedBody;
import dev.berth.dialect.TokenUsage;
import dev.berth.dialect.UsageMode;
import dev.berth.dialect.UsageScanner;
import dev.berth.metrics.GenAiMeters;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.ModelHeader;
import dev.berth.routing.DeploymentRouter;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Exchange of a request in the dialect of an LLM API. Reads the body whole, and selects the
 * deployment by the model in the body. The request is then an ordinary one of that deployment.
 * Confined to the event loop.
 */
final class DialectExchange extends HttpExchange {
  private static final CharSequence MODEL = HttpHeaders.createOptimized(ModelHeader.HEADER);

  /** Maximum size of a body in bytes. */
  private static final long MAX_BODY_BYTES = 64 << 20;

  private static final CharSequence API_KEY = HttpHeaders.createOptimized("x-api-key");
  private static final CharSequence VERSION = HttpHeaders.createOptimized("anthropic-version");

  private final ResolvedRoute all;
  private final ModelCatalog catalog;
  private final ModelAdmission rules;
  private final String path; // below the prefix of the route
  private final @Nullable DialectCall operation; // null for an unknown path
  private final ApiDialect dialect;
  private @Nullable ApiKey key; // of the client
  private String model = ""; // its name, not an alias; empty if unknown
  private @Nullable String param; // of the request, that is at fault
  private UsageMode mode; // INJECT if the ingress has requested the usage of the stream
  private @Nullable EventStream passing; // the response, unless it is a whole document
  private TokenUsage usage = TokenUsage.NONE; // in a whole document
  private long firstNanos = -1; // from the arrival to the first content of a stream

  /**
   * @param path below the prefix of the route
   */
  DialectExchange(
      ConnectionPort connection,
      HttpServerRequest http,
      ResolvedRoute route,
      DialectRoute to,
      String path) {
    super(connection, http, route, null);
    this.all = route;
    this.catalog = to.rules().catalog();
    this.rules = to.rules();
    this.path = path;
    this.operation = DialectCall.of(path);
    this.mode = catalog.usage() == UsageMode.OFF ? UsageMode.OFF : UsageMode.READ;
    this.dialect = ApiDialect.of(path, http.headers().contains(VERSION));
  }

  @Override
  int gatheredBytes() {
    return loop.wholeBytes(MAX_BODY_BYTES);
  }

  // --- request ---

  @Override
  void begin() {
    MultiMap headers = http.headers();
    try {
      authenticate(headers);
      DialectCall known = ModelAdmission.operation(operation, http.method().name(), path);
      ModelAdmission.requirePlain(headers.getAll(HttpHeaders.CONTENT_ENCODING));
      switch (known) {
        case MODELS -> answer.send(200, ErrorResponses.JSON, rules.list(dialect, key));
        case MODEL ->
            answer.send(200, ErrorResponses.JSON, catalog.one(dialect, rules.ofPath(path, key)));
        case STORED_RESPONSE -> {
          headers.remove(MODEL); // of the client; other operations set it
          select(rules.ofStored(key));
          super.begin();
        }
        default -> super.begin();
      }
    } catch (DialectProblem problem) {
      refuse(problem);
    }
  }

  /** Requires a known key if the instance has keys, and removes it from the request. */
  private void authenticate(MultiMap headers) {
    if (rules.keys() != null) {
      key =
          rules.authenticate(
              ApiKeys.presented(headers.get(HttpHeaders.AUTHORIZATION), headers.get(API_KEY)));
      headers.remove(HttpHeaders.AUTHORIZATION).remove(API_KEY);
    }
  }

  @Override
  void refuse(DialectProblem problem) {
    param = problem.param();
    if (operation != null && problem.response().status() == 405) {
      http.response().putHeader("allow", operation.allow());
    }
    super.refuse(problem);
  }

  @Override
  void call(Request.Body body, long nowNanos) {
    DialectCall known = Objects.requireNonNull(operation); // else refused
    if (isOver() || !known.readsModel()) {
      super.call(body, nowNanos);
    } else if (body instanceof Request.Body.Whole whole) {
      Buffer bytes = whole.bytes();
      loop.scan(
          this,
          route.to().application(),
          bytes,
          nowNanos,
          ModelScanner::scan,
          (scanned, now) -> super.call(new Request.Body.Whole(selectBy(scanned, bytes)), now));
    } else {
      refuseBody(ErrorResponses.TOO_MANY_REQUESTS); // no memory for the whole body
    }
  }

  /** Selects the deployment of the model, and returns the body to send there. */
  private Buffer selectBy(ScannedBody scanned, Buffer body) {
    DialectCall known = Objects.requireNonNull(operation);
    ModelTarget target = rules.target(scanned.model(), key);
    rules.checkStored(known, scanned);
    model = target.name();
    select(target);
    boolean injects = catalog.usage() == UsageMode.INJECT && known.hasStreamOptions();
    BodyEdit edit = injects ? scanned.usageEdit() : null;
    Buffer sent = body;
    int moved = 0;
    MultiMap headers = http.headers();
    if (edit != null) {
      mode = UsageMode.INJECT;
      sent = edit.apply(body);
      moved = edit.shift(scanned.modelStart()) - scanned.modelStart();
      headers.set(HttpHeaders.CONTENT_LENGTH, Integer.toString(sent.length()));
    }
    int start = scanned.modelStart() + moved;
    int end = scanned.modelEnd() + moved;
    headers.set(MODEL, ModelHeader.value(start, end, target.headerParts()));
    if (mode != UsageMode.OFF) {
      headers.remove(HttpHeaders.ACCEPT_ENCODING); // the usage of compressed bytes is unreadable
    }
    return sent;
  }

  private void select(ModelTarget target) {
    lead(all.sides().get(target.side()), null);
    DeploymentRouter router = route.router();
    if (recorder != null && router != null) {
      recorder.recordSelection(
          router.deployment(), router.unranked(loop.router), "model " + target.requested());
    }
    if (access != null) {
      access.model(route.access(), model, keyId());
    }
  }

  private String keyId() {
    return key == null ? "" : key.id();
  }

  // --- response ---

  @Override
  public void onResponse(Response response, String replicaId) {
    super.onResponse(isOver() ? response : filtered(response), replicaId);
  }

  private Response filtered(Response response) {
    String type = response.headers().get("content-type");
    if (type == null || response.headers().get("content-encoding") != null) {
      return response;
    }
    boolean streams = type.toLowerCase(Locale.ROOT).startsWith("text/event-stream");
    Response.Body.Whole whole = response.body() instanceof Response.Body.Whole all ? all : null;
    if (whole != null && !streams) {
      usage = mode == UsageMode.OFF ? usage : UsageScanner.scan(whole.bytes());
      return response;
    }
    passing = new EventStream(streams, mode);
    if (whole == null) {
      return response;
    }
    Buffer passed = filter(whole.bytes(), true);
    return mode == UsageMode.INJECT
        ? Response.of(response.status(), response.headers(), new Response.Body.Whole(passed))
        : response;
  }

  @Override
  Buffer filter(Buffer piece, boolean last) {
    EventStream filter = passing;
    if (filter == null) {
      return piece;
    }
    Buffer passed = filter.pass(piece);
    if (firstNanos < 0 && filter.sawContent()) {
      firstNanos = loop.now() - startedNanos;
    }
    Buffer rest = last ? filter.end() : BodyReader.EMPTY;
    return rest.length() == 0 ? passed : passed.copy().appendBuffer(rest);
  }

  @Override
  boolean changesLength() {
    return mode == UsageMode.INJECT;
  }

  @Override
  Buffer errorBody(HttpErrorResponse failure) {
    return dialect.errorBody(failure, param, requestId);
  }

  @Override
  @Nullable Buffer errorEvent(HttpErrorResponse failure) {
    EventStream passed = passing;
    return passed != null && passed.atBoundary()
        ? ApiDialect.errorEvent(
            Objects.requireNonNull(operation), failure, requestId, passed.events())
        : null;
  }

  @Override
  void onFinish(int status, long nowNanos) {
    DialectCall known = operation;
    if (known == null || model.isEmpty()) {
      return;
    }
    TokenUsage used = passing == null ? usage : passing.usage();
    if (access != null) {
      access.tokens(used.input(), used.output());
    }
    if (status == 200) {
      GenAiMeters meters = loop.meters.model(model, known.operationName(), keyId());
      meters.recordTokens(used.input(), used.output());
      if (firstNanos >= 0) {
        meters.recordStream(firstNanos, nowNanos - startedNanos - firstNanos, used.output());
      }
    }
  }
}

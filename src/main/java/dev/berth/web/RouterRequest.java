package dev.berth.web;

import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.Promise;
import io.vertx.core.VertxException;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerFileUpload;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.streams.ReadStream;
import io.vertx.ext.web.Route;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.impl.RoutingContextImpl;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request of Berth as a Router receives it. Differs from a request of a socket as follows: its
 * body waits until a handler reads it, so that an earlier asynchronous handler loses none of it.
 *
 * <p><b>Concurrency.</b> Events run on the replica's loop. Calls of other threads, such as those of
 * a blocking handler of the Router, are guarded by the response, which is the lock of both.
 */
final class RouterRequest extends RouterRequestHead {
  final RouterHandler owner;
  private final ReadStream<Buffer> body;
  private @Nullable RoutingContextImpl routing;
  private @Nullable Route matchedRoute; // of the outer Router
  private @Nullable String matchedName; // of the innermost route

  // --- reading; guarded by the response ---
  private boolean routed; // the Router has returned
  private boolean reading; // the stream of the body flows
  private boolean wanted; // some code reads it
  private long demand = Long.MAX_VALUE;
  private boolean ended; // the end was delivered
  private boolean failed;
  private long bytesRead;
  private boolean expectsForm;
  private @Nullable RequestForm form;
  private @Nullable MultiMap attributes; // created for a form
  private @Nullable Handler<HttpServerFileUpload> uploadHandler;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;
  private @Nullable Promise<Void> end;
  private @Nullable Promise<Buffer> whole;
  private @Nullable Buffer gathered;
  private @Nullable Set<String> files; // created for uploads
  private Runnable ignoreCancel = () -> {};

  RouterRequest(
      RouterHandler owner, Request message, RequestContext berth, ContextInternal context) {
    super(message, berth, context);
    this.owner = owner;
    this.body = message.stream();
  }

  /** Runs the Router. */
  Future<Response> route() {
    ContextInternal before = context.beginDispatch();
    try {
      body.exceptionHandler(this::fail);
      body.endHandler(none -> empty = true);
      body.fetch(1); // completes an empty body, and nothing else without a handler
      body.pause();
      String mount = isBelow(berth.routePrefix(), message.path()) ? berth.routePrefix() : null;
      RoutingContextImpl made =
          new RoutingContextImpl(mount, owner.router(), this, owner.routes().all());
      routing = made;
      if (!isValidAuthority()) {
        made.fail(400, new VertxException("The Host header is not valid", true));
      } else if (!message.path().startsWith("/")
          || (mount != null && !isBelow(mount, made.normalizedPath()))) { // dot segments leave it
        made.fail(404);
      } else {
        made.next();
      }
      synchronized (response) {
        routed = true;
        if (!response.ended()) {
          ignoreCancel = berth.onCancel(this::cancel);
        }
      }
      readIfWanted();
    } finally {
      context.endDispatch(before);
    }
    return response.head();
  }

  /** Returns whether a path is below a prefix; that of a call through a handle is not. */
  private static boolean isBelow(String prefix, String path) {
    return prefix.length() > 1
        && path.startsWith(prefix)
        && (path.length() == prefix.length() || path.charAt(prefix.length()) == '/');
  }

  /** Serves the request by typed routes; one of another path by the next route of the Router. */
  void serve(RouteDispatcher routes, RoutingContext by) {
    if (!routes.matches(message, berth)) {
      by.next();
      return;
    }
    Buffer read = by.body().buffer(); // null for an empty body, too
    (read == null && !by.body().available() ? body() : Future.succeededFuture(read))
        .map(bytes -> bytes == null ? Buffer.buffer() : bytes)
        .compose(bytes -> routes.serve(message.withBody(bytes), berth))
        .compose(response::respond)
        .onFailure(by::fail);
  }

  /** Returns the template of the route that serves the request; null for none. */
  @Nullable String template() {
    return owner.routes().template(matchedRoute, matchedName);
  }

  @Override
  public HttpServerRequest routed(@Nullable String name) {
    RoutingContextImpl at = routing;
    if (at != null && !at.failed()) { // else a route of failure handlers
      matchedRoute = at.currentRoute();
      matchedName = name;
    }
    return this;
  }

  // --- the body ---

  /** Starts or continues the flow of the body, after the Router has returned. */
  private void readIfWanted() {
    synchronized (response) {
      if (!routed || reading || !wanted || demand == 0 || ended || failed) {
        return;
      }
      reading = true;
    }
    if (empty) {
      onEnd();
      return;
    }
    body.endHandler(none -> onEnd());
    body.handler(this::onData);
    body.fetch(demand);
  }

  private void want() {
    wanted = true;
    if (routed && !reading) { // the caller may still add handlers
      context.runOnContext(none -> readIfWanted());
    }
  }

  private void onData(Buffer piece) {
    RequestForm parts;
    Handler<Buffer> reader;
    synchronized (response) {
      bytesRead += piece.length();
      if (gathered != null) {
        gathered.appendBuffer(piece);
      }
      parts = form;
      reader = handler;
    }
    if (parts != null && !parts.offer(piece)) {
      return; // its failure was reported
    }
    emit(reader, piece);
  }

  private void onEnd() {
    RequestForm parts = form;
    if (parts != null && !parts.end(formAttributes())) {
      return;
    }
    Handler<Void> reader;
    synchronized (response) {
      ended = true;
      form = null;
      reader = endHandler;
    }
    emit(reader, null);
    if (whole != null) {
      whole.tryComplete(gathered);
    }
    if (end != null) {
      end.tryComplete();
    }
  }

  /** Runs a handler within the context of the request. */
  <T> void emit(@Nullable Handler<T> to, @Nullable T event) {
    if (to == null) {
      return;
    }
    ContextInternal before = context.beginDispatch();
    try {
      to.handle(event);
    } finally {
      context.endDispatch(before);
    }
  }

  /** Ends reading by a failure of the body or of its form. */
  void fail(Throwable why) {
    Handler<Throwable> reader;
    RequestForm parts;
    synchronized (response) {
      if (ended || failed || !response.isWanted()) {
        return; // the rest of the body is not needed
      }
      failed = true;
      reader = exceptionHandler;
      parts = form;
      form = null;
    }
    if (parts != null) {
      parts.fail(why);
    }
    emit(reader, why);
    if (whole != null) {
      whole.tryFail(why);
    }
    if (end != null) {
      end.tryFail(why);
    }
  }

  private void cancel() {
    try {
      response.close();
    } finally {
      try {
        fail(RouterResponse.CLOSED);
      } finally {
        response.settleIfClosing();
        deleteFiles(true);
      }
    }
  }

  /** Handles the end of the response, or of a cancelled request. */
  void onOver(boolean cancelled) {
    ignoreCancel.run();
    try {
      if (form != null) {
        form.fail(RouterResponse.CLOSED);
        form = null;
      }
    } finally {
      deleteFiles(cancelled);
    }
  }

  private void deleteFiles(boolean all) {
    synchronized (response) {
      for (String file : files == null ? Set.<String>of() : files) {
        if (all || owner.isUpload(file)) {
          context.owner().fileSystem().delete(file); // may be moved or deleted already
        }
      }
    }
  }

  /** Records a file that an upload creates. */
  void creates(String file) {
    synchronized (response) {
      if (files == null) {
        files = new LinkedHashSet<>();
      }
      files.add(file);
    }
  }

  /** Leaves a complete file to the Router, except within the directory of uploads. */
  void completes(String file) {
    synchronized (response) {
      if (files != null && !owner.isUpload(file)) {
        files.remove(file);
      }
    }
  }

  /** Sets a handler whose presence starts the body. */
  private HttpServerRequest setReader(@Nullable Object newHandler, Runnable setter) {
    synchronized (response) {
      requireUnread(newHandler);
      setter.run();
      if (newHandler != null) {
        want();
      }
    }
    return this;
  }

  @Override
  public HttpServerRequest handler(@Nullable Handler<Buffer> newHandler) {
    return setReader(newHandler, () -> handler = newHandler);
  }

  @Override
  public HttpServerRequest endHandler(@Nullable Handler<Void> newHandler) {
    return setReader(newHandler, () -> endHandler = newHandler);
  }

  @Override
  public HttpServerRequest exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    synchronized (response) {
      exceptionHandler = newHandler;
    }
    return this;
  }

  @Override
  public HttpServerRequest uploadHandler(@Nullable Handler<HttpServerFileUpload> newHandler) {
    return setReader(newHandler, () -> uploadHandler = newHandler);
  }

  private void requireUnread(@Nullable Object newHandler) {
    if (ended && newHandler != null) {
      throw new IllegalStateException("Request has already been read");
    }
  }

  @Override
  public HttpServerRequest pause() {
    synchronized (response) {
      demand = 0;
      if (reading) {
        body.pause();
      }
    }
    return this;
  }

  @Override
  public HttpServerRequest resume() {
    return fetch(Long.MAX_VALUE);
  }

  @Override
  public HttpServerRequest fetch(long amount) {
    boolean flows;
    synchronized (response) {
      demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
      flows = reading;
      if (!flows && wanted) {
        want();
      }
    }
    if (flows) {
      body.fetch(amount);
    }
    return this;
  }

  @Override
  public Future<Buffer> body() {
    synchronized (response) {
      requireUnread(this);
      if (whole == null) {
        whole = context.promise();
        gathered = Buffer.buffer();
        want();
      }
      return whole.future();
    }
  }

  @Override
  public Future<Void> end() {
    synchronized (response) {
      requireUnread(this);
      if (end == null) {
        end = context.promise();
        want();
      }
      return end.future();
    }
  }

  @Override
  public boolean isEnded() {
    synchronized (response) {
      return ended;
    }
  }

  @Override
  public long bytesRead() {
    synchronized (response) {
      return bytesRead;
    }
  }

  // --- forms ---

  @Override
  public HttpServerRequest setExpectMultipart(boolean expect) {
    synchronized (response) {
      requireUnread(this);
      expectsForm = expect;
      if (!expect) {
        form = null;
      } else if (form == null) {
        form = RequestForm.of(this, () -> uploadHandler);
      }
    }
    return this;
  }

  @Override
  public boolean isExpectMultipart() {
    synchronized (response) {
      return expectsForm;
    }
  }

  @Override
  public MultiMap formAttributes() {
    synchronized (response) {
      MultiMap known = attributes == null ? HttpHeaders.headers() : attributes;
      attributes = known;
      return known;
    }
  }

  @Override
  public @Nullable String getFormAttribute(String name) {
    return formAttributes().get(name);
  }
}

package dev.berth.ingress.edge;

import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.core.internal.http.HttpServerRequestWrapper;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.zip.DataFormatException;
import org.jspecify.annotations.Nullable;

/**
 * Request with a decoded body. Decodes as fast as its reader takes the bytes, with an effort of at
 * most 256 KiB in one task of the event loop. Confined to the event loop.
 */
public final class DecodedRequest extends HttpServerRequestWrapper {
  private static final int TURN_BYTES = 256 << 10;

  private final BodyDecoder decoder;
  private Consumer<Boolean> refuse = large -> {};
  private @Nullable Handler<Buffer> reader;
  private @Nullable Handler<Void> atEnd;
  private boolean paused;
  private boolean working;
  private boolean postponed; // to the next task
  private boolean arrived; // the whole body
  private boolean over;

  private DecodedRequest(HttpServerRequest request, ContentCoding coding) {
    super((HttpServerRequestInternal) request);
    decoder = new BodyDecoder(coding);
    MultiMap headers = request.headers().remove(HttpHeaders.CONTENT_ENCODING);
    headers.remove(HttpHeaders.CONTENT_LENGTH); // of the encoded body
    if (request.version() != HttpVersion.HTTP_2) {
      headers.set(HttpHeaders.TRANSFER_ENCODING, "chunked");
    }
    request.exceptionHandler(gone -> stop()); // the rest of the body never arrives
  }

  /** Returns whether a request has a coding that the ingress cannot decode. */
  public static boolean isUnknown(HttpServerRequest request) {
    String codings = codings(request);
    return !codings.isEmpty() && ContentCoding.of(codings) == null;
  }

  private static String codings(HttpServerRequest request) {
    String codings = String.join(",", request.headers().getAll(HttpHeaders.CONTENT_ENCODING));
    return codings.equalsIgnoreCase("identity") ? "" : codings;
  }

  /** Returns a request with a decoded body, or the request itself if it has none to decode. */
  public static HttpServerRequest of(HttpServerRequest request) {
    boolean body =
        request.version() == HttpVersion.HTTP_2
            || request.headers().contains(HttpHeaders.TRANSFER_ENCODING)
            || request.headers().contains(HttpHeaders.CONTENT_LENGTH);
    ContentCoding coding = body ? ContentCoding.of(codings(request)) : null;
    return coding == null ? request : new DecodedRequest(request, coding);
  }

  /**
   * Sets the refusal of the body.
   *
   * @param refusal receives whether the body is too large; otherwise it is malformed
   */
  public void onBadBody(Consumer<Boolean> refusal) {
    refuse = refusal;
  }

  @Override
  public HttpServerRequest handler(@Nullable Handler<Buffer> handler) {
    reader = handler;
    delegate.handler(this::onPiece);
    return this;
  }

  @Override
  public HttpServerRequest endHandler(@Nullable Handler<Void> handler) {
    atEnd = handler;
    delegate.endHandler(this::onEnd);
    return this;
  }

  @Override
  public HttpServerRequest pause() {
    paused = true;
    if (!arrived) {
      delegate.pause();
    }
    return this;
  }

  @Override
  public HttpServerRequest resume() {
    paused = false;
    work();
    return this;
  }

  /** Resumes without a limit. */
  @Override
  public HttpServerRequest fetch(long amount) {
    return resume();
  }

  private void onPiece(Buffer piece) {
    if (!over) {
      decoder.add(piece);
      work();
    }
  }

  private void onEnd(Void none) {
    arrived = true;
    if (over) {
      tellEnd();
    } else {
      work();
    }
  }

  private void work() {
    if (working || postponed) {
      return;
    }
    working = true;
    try {
      decode();
    } catch (DataFormatException malformed) {
      refuse(false);
    } finally {
      working = false;
    }
    if (!paused && !postponed && !arrived) { // HTTP/2 permits neither after the end
      delegate.resume();
    }
  }

  private void decode() throws DataFormatException {
    long start = decoder.effort();
    while (!paused && !postponed && !over) {
      Buffer next = decoder.next();
      if (decoder.isBomb()) {
        refuse(true);
      } else if (response().ended()) { // no reader needs the rest
        stop();
      } else if (next.length() > 0) {
        Objects.requireNonNull(reader).handle(next);
        if (decoder.effort() - start >= TURN_BYTES) {
          postpone();
        }
      } else if (!arrived) {
        return;
      } else if (decoder.isComplete()) {
        stop();
      } else {
        throw new DataFormatException();
      }
    }
    if (arrived && over) {
      tellEnd();
    }
  }

  private void postpone() {
    postponed = true;
    if (!arrived) {
      delegate.pause();
    }
    context()
        .runOnContext(
            next -> {
              postponed = false;
              work();
            });
  }

  private void refuse(boolean large) {
    stop();
    refuse.accept(large);
  }

  private void tellEnd() {
    Handler<Void> told = atEnd;
    atEnd = null;
    if (told != null) {
      told.handle(null);
    }
  }

  private void stop() {
    if (!over) {
      over = true;
      decoder.close();
    }
  }
}

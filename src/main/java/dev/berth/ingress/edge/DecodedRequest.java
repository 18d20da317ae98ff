package dev.berth.ingress.edge;

import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.core.internal.http.HttpServerRequestWrapper;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.DataFormatException;
import org.jspecify.annotations.Nullable;

/**
 * Request with a decoded body. Decodes no faster than its reader takes the bytes, and no more per
 * task of the event loop than {@link #TURN_BYTES}. Confined to the event loop.
 */
public final class DecodedRequest extends HttpServerRequestWrapper {
  private static final int TURN_BYTES = 256 << 10;

  private final BodyDecoder decoder;
  private final Consumer<Runnable> later;
  private Consumer<Boolean> refuse = large -> {};
  private @Nullable Handler<Buffer> reader;
  private @Nullable Handler<Void> atEnd;
  private boolean paused;
  private boolean working;
  private boolean postponed;
  private boolean arrived; // the whole body
  private boolean over;

  private DecodedRequest(
      HttpServerRequest request, ContentCoding coding, Consumer<Runnable> later) {
    super((HttpServerRequestInternal) request);
    this.decoder = new BodyDecoder(coding);
    this.later = later;
    MultiMap headers = request.headers().remove(HttpHeaders.CONTENT_ENCODING);
    headers.remove(HttpHeaders.CONTENT_LENGTH); // of the encoded body
    if (request.version() != HttpVersion.HTTP_2) {
      headers.set(HttpHeaders.TRANSFER_ENCODING, "chunked");
    }
  }

  /** Returns whether a request with a body has a coding that the ingress cannot decode. */
  public static boolean isUnknown(HttpServerRequest request) {
    List<String> codings = request.headers().getAll(HttpHeaders.CONTENT_ENCODING);
    return !isPlain(codings) && (codings.size() > 1 || ContentCoding.of(codings.get(0)) == null);
  }

  private static boolean isPlain(List<String> codings) {
    return codings.stream().allMatch(each -> each.strip().equalsIgnoreCase("identity"));
  }

  /**
   * Returns a request with a decoded body, or the request itself if it has none to decode.
   *
   * @param later runs a task after the current one of the event loop
   */
  public static HttpServerRequest of(HttpServerRequest request, Consumer<Runnable> later) {
    MultiMap headers = request.headers();
    List<String> codings = headers.getAll(HttpHeaders.CONTENT_ENCODING);
    boolean body =
        request.version() == HttpVersion.HTTP_2
            || headers.contains(HttpHeaders.TRANSFER_ENCODING)
            || headers.contains(HttpHeaders.CONTENT_LENGTH);
    ContentCoding coding =
        !body || isPlain(codings) || isUnknown(request) ? null : ContentCoding.of(codings.get(0));
    return coding == null ? request : new DecodedRequest(request, coding, later);
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
      stop();
      refuse.accept(false);
    } finally {
      working = false;
    }
    if (!paused && !postponed && !arrived) { // HTTP/2 permits neither after the end
      delegate.resume();
    }
  }

  private void decode() throws DataFormatException {
    int bytes = 0;
    while (!paused && !over) {
      if (response().ended()) { // no reader needs the rest
        stop();
      } else if (bytes >= TURN_BYTES) {
        postponed = true;
        if (!arrived) {
          delegate.pause();
        }
        later.accept(this::goOn);
        return;
      } else {
        Buffer next = decoder.next();
        bytes += next.length();
        if (decoder.isBomb()) {
          stop();
          refuse.accept(true);
        } else if (next.length() > 0) {
          pass(next);
        } else {
          break;
        }
      }
    }
    if (!paused && arrived) {
      if (!over && !decoder.isComplete()) {
        throw new DataFormatException();
      }
      stop();
      tellEnd();
    }
  }

  private void goOn() {
    postponed = false;
    work();
  }

  private void pass(Buffer decoded) {
    if (reader != null) {
      reader.handle(decoded);
    }
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

package dev.berth.web;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.protocol.port.SizedProducer;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.OpenOptions;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.MimeMapping;
import io.vertx.core.internal.VertxInternal;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The response of a Router. A body that ends with its head is sent whole; any other is produced in
 * chunks, which a slow client delays. The request's slot is free once the body has ended.
 *
 * <p><b>Cancel.</b> The response closes when the request is cancelled. Its slot is free when the
 * Router next writes, ends or fails it or reads {@link #closed}, or at once if the head was sent
 * and a close handler ran. A blocking handler that writes or reads keeps the slot until it returns.
 *
 * <p><b>Concurrency.</b> The object is the lock of its request and itself, since a blocking handler
 * of the Router may write on another thread.
 */
final class RouterResponse extends RouterResponseHead implements SizedProducer {
  static final HttpClosedException CLOSED = new HttpClosedException("Connection was closed");

  private static final int DEFAULT_QUEUE_BYTES = 64 * 1024;

  /** Maximum size of a file that is read at once. */
  private static final int SMALL_FILE_BYTES = 32 * 1024;

  private final RouterRequest request;
  private final Promise<Response> head = Promise.promise();
  private final Promise<Void> body = Promise.promise();
  private boolean ended;
  private boolean closed; // cancelled
  private boolean settling; // when the blocking handlers have returned
  private boolean over;
  private long bytesWritten;
  private long queued; // bytes that the receiver has not accepted
  private int maxQueued = DEFAULT_QUEUE_BYTES;
  private boolean full;
  private @Nullable ResponseWriter writer; // null until the head is sent
  private final List<Buffer> early = new ArrayList<>(1); // written before
  private final Promise<Void> earlyWritten = Promise.promise();
  private @Nullable Handler<Void> drainHandler;
  private @Nullable Handler<Throwable> exceptionHandler;
  private @Nullable Handler<Void> closeHandler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Void> bodyEndHandler;

  RouterResponse(RouterRequest request) {
    super(request);
    this.request = request;
  }

  /** Completes with the first bytes of the response. */
  Future<Response> head() {
    return head.future();
  }

  // --- writing ---

  private void requireOpen() {
    if (ended) {
      throw new IllegalStateException("Response has already been written");
    }
  }

  /** Sends the head. Its failure ends the response. */
  private Future<Void> startBody() {
    try {
      head.tryComplete(Response.of(status.code(), takeHead(), new Response.Body.Produced(this)));
      return Future.succeededFuture();
    } catch (Throwable failure) {
      return breakOff(failure);
    }
  }

  @Override
  public synchronized Future<Void> writeTo(ResponseWriter to) {
    writer = to;
    if (!early.isEmpty()) {
      Buffer all = early.get(0);
      if (early.size() > 1) {
        all = Buffer.buffer();
        early.forEach(all::appendBuffer);
      }
      early.clear();
      to.write(all).onComplete(earlyWritten);
    }
    if (ended) {
      endBody();
    }
    return body.future();
  }

  @Override
  public long length() {
    return length;
  }

  @Override
  public synchronized Future<Void> writeHead() {
    requireHead();
    requireLength();
    if (isRefused()) {
      return Future.failedFuture(CLOSED);
    }
    return startBody();
  }

  private void requireLength() {
    if (!headers.contains(HttpHeaders.TRANSFER_ENCODING)
        && !headers.contains(HttpHeaders.CONTENT_LENGTH)) {
      throw new IllegalStateException(
          "You must set the Content-Length header to be the total size of the message body BEFORE"
              + " sending any data if you are not using HTTP chunked encoding.");
    }
  }

  @Override
  public synchronized Future<Void> write(Buffer piece) {
    requireOpen();
    if (isRefused()) {
      return Future.failedFuture(CLOSED);
    }
    if (!headWritten) {
      requireLength();
      Future<Void> started = startBody();
      if (started.failed()) {
        return started;
      }
    }
    return sendPiece(piece);
  }

  /** Sends a chunk of a body whose head was sent. */
  private Future<Void> sendPiece(Buffer piece) {
    int bytes = piece.length();
    bytesWritten += bytes;
    if (isBodiless() || bytes == 0) {
      return Future.succeededFuture();
    }
    if (length >= 0 && bytesWritten > length) {
      return breakOff(otherLength());
    }
    queued += bytes;
    full = full || queued >= maxQueued;
    ResponseWriter to = writer;
    Future<Void> written;
    if (to == null) {
      early.add(piece);
      written = earlyWritten.future();
    } else {
      written = to.write(piece);
    }
    return written.onComplete((sent, failed) -> onWritten(bytes));
  }

  private IllegalStateException otherLength() {
    return new IllegalStateException(
        "content-length: " + length + ", with " + bytesWritten + " bytes (expected: the same)");
  }

  private Future<Void> breakOff(Throwable failure) {
    ended = true;
    head.tryFail(failure);
    body.tryFail(failure);
    over(false);
    return Future.failedFuture(failure);
  }

  private void onWritten(int bytes) {
    Handler<Void> drained = null;
    synchronized (this) {
      queued -= bytes;
      if (full && queued <= maxQueued / 2) {
        full = false;
        drained = closed ? null : drainHandler;
      }
    }
    request.emit(drained, null);
  }

  @Override
  public synchronized Future<Void> end(Buffer piece) {
    requireOpen();
    ended = true;
    Future<Void> sent = Future.succeededFuture();
    if (closed) {
      settle();
      sent = Future.failedFuture(CLOSED);
    } else if (headWritten) {
      sent = sendPiece(piece);
      if (writer != null) {
        endBody();
      }
    } else {
      bytesWritten += piece.length();
      sent = sendWhole(piece);
    }
    notifyEnd();
    return sent;
  }

  private void notifyEnd() {
    try {
      if (bodyEndHandler != null) {
        bodyEndHandler.handle(null);
      }
    } finally {
      try {
        if (!closed && endHandler != null) {
          endHandler.handle(null);
        }
      } finally {
        over(closed);
      }
    }
  }

  /** Ends with a response of typed routes, whose headers replace those of the same name. */
  synchronized Future<Void> respond(Response typed) {
    if (ended || isRefused()) {
      if (typed.body() instanceof Response.Body.Received received) {
        received.cancel().run();
      }
      return Future.succeededFuture();
    }
    replaceHead(typed);
    if (typed.body() instanceof Response.Body.Whole whole) {
      return end(whole.bytes());
    }
    Headers fields = takeHead();
    ended = true;
    head.tryComplete(Response.of(status.code(), fields, typed.body()));
    notifyEnd();
    return Future.succeededFuture();
  }

  private Future<Void> sendWhole(Buffer piece) {
    try {
      Headers fields = takeHead();
      if (length < 0 || length == piece.length()) {
        head.tryComplete(Response.of(status.code(), fields, new Response.Body.Whole(piece)));
      } else if (isBodiless()) {
        body.tryComplete();
        head.tryComplete(Response.of(status.code(), fields, new Response.Body.Produced(this)));
      } else {
        return breakOff(otherLength());
      }
      return Future.succeededFuture();
    } catch (Throwable failure) {
      return breakOff(failure);
    }
  }

  private void endBody() {
    if (length >= 0 && bytesWritten < length && !isBodiless()) {
      breakOff(otherLength()); // else the client would wait for the rest
    } else {
      body.tryComplete();
    }
  }

  /** Frees what the request holds, once. */
  private void over(boolean cancelled) {
    if (!over) {
      over = true;
      request.onOver(cancelled);
    }
  }

  @Override
  public Future<Void> end() {
    return end(Buffer.buffer(0));
  }

  @Override
  public Future<Void> end(String text) {
    return end(Buffer.buffer(text));
  }

  @Override
  public Future<Void> end(String text, String encoding) {
    return end(Buffer.buffer(text, encoding));
  }

  @Override
  public Future<Void> write(String text) {
    return write(Buffer.buffer(text));
  }

  @Override
  public Future<Void> write(String text, String encoding) {
    return write(Buffer.buffer(text, encoding));
  }

  @Override
  public synchronized boolean writeQueueFull() {
    requireOpen();
    return full;
  }

  @Override
  public synchronized HttpServerResponse setWriteQueueMaxSize(int bytes) {
    maxQueued = bytes;
    full = queued >= bytes;
    return this;
  }

  // --- files ---

  @Override
  public Future<Void> sendFile(String filename, long offset, long count) {
    if (offset < 0 || count < 0) {
      return Future.failedFuture("offset, length: below 0 (expected: >= 0)");
    }
    VertxInternal vertx = request.context().owner();
    File found = vertx.fileResolver().resolve(filename);
    long bytes;
    try (RandomAccessFile file = new RandomAccessFile(found, "r")) {
      if (offset > file.length()) {
        throw new IOException(
            "offset: " + offset + " (expected: within the file of " + file.length() + " bytes)");
      }
      bytes = Math.min(count, file.length() - offset);
      stateFile(filename, bytes);
      if (bytes <= SMALL_FILE_BYTES || isBodiless()) {
        byte[] all = new byte[isBodiless() ? 0 : (int) bytes];
        file.seek(offset);
        file.readFully(all);
        return end(Buffer.buffer(all));
      }
    } catch (IOException unreadable) {
      return Future.failedFuture(unreadable);
    }
    return vertx
        .fileSystem()
        .open(found.getPath(), new OpenOptions().setWrite(false).setCreate(false))
        .compose(
            file ->
                file.setReadPos(offset).setReadLength(bytes).pipeTo(this).eventually(file::close));
  }

  private synchronized void stateFile(String filename, long bytes) {
    requireOpen();
    requireHead();
    if (!headers.contains(HttpHeaders.CONTENT_TYPE)) {
      String type = MimeMapping.mimeTypeForFilename(filename);
      headers.set(HttpHeaders.CONTENT_TYPE, type == null ? "application/octet-stream" : type);
    }
    if (!headers.contains(HttpHeaders.CONTENT_LENGTH)) {
      headers.set(HttpHeaders.CONTENT_LENGTH, Long.toString(bytes));
    }
  }

  @Override
  public Future<Void> sendFile(FileChannel channel, long offset, long count) {
    throw RouterRequest.unsupported("sendFile of a channel");
  }

  @Override
  public Future<Void> sendFile(RandomAccessFile file, long offset, long count) {
    throw RouterRequest.unsupported("sendFile of an open file");
  }

  // --- ending ---

  /**
   * Returns whether the request is cancelled; then the Router's attempt to respond settles it. On a
   * thread other than a loop a handler may still work, so the ordered work before it ends first.
   */
  private boolean isRefused() {
    if (closed && !over && !settling) {
      if (Context.isOnEventLoopThread()) {
        settle();
      } else {
        settling = true;
        request.context().executeBlocking(() -> closed).onComplete((none, failed) -> settle());
      }
    }
    return closed;
  }

  private synchronized void settle() {
    head.tryFail(new BerthException.Cancelled("request: cancelled (expected: still wanted)"));
    body.tryFail(CLOSED);
    over(true);
  }

  /** Handles a cancel of the request: notifies the Router. */
  void close() {
    boolean open;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      open = !ended;
    }
    try {
      if (open) {
        request.emit(exceptionHandler, CLOSED);
        request.emit(endHandler, null);
      }
    } finally {
      request.emit(closeHandler, null);
    }
  }

  /** Frees the slot of a cancelled stream whose close handler has run. */
  synchronized void settleIfClosing() {
    if (ended || (headWritten && closeHandler != null)) {
      settle();
    }
  }

  @Override
  public synchronized Future<Void> reset(long code) {
    if (ended) {
      return Future.failedFuture("Response has already been written");
    }
    ended = true;
    closed = true;
    IllegalStateException reset = new IllegalStateException("response: reset by the Router");
    head.tryFail(reset);
    body.tryFail(reset);
    over(true);
    return Future.succeededFuture();
  }

  @Override
  public synchronized boolean ended() {
    return ended;
  }

  /** Returns whether the request is cancelled; vertx-web then ends its work, so this settles it. */
  @Override
  public synchronized boolean closed() {
    return isRefused();
  }

  /** Returns whether the response is still needed. */
  synchronized boolean isWanted() {
    return closed || !ended; // an upload in progress learns of a cancel
  }

  @Override
  public synchronized long bytesWritten() {
    return bytesWritten;
  }

  @Override
  public synchronized HttpServerResponse drainHandler(@Nullable Handler<Void> handler) {
    drainHandler = handler;
    return this;
  }

  @Override
  public synchronized HttpServerResponse exceptionHandler(@Nullable Handler<Throwable> handler) {
    exceptionHandler = handler;
    return this;
  }

  @Override
  public synchronized HttpServerResponse closeHandler(@Nullable Handler<Void> handler) {
    closeHandler = handler;
    return this;
  }

  @Override
  public synchronized HttpServerResponse endHandler(@Nullable Handler<Void> handler) {
    endHandler = handler;
    return this;
  }

  @Override
  public synchronized HttpServerResponse bodyEndHandler(@Nullable Handler<Void> handler) {
    bodyEndHandler = handler;
    return this;
  }
}

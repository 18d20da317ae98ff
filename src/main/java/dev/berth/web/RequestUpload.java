package dev.berth.web;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.AsyncFile;
import io.vertx.core.file.FileSystem;
import io.vertx.core.file.OpenOptions;
import io.vertx.core.http.HttpServerFileUpload;
import io.vertx.core.streams.Pipe;
import java.nio.charset.Charset;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * A file in a form, while it arrives. A paused upload pauses its request. Thread-safe, as the file
 * system may resume it on another thread.
 */
final class RequestUpload implements HttpServerFileUpload {
  private final RouterRequest request;
  private final String name;
  private final String filename;
  private final String contentType;
  private final String contentTransferEncoding;
  private final Charset charset;

  // Guarded by this.
  private final ArrayDeque<Buffer> waiting = new ArrayDeque<>();
  private long demand = Long.MAX_VALUE;
  private boolean delivering;
  private boolean pausesRequest;
  private boolean ended;
  private boolean over; // the end or the failure was delivered
  private boolean sizeKnown;
  private long size;
  private @Nullable Throwable failure;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;
  private @Nullable Pipe<Buffer> pipe;
  private @Nullable AsyncFile file; // once complete
  private boolean cancelled;

  RequestUpload(
      RouterRequest request,
      String name,
      String filename,
      String contentType,
      String contentTransferEncoding,
      Charset charset,
      long size) {
    this.request = request;
    this.name = name;
    this.filename = filename;
    this.contentType = contentType;
    this.contentTransferEncoding = contentTransferEncoding;
    this.charset = charset;
    this.size = size;
    this.sizeKnown = size != 0;
  }

  // --- arrival ---

  void receive(Buffer piece, boolean last) {
    synchronized (this) {
      if (piece.length() > 0) {
        waiting.add(piece);
        size += sizeKnown ? 0 : piece.length();
      }
      ended = last;
    }
    deliver();
  }

  void fail(Throwable why) {
    synchronized (this) {
      failure = why;
      waiting.clear();
    }
    deliver();
  }

  private void deliver() {
    synchronized (this) {
      if (delivering) {
        return;
      }
      delivering = true;
    }
    while (deliverNext()) {}
  }

  /** Delivers a chunk, or the end; outside of the lock, as the handler is user code. */
  private boolean deliverNext() {
    Buffer piece = null;
    Handler<Buffer> reader = handler;
    boolean resumes = false;
    boolean ends = false;
    synchronized (this) {
      if (over || (demand == 0 && failure == null) || (waiting.isEmpty() && !ends())) {
        delivering = false;
        boolean pauses = demand == 0 && !waiting.isEmpty() && !over;
        resumes = pausesRequest && !pauses;
        if (pauses && !pausesRequest) {
          request.pause();
        }
        pausesRequest = pauses;
      } else if (waiting.isEmpty()) {
        ends = true;
        over = true;
        sizeKnown = true;
        resumes = pausesRequest;
      } else {
        piece = waiting.remove();
        demand -= demand == Long.MAX_VALUE ? 0 : 1;
      }
    }
    if (piece != null) {
      request.emit(reader, piece);
      return true;
    }
    if (ends && failure != null) {
      request.emit(exceptionHandler, failure);
    } else if (ends) {
      request.emit(endHandler, null);
    }
    if (resumes) {
      request.resume();
    }
    return ends;
  }

  private boolean ends() {
    return ended || failure != null;
  }

  @Override
  public synchronized HttpServerFileUpload handler(@Nullable Handler<Buffer> newHandler) {
    handler = newHandler;
    return this;
  }

  @Override
  public synchronized HttpServerFileUpload endHandler(@Nullable Handler<Void> newHandler) {
    endHandler = newHandler;
    return this;
  }

  @Override
  public synchronized HttpServerFileUpload exceptionHandler(
      @Nullable Handler<Throwable> newHandler) {
    exceptionHandler = newHandler;
    return this;
  }

  @Override
  public synchronized HttpServerFileUpload pause() {
    demand = 0;
    return this;
  }

  @Override
  public HttpServerFileUpload resume() {
    return fetch(Long.MAX_VALUE);
  }

  @Override
  public HttpServerFileUpload fetch(long amount) {
    synchronized (this) {
      demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
    }
    deliver();
    return this;
  }

  // --- a file ---

  @Override
  public Future<Void> streamToFileSystem(String target) {
    Pipe<Buffer> into;
    synchronized (this) {
      if (pipe != null) {
        return request.context().failedFuture("Already streaming");
      }
      into = pipe().endOnComplete(true);
      pipe = into;
    }
    request.creates(target);
    FileSystem files = request.context().owner().fileSystem();
    return files
        .open(target, new OpenOptions())
        .onFailure(failed -> into.close())
        .compose(
            opened ->
                into.to(opened)
                    .transform(
                        (done, failed) -> {
                          boolean whole;
                          synchronized (this) {
                            whole = failed == null && !cancelled;
                            file = whole ? opened : null;
                          }
                          if (whole) {
                            request.completes(target);
                            return Future.succeededFuture();
                          }
                          files.delete(target);
                          return failed == null
                              ? Future.failedFuture("Streaming aborted")
                              : Future.failedFuture(failed);
                        }));
  }

  @Override
  public boolean cancelStreamToFileSystem() {
    Pipe<Buffer> stopping;
    synchronized (this) {
      stopping = pipe;
      if (stopping == null) {
        throw new IllegalStateException("Not a streaming upload");
      }
      if (file != null) {
        return false;
      }
      cancelled = true;
    }
    stopping.close();
    return true;
  }

  @Override
  public synchronized @Nullable AsyncFile file() {
    return file;
  }

  // --- the head of the part ---

  @Override
  public String filename() {
    return filename;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String contentType() {
    return contentType;
  }

  @Override
  public String contentTransferEncoding() {
    return contentTransferEncoding;
  }

  @Override
  public String charset() {
    return charset.toString();
  }

  @Override
  public synchronized long size() {
    return size;
  }

  @Override
  public synchronized boolean isSizeAvailable() {
    return sizeKnown;
  }
}

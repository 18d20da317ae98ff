package dev.berth.fakes;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import org.jspecify.annotations.Nullable;

/** What every source of a test is: it keeps whom it is to tell. */
public abstract class ToldSource implements ReadStream<Buffer> {
  protected @Nullable Handler<Buffer> handler;
  protected @Nullable Handler<Void> endHandler;
  protected @Nullable Handler<Throwable> exceptionHandler;

  public void end() {
    if (endHandler != null) {
      endHandler.handle(null);
    }
  }

  public void fail(Throwable failure) {
    if (exceptionHandler != null) {
      exceptionHandler.handle(failure);
    }
  }

  @Override
  public ReadStream<Buffer> handler(@Nullable Handler<Buffer> told) {
    handler = told;
    return this;
  }

  @Override
  public ReadStream<Buffer> endHandler(@Nullable Handler<Void> told) {
    endHandler = told;
    return this;
  }

  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> told) {
    exceptionHandler = told;
    return this;
  }
}

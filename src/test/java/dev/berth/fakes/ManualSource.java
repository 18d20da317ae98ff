package dev.berth.fakes;

import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.routing.BufferedPrefixBody;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/** A source of pieces under a test's hand: it gives what it is told to, when it may. */
public final class ManualSource extends ToldSource implements BufferedPrefixBody {
  private Buffer first = Buffer.buffer();
  private long demand;
  private Runnable onDemand = () -> {};
  private int cancels;

  /** The same, of which the beginning is known. */
  public ManualSource beginning(String text) {
    first = Buffer.buffer(text);
    return this;
  }

  @Override
  public Buffer first() {
    return first;
  }

  public boolean isFlowing() {
    return demand > 0;
  }

  /** Told when someone wants more. */
  public void onDemand(Runnable told) {
    onDemand = told;
  }

  public void give(String piece) {
    give(Buffer.buffer(piece));
  }

  public void give(Buffer piece) {
    if (demand <= 0) {
      throw new AssertionError("source: paused (expected: flowing)");
    }
    demand -= demand == Long.MAX_VALUE ? 0 : 1;
    force(piece);
  }

  /** Gives a piece to whoever does not want it. */
  public void force(String piece) {
    force(Buffer.buffer(piece));
  }

  public void force(Buffer piece) {
    if (handler != null) {
      handler.handle(piece);
    }
  }

  /** A response that was received, of which this is the body. */
  public Response response() {
    return Response.of(200, Headers.empty(), new Response.Body.Received(this, () -> cancels++));
  }

  /** How often that was cancelled. */
  public int cancels() {
    return cancels;
  }

  @Override
  public ReadStream<Buffer> pause() {
    demand = 0;
    return this;
  }

  @Override
  public ReadStream<Buffer> fetch(long amount) {
    demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
    onDemand.run();
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    return fetch(Long.MAX_VALUE);
  }
}

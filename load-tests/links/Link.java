import io.vertx.core.buffer.Buffer;

/** What one side of two nodes sends by. */
interface Link {
  /** In order; the other side gets it by {@link Receiver#received}. On the event loop only. */
  void send(int id, Buffer body);

  /** What a side is sent, on its event loop. */
  interface Receiver {
    void received(int id, Buffer body);
  }
}

import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Function;

/**
 * Answers each message with its body, as a replica does: not while it is read, but in a task of its
 * loop, which takes all that came meanwhile.
 */
final class Echo implements Link.Receiver {
  private final Context loop;
  private final Deque<Runnable> mailbox = new ArrayDeque<>();
  private final Link back;

  private Echo(Context loop, Function<Link.Receiver, Link> link) {
    this.loop = loop;
    this.back = link.apply(this);
  }

  /**
   * @param link makes the link of what it gives its messages to
   */
  @SuppressWarnings("unchecked")
  static <L extends Link> L over(Context loop, Function<Link.Receiver, L> link) {
    return (L) new Echo(loop, link::apply).back;
  }

  @Override
  public void received(int id, Buffer body) {
    mailbox.add(() -> back.send(id, body));
    if (mailbox.size() == 1) {
      loop.runOnContext(task -> answer());
    }
  }

  private void answer() {
    while (!mailbox.isEmpty()) {
      mailbox.poll().run();
    }
  }
}

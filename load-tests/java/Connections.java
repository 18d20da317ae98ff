import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.unix.RawUnixChannelOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** The open connections of a row. */
final class Connections implements AutoCloseable {
  /** The kernel's {@code struct tcp_info} as far as we read it, by IPPROTO_TCP and TCP_INFO. */
  private static final RawUnixChannelOption TCP_INFO =
      new RawUnixChannelOption("TCP_INFO", 6, 11, 160);

  private static final int BYTES_RECEIVED = 128;
  private static final int DATA_SEGMENTS_IN = 152;
  private static final long UNSIGNED = 0xffffffffL;

  private final EventLoop loop;
  private final List<Channel> channels;
  private final List<Line> lines;

  Connections(EventLoop loop, List<Channel> channels, List<Line> lines) {
    this.loop = loop;
    this.channels = channels;
    this.lines = lines;
  }

  /** What came in so far. */
  record Received(long bytes, long packets) {}

  Slice ask(long millis) throws IOException, InterruptedException {
    Slice slice = new Slice(millis);
    loop.execute(
        () -> {
          slice.begin();
          lines.forEach(line -> line.begin(slice));
        });
    slice.await();
    return slice;
  }

  Received received() {
    long bytes = 0;
    long packets = 0;
    for (Channel channel : channels) {
      ByteBuffer info = channel.config().getOption(TCP_INFO).order(ByteOrder.nativeOrder());
      bytes += info.getLong(BYTES_RECEIVED);
      packets += info.getInt(DATA_SEGMENTS_IN) & UNSIGNED;
    }
    return new Received(bytes, packets);
  }

  @Override
  public void close() {
    channels.forEach(channel -> channel.close().syncUninterruptibly());
  }
}

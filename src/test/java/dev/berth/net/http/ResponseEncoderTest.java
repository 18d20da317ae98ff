package dev.berth.net.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Checks the writes of {@link ResponseEncoder}: one for a small message, else one for each part.
 */
class ResponseEncoderTest {
  private final EmbeddedChannel channel = new EmbeddedChannel(new ResponseEncoder());

  @Test
  void smallResponseIsOneWrite() {
    ByteBuf body = bytes(1024);
    write(whole(body));
    assertThat(writes())
        .containsExactly(
            "HTTP/1.1 200 OK\r\ncontent-length: 1024\r\n\r\n"
                + bytes(1024).toString(StandardCharsets.US_ASCII));
    assertThat(body.refCnt()).isZero();
  }

  @Test
  void largeBodyIsNotCopied() {
    ByteBuf body = bytes(4096);
    write(whole(body));
    assertThat(channel.outboundMessages()).hasSize(2).last().isSameAs(body);
    channel.releaseOutbound();
  }

  @Test
  void smallChunkIsOneWrite() {
    HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
    head.headers().set(HttpHeaderNames.TRANSFER_ENCODING, "chunked");
    write(head);
    write(new DefaultHttpContent(bytes(20)));
    write(new DefaultLastHttpContent(bytes(1)));
    assertThat(writes())
        .containsExactly(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "14\r\n" + "b".repeat(20) + "\r\n",
            "1\r\nb\r\n0\r\n\r\n");
  }

  private static HttpResponse whole(ByteBuf body) {
    HttpResponse whole =
        new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body);
    whole.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
    return whole;
  }

  private static ByteBuf bytes(int count) {
    return Unpooled.copiedBuffer("b".repeat(count), StandardCharsets.US_ASCII);
  }

  private void write(Object message) {
    assertThat(channel.writeOutbound(message)).isTrue();
  }

  private List<String> writes() {
    List<String> writes = new ArrayList<>();
    for (ByteBuf each = channel.readOutbound(); each != null; each = channel.readOutbound()) {
      writes.add(each.toString(StandardCharsets.US_ASCII));
      each.release();
    }
    return writes;
  }
}

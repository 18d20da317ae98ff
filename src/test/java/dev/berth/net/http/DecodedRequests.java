package dev.berth.net.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.impl.VertxHttpRequestDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads connections by a {@link RequestDecoder} each, and notes where it stands as a request ends.
 * Not thread-safe.
 */
final class DecodedRequests extends ChannelInboundHandlerAdapter {
  private static final HttpServerOptions OPTIONS = new HttpServerOptions();

  private static final String NAME = "httpDecoder";

  private final EmbeddedChannel channel = new EmbeddedChannel(this);
  private final StringBuilder body = new StringBuilder();
  private List<RequestEnds.Ended> ended = new ArrayList<>();
  private ByteBuf input = Unpooled.EMPTY_BUFFER;
  private int before; // bytes of earlier reads
  private @Nullable HttpRequest request; // until it ends
  private boolean refused;

  /**
   * Reads bytes that come in two reads.
   *
   * @param split offset of the second read
   */
  RequestEnds read(String bytes, int split) {
    ended = new ArrayList<>();
    before = 0;
    request = null;
    refused = false;
    channel.pipeline().addFirst(NAME, new VertxHttpRequestDecoder(OPTIONS));
    RequestDecoder.install(channel.pipeline(), OPTIONS, false);
    feed(bytes.substring(0, split));
    feed(bytes.substring(split));
    RequestEnds read =
        new RequestEnds(ended, refused ? RequestEnds.Rest.REFUSED : RequestEnds.Rest.OPEN);
    channel.pipeline().remove(NAME); // it passes on what it has not read
    return read;
  }

  private void feed(String bytes) {
    if (!bytes.isEmpty()) {
      input = Unpooled.wrappedBuffer(bytes.getBytes(StandardCharsets.ISO_8859_1));
      channel.writeInbound(input);
      before += bytes.length();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) {
    if (!(message instanceof HttpObject read)) {
      ReferenceCountUtil.release(message);
      return;
    }
    refused |= read.decoderResult().isFailure();
    if (refused) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (read instanceof HttpRequest begun) {
      request = begun;
      body.setLength(0);
    }
    if (read instanceof HttpContent content) {
      body.append(content.content().toString(StandardCharsets.ISO_8859_1));
      content.release();
    }
    if (read instanceof LastHttpContent && request != null) {
      ended.add(
          new RequestEnds.Ended(
              before + input.readerIndex(),
              request.method().name(),
              request.uri(),
              request.headers().get(HttpHeaderNames.HOST),
              body.toString()));
      request = null;
    }
  }
}

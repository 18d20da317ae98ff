package dev.berth.net.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.vertx.core.http.impl.VertxHttpResponseEncoder;
import io.vertx.core.http.impl.headers.HeadersMultiMap;
import io.vertx.core.impl.SysProps;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;

/**
 * Encoder of HTTP/1 responses that joins the parts of a small message. A head with its body, or a
 * chunk with its size, is then one buffer and one write. Vert.x's encoder cannot be extended, so
 * this class repeats its few rules.
 */
final class ResponseEncoder extends HttpResponseEncoder {
  /** Name of Vert.x's encoder in the pipeline. */
  private static final String NAME = "httpEncoder";

  /** Maximum size of joined parts in bytes. A copy of more costs more than a further part. */
  private static final int MAX_JOINED_BYTES = 4 << 10;

  private static final Class<?> ASSEMBLED;
  private static final MethodHandle IS_FOR_HEAD; // of Vert.x's response
  private static final boolean CACHES = // values of immutable headers
      SysProps.CACHE_IMMUTABLE_HTTP_RESPONSE_HEADERS.getBoolean();

  static {
    try {
      ASSEMBLED = Class.forName("io.vertx.core.http.impl.VertxAssembledHttpResponse");
      IS_FOR_HEAD =
          MethodHandles.privateLookupIn(ASSEMBLED, MethodHandles.lookup())
              .findVirtual(ASSEMBLED, "head", MethodType.methodType(boolean.class))
              .asType(MethodType.methodType(boolean.class, HttpResponse.class));
    } catch (ReflectiveOperationException another) {
      throw new IllegalStateException("vertx: another version (expected: 5.0)", another);
    }
  }

  /** Replaces Vert.x's encoder, if a pipeline contains it. */
  static void install(ChannelPipeline pipeline) {
    if (pipeline.get(NAME) instanceof VertxHttpResponseEncoder before) {
      pipeline.replace(before, NAME, new ResponseEncoder());
    }
  }

  @Override
  protected void encode(ChannelHandlerContext context, Object message, List<Object> out)
      throws Exception {
    super.encode(context, message, out);
    if (out.size() > 1) {
      join(context, out);
    }
  }

  private static void join(ChannelHandlerContext context, List<Object> out) {
    int bytes = 0;
    for (Object part : out) {
      bytes += part instanceof ByteBuf some ? some.readableBytes() : MAX_JOINED_BYTES;
      if (bytes > MAX_JOINED_BYTES) {
        return;
      }
    }
    ByteBuf joined = context.alloc().directBuffer(bytes);
    for (int i = 0; i < out.size(); i++) {
      ByteBuf part = (ByteBuf) out.get(i);
      joined.writeBytes(part, part.readerIndex(), part.readableBytes());
      part.release();
    }
    out.clear();
    out.add(joined);
  }

  @Override
  protected void encodeHeaders(HttpHeaders headers, ByteBuf into) {
    if (headers instanceof HeadersMultiMap own) {
      own.encode(into, CACHES);
    } else {
      super.encodeHeaders(headers, into);
    }
  }

  @Override
  protected boolean isContentAlwaysEmpty(HttpResponse response) {
    return isForHead(response) || super.isContentAlwaysEmpty(response);
  }

  private static boolean isForHead(HttpResponse response) {
    try {
      return ASSEMBLED.isInstance(response) && (boolean) IS_FOR_HEAD.invokeExact(response);
    } catch (Throwable broken) { // the method throws nothing
      throw new IllegalStateException(broken);
    }
  }
}
